//! Versions of a persistent agent, each an immutable ControllerRevision (SPEC-01).
//!
//! Every edit of what an agent is told begins a version; it has the start number that the
//! edit was given. A version goes with the agent itself, or when there are more of them
//! than `spec.revisionHistoryLimit` asks for; an archived agent keeps its own (SPEC-03).

use std::time::Duration;

use foundry_crds::agent::{Lifetime, SkillRef};
use foundry_crds::condition::reason;
use foundry_crds::{Agent, AgentSpec, meta, names};
use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use kube::Resource as _;
use kube::api::{Api, ListParams};
use serde_json::json;

use super::AgentId;
use super::plan::{Observed, Plan};
use super::start::Ledger;
use crate::apply::{self, Propagation};
use crate::context::Context;
use crate::error::{Error, chain};
use crate::runtime::workload;
use crate::versions::{Stored, Versions};
use crate::{pod, read};

/// How often a version that could not be stored is tried again.
const AGAIN: Duration = Duration::from_secs(30);
/// How often the first list of versions is looked for.
const UNREAD_AGAIN: Duration = Duration::from_secs(30);

/// What is to be done for the versions of an agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Due {
    /// The version to store.
    pub store: Option<Box<ControllerRevision>>,
    /// Versions to delete.
    pub drop: Vec<Stored>,
}

/// Decides what is to be done, from the versions that are stored, oldest first.
pub fn due(agent: &AgentId, spec: &AgentSpec, ledger: &Ledger, stored: &[Stored]) -> Due {
    if spec.lifetime() == Lifetime::Ephemeral {
        return Due::default();
    }
    // Those of an earlier agent of this name go with it.
    let own: Vec<&Stored> = stored.iter().filter(|it| it.agent_uid == agent.uid).collect();
    let newest = own.iter().rfind(|it| it.number <= ledger.start_number);
    let current = newest.filter(|it| it.digest == ledger.config_digest).copied();
    let earlier: Vec<&Stored> = own
        .into_iter()
        .filter(|it| current.is_none_or(|current| current.number != it.number))
        .collect();
    let limit = spec.revision_history_limit.and_then(|limit| usize::try_from(limit).ok());
    let surplus = limit.map_or(0, |limit| earlier.len().saturating_sub(limit));
    Due {
        store: current.is_none().then(|| Box::new(revision(agent, spec, ledger))),
        // What was only just asked for has no UID yet, and a later look deletes it.
        drop: earlier.into_iter().take(surplus).filter(|it| !it.uid.is_empty()).cloned().collect(),
    }
}

/// The version that this start number begins.
fn revision(agent: &AgentId, spec: &AgentSpec, ledger: &Ledger) -> ControllerRevision {
    let number = ledger.start_number;
    let labels = [
        (meta::label::AGENT, agent.name.clone()),
        (meta::label::MANAGED_BY, meta::label::MANAGED_BY_OPERATOR.to_owned()),
        (meta::label::START, number.to_string()),
    ];
    let digest = (meta::annotation::CONFIG_DIGEST.to_owned(), ledger.config_digest.clone());
    ControllerRevision {
        metadata: ObjectMeta {
            name: Some(names::revision(&agent.name, number)),
            namespace: Some(agent.namespace.clone()),
            labels: Some(labels.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
            annotations: Some([digest].into()),
            owner_references: Some(vec![pod::owner(agent)]),
            ..ObjectMeta::default()
        },
        revision: number,
        data: Some(RawExtension(data(spec))),
    }
}

/// What the agent is told, as a merge patch of an Agent: applied, it brings the version
/// back. That is why what is not there is said too. Its keys stand in the order of the
/// alphabet, and nothing is null: `apply::create_revision` says why.
fn data(spec: &AgentSpec) -> serde_json::Value {
    let AgentSpec { instructions, harness, tools, skills, tool_servers, .. } = spec;
    let skill = |SkillRef { name, version }: &SkillRef| match version {
        Some(version) => json!({ "name": name, "version": version }),
        None => json!({ "name": name }),
    };
    json!({ "spec": {
        "harness": harness,
        "instructions": instructions.as_deref().unwrap_or_default(),
        "model": spec.model(),
        "skills": skills.iter().map(skill).collect::<Vec<_>>(),
        "toolServers": tool_servers,
        "tools": tools,
    } })
}

/// Stores the version an agent is at, and deletes those beyond its limit. Says when to
/// look again at the latest.
pub async fn keep(
    context: &Context,
    agent: &Agent,
    observed: &Observed,
    plan: &Plan,
) -> Result<Duration, Error> {
    let AgentId { namespace, name, .. } = &observed.agent;
    let versions = &context.caches(namespace).await?.versions;
    if !versions.is_whole_soon().await {
        // Where they cannot be listed, agents live without.
        return Ok(UNREAD_AGAIN);
    }
    let due = due(&observed.agent, &observed.spec, &plan.ledger, &versions.of(name));
    if let Some(revision) = due.store
        && let Err(refusal) = store(context, observed, plan, versions, &revision).await?
    {
        let Refusal { reason, words } = refusal;
        tracing::warn!(agent = name, words, "failed to store a version of an agent");
        context.events.warning(&agent.object_ref(&()), reason, &words).await;
        return Ok(AGAIN);
    }
    for version in due.drop {
        let revision = names::revision(name, version.number);
        let none = Propagation::None;
        let uid = &version.uid;
        apply::delete::<ControllerRevision>(&context.client, namespace, &revision, uid, none)
            .await?;
        versions.forget(name, version.number);
        context.metrics.written("delete", "ControllerRevision");
    }
    Ok(Duration::MAX)
}

/// Why a version cannot be stored, for a person.
struct Refusal {
    reason: &'static str,
    words: String,
}

async fn store(
    context: &Context,
    observed: &Observed,
    plan: &Plan,
    versions: &Versions,
    revision: &ControllerRevision,
) -> Result<Result<(), Refusal>, Error> {
    let AgentId { name, uid, .. } = &observed.agent;
    let number = plan.ledger.start_number;
    let expected = Stored {
        number,
        uid: String::new(),
        agent_uid: uid.clone(),
        digest: plan.ledger.config_digest.clone(),
    };
    versions.expect(name, expected);
    let Err(error) = apply::create_revision(&context.client, revision).await else {
        context.metrics.written("create", "ControllerRevision");
        return Ok(Ok(()));
    };
    versions.forget(name, number);
    if error.is_conflict() {
        return if is_there(context, revision, uid).await? {
            Ok(Ok(()))
        } else {
            let revision = names::revision(name, number);
            let words = format!(
                "ControllerRevision \"{revision}\" exists and holds something else than version \
                 {number} of this agent; rename or delete it; tried again every 30 s"
            );
            Ok(Err(Refusal { reason: reason::NAME_TAKEN, words }))
        };
    }
    match error.refusal() {
        Some(_) => {
            let words = format!("version {number} is not stored: {}", chain(&error));
            Ok(Err(Refusal { reason: reason::REFUSED, words }))
        }
        None => Err(error),
    }
}

/// Whether the very version is there already: the watch has yet to show it.
async fn is_there(
    context: &Context,
    revision: &ControllerRevision,
    agent_uid: &str,
) -> Result<bool, Error> {
    let name = revision.metadata.name.as_deref().unwrap_or_default();
    let namespace = revision.metadata.namespace.as_deref().unwrap_or_default();
    let api: Api<ControllerRevision> = Api::namespaced(context.client.clone(), namespace);
    // A list of one: versions are listed and watched, and no other right is needed.
    let that_one = ListParams::default().fields(&format!("metadata.name={name}"));
    let found = read::bounded("ControllerRevision", name, api.list(&that_one)).await?;
    Ok(found.items.iter().any(|present| {
        let owner = workload::controller(&present.metadata);
        present.data == revision.data && owner.is_some_and(|owner| owner.uid == agent_uid)
    }))
}

#[cfg(test)]
mod tests;
