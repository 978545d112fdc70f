//! Who has which slug, over all watched namespaces (LIFE-20).

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use foundry_crds::Agent;
use foundry_crds::agent::Lifecycle;
use k8s_openapi::jiff::Timestamp;
use kube::Resource as _;
use kube::runtime::watcher::Event;

use crate::caches::Guard;

/// One agent's claim to a slug. The first claim holds: the order is that of the fields,
/// so that all operators agree whatever they saw first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim {
    /// Whether the agent has yet to be given the slug's address: whoever has it keeps
    /// it, however old the agent is that wants it too.
    pub waits: bool,
    /// When the agent was created.
    pub created: Timestamp,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

/// An index of claims, so that nobody has to read all agents to find a namesake.
#[derive(Debug, Default)]
pub struct Slugs {
    index: Mutex<Index>,
}

#[derive(Debug, Default)]
struct Index {
    claims: HashMap<String, BTreeSet<Claim>>,
    slug_of: HashMap<String, String>,
}

impl Slugs {
    /// Takes note of a watch event.
    pub fn note(&self, event: &Event<Guard<Agent>>) {
        match event {
            Event::Apply(agent) | Event::InitApply(agent) => self.apply(agent),
            Event::Delete(agent) => self.forget(agent.meta().uid.as_deref().unwrap_or_default()),
            Event::Init | Event::InitDone => {}
        }
    }

    /// The first claim to a slug that `is_current` still vouches for: a missed
    /// deletion must not hold a slug for ever.
    pub fn holder(&self, slug: &str, is_current: impl Fn(&Claim) -> bool) -> Option<Claim> {
        let index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        index.claims.get(slug)?.iter().find(|claim| is_current(claim)).cloned()
    }

    fn apply(&self, agent: &Guard<Agent>) {
        let Ok(agent) = &agent.0 else { return };
        let Some(uid) = agent.metadata.uid.clone() else { return };
        self.forget(&uid);
        let Some(slug) = claimed(agent) else { return };
        let claim = Claim {
            waits: given(agent) != Some(&slug),
            created: agent.metadata.creation_timestamp.as_ref().map_or(Timestamp::MAX, |at| at.0),
            namespace: agent.metadata.namespace.clone().unwrap_or_default(),
            name: agent.metadata.name.clone().unwrap_or_default(),
            uid: uid.clone(),
        };
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        index.claims.entry(slug.clone()).or_default().insert(claim);
        index.slug_of.insert(uid, slug);
    }

    fn forget(&self, uid: &str) {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(slug) = index.slug_of.remove(uid) else { return };
        if let Some(claims) = index.claims.get_mut(&slug) {
            claims.retain(|claim| claim.uid != uid);
            if claims.is_empty() {
                index.claims.remove(&slug);
            }
        }
    }
}

/// The slug whose address an agent was given.
fn given(agent: &Agent) -> Option<&str> {
    let mailbox = agent.status.as_ref()?.mailbox.as_deref()?;
    mailbox.split_once('@').map(|(slug, _)| slug)
}

/// The slug an agent claims; an archived agent claims none.
pub fn claimed(agent: &Agent) -> Option<String> {
    if agent.spec.lifecycle() == Lifecycle::Archive {
        return None;
    }
    agent.spec.slug.clone().or_else(|| agent.metadata.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use foundry_crds::{AgentSpec, AgentStatus};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

    fn agent(name: &str, slug: Option<&str>, created: i64) -> Guard<Agent> {
        kube::core::DeserializeGuard(Ok(Agent {
            metadata: ObjectMeta {
                name: Some(name.into()),
                namespace: Some("team".into()),
                uid: Some(format!("uid-{name}")),
                creation_timestamp: Some(Time(Timestamp::from_second(created).unwrap())),
                ..ObjectMeta::default()
            },
            spec: AgentSpec { slug: slug.map(str::to_owned), ..AgentSpec::default() },
            status: None,
        }))
    }

    fn holder(slugs: &Slugs, slug: &str) -> Option<String> {
        slugs.holder(slug, |_| true).map(|claim| claim.name)
    }

    /// LIFE-20
    #[test]
    fn the_older_agent_holds_a_slug_whatever_is_seen_first() {
        let slugs = Slugs::default();
        slugs.note(&Event::Apply(agent("late", Some("ann"), 20)));
        slugs.note(&Event::Apply(agent("ann", None, 10)));
        assert_eq!(holder(&slugs, "ann").as_deref(), Some("ann"));
    }

    /// LIFE-20: nobody takes over an address that is in use, however old their agent is.
    #[test]
    fn an_older_agent_that_takes_a_slug_in_use_does_not_get_it() {
        let slugs = Slugs::default();
        let granted = |agent: Guard<Agent>, mailbox: &str| {
            let mut agent = agent.0.unwrap();
            let status = AgentStatus { mailbox: Some(mailbox.into()), ..AgentStatus::default() };
            agent.status = Some(status);
            kube::core::DeserializeGuard(Ok(agent))
        };
        slugs.note(&Event::Apply(granted(agent("ann", None, 20), "ann@dev-ai.flow.life")));
        slugs.note(&Event::Apply(granted(agent("old", None, 10), "old@dev-ai.flow.life")));
        slugs.note(&Event::Apply(granted(agent("old", Some("ann"), 10), "old@dev-ai.flow.life")));
        assert_eq!(holder(&slugs, "ann").as_deref(), Some("ann"));
    }

    /// LIFE-20
    #[test]
    fn a_slug_is_free_again_when_its_holder_goes_or_takes_another() {
        let slugs = Slugs::default();
        slugs.note(&Event::Apply(agent("a", Some("ann"), 10)));
        slugs.note(&Event::Apply(agent("b", Some("ann"), 20)));
        slugs.note(&Event::Apply(agent("a", Some("bob"), 10)));
        assert_eq!(holder(&slugs, "ann").as_deref(), Some("b"));
        slugs.note(&Event::Delete(agent("b", Some("ann"), 20)));
        assert_eq!(holder(&slugs, "ann"), None);
    }

    #[test]
    fn a_claim_that_is_not_current_is_passed_over() {
        let slugs = Slugs::default();
        slugs.note(&Event::Apply(agent("gone", Some("ann"), 10)));
        slugs.note(&Event::Apply(agent("here", Some("ann"), 20)));
        let current = slugs.holder("ann", |claim| claim.name == "here").map(|claim| claim.name);
        assert_eq!(current.as_deref(), Some("here"));
    }
}
