//! The only reads of a reconcile: caches, and an agent itself where its absence from the
//! cache would end its member.

use std::collections::BTreeMap;

use foundry_crds::agent::{Lifecycle, Lifetime};
use foundry_crds::harness::HarnessHost;
use foundry_crds::swarm::{MemberPhase, SwarmMember, SwarmPhase, member_agent};
use foundry_crds::{Agent, AgentSpec, AgentStatus, Swarm, SwarmSpec, SwarmStatus, meta};
use futures::future::try_join_all;
use kube::api::ObjectMeta;
use kube::{Api, Resource as _};

use super::SwarmId;
use crate::agent::observe::spawner;
use crate::agent::plan::Parent;
use crate::apply::Version;
use crate::caches::{Caches, Guard};
use crate::context::Context;
use crate::error::Error;
use crate::read;
use crate::runtime::workload;

/// Everything a plan is made from.
#[derive(Debug, Clone)]
pub struct Observed {
    /// Whose plan this is.
    pub swarm: SwarmId,
    /// `metadata.generation` of what is wanted.
    pub generation: i64,
    /// What is wanted.
    pub spec: SwarmSpec,
    /// What was reported last.
    pub status: SwarmStatus,
    /// The agent that started the swarm.
    pub parent: Parent,
    /// Whether that agent is put away for good.
    pub parent_is_archived: bool,
    /// The members by name: those of the spec, and those taken out of it whose agent is
    /// still there.
    pub members: BTreeMap<String, Member>,
}

/// One member, as far as it is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// What the spec says of it; nothing once it is taken out.
    pub said: Option<SwarmMember>,
    /// The Harness it names.
    pub harness: Ability,
    /// The agent that has its name.
    pub agent: Found,
}

/// Whether a Harness can carry out a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ability {
    /// There is no such Harness.
    Missing,
    /// It has no pods.
    NoPods,
    /// It can.
    Able,
}

/// The agent that has a member's name.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// There is none.
    None,
    /// It is the member's own.
    Own(Box<Own>),
    /// It is the member's own, and this operator cannot read it.
    Unreadable,
    /// It is that of an earlier swarm of this name, and about to go.
    OfAnEarlierSwarm,
    /// It is somebody else's.
    Foreign,
}

/// A member's own agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Own {
    /// Which version of it was read.
    pub version: Version,
    /// What it is told.
    pub spec: AgentSpec,
    /// How it fares.
    pub status: AgentStatus,
    /// Seconds of the swarm's `spec.ttl` that its `ttlAt` goes by.
    pub ttl_seconds: Option<i64>,
    /// Whether its status speaks of this very spec.
    pub is_seen: bool,
    /// Whether its deletion has been asked for.
    pub going: bool,
}

/// Reads everything a plan is made from.
pub async fn observe(
    context: &Context,
    swarm: &Swarm,
    version: &Version,
) -> Result<Observed, Error> {
    let namespace = &version.namespace;
    let caches = context.caches(namespace).await?;
    let status = swarm.status.clone().unwrap_or_default();
    let parent = &swarm.spec.parent;
    let said = swarm.spec.members.iter().map(|member| {
        let status = &status;
        async move {
            let agent = agent(context, caches, version, swarm, status, &member.name).await?;
            let harness = ability(caches, namespace, &member.harness);
            let name = member.name.clone();
            let member = Member { said: Some(member.clone()), harness, agent };
            Ok::<_, Error>((name, member))
        }
    });
    let mut members: BTreeMap<_, _> = try_join_all(said).await?.into_iter().collect();
    members.extend(taken_out(caches, version, &swarm.spec)?);
    Ok(Observed {
        swarm: SwarmId {
            namespace: namespace.clone(),
            name: version.name.clone(),
            uid: version.uid.clone(),
        },
        generation: swarm.metadata.generation.unwrap_or_default(),
        parent: spawner(caches, namespace, Some(parent.as_str())),
        parent_is_archived: is_archived(caches, namespace, parent),
        members,
        spec: swarm.spec.clone(),
        status,
    })
}

fn is_archived(caches: &Caches, namespace: &str, name: &str) -> bool {
    let agent = caches.agents.get(namespace, name);
    let agent = agent.as_ref().and_then(|agent| agent.0.as_ref().ok());
    agent.is_some_and(|agent| agent.spec.lifecycle() == Lifecycle::Archive)
}

fn ability(caches: &Caches, namespace: &str, name: &str) -> Ability {
    match caches.harnesses.get(namespace, name).as_deref() {
        Some(Guard { 0: Ok(harness) }) if harness.spec.host == Some(HarnessHost::Chat) => {
            Ability::NoPods
        }
        Some(Guard { 0: Ok(_) }) => Ability::Able,
        Some(_) | None => Ability::Missing,
    }
}

/// The agents of members that the spec names no more.
fn taken_out(
    caches: &Caches,
    swarm: &Version,
    spec: &SwarmSpec,
) -> Result<Vec<(String, Member)>, Error> {
    let prefix = member_agent(&swarm.name, "");
    let mut members = Vec::new();
    for agent in caches.agents_of_swarms.of(&swarm.name) {
        let Some(name) = agent.strip_prefix(&prefix) else { continue };
        if spec.members.iter().any(|member| member.name == name) {
            continue;
        }
        let agent = shown(caches, swarm, spec, &agent)?;
        if matches!(agent, Found::Own(_) | Found::Unreadable) {
            members.push((name.to_owned(), Member { said: None, harness: Ability::Able, agent }));
        }
    }
    Ok(members)
}

/// The agent of a member of the spec.
async fn agent(
    context: &Context,
    caches: &Caches,
    version: &Version,
    swarm: &Swarm,
    status: &SwarmStatus,
    member: &str,
) -> Result<Found, Error> {
    let name = member_agent(&version.name, member);
    let shown = shown(caches, version, &swarm.spec, &name)?;
    if !is_behind(&shown, known(status, member), is_being_dismissed(&swarm.spec, status)) {
        return Ok(shown);
    }
    let api: Api<Agent> = Api::namespaced(context.client.clone(), &version.namespace);
    match read::bounded("Agent", &name, api.get_opt(&name)).await? {
        Some(agent) => found(&agent, version, &swarm.spec),
        None => Ok(Found::None),
    }
}

/// Where a member stood when the status was written: nothing before its agent was made.
pub fn known(status: &SwarmStatus, member: &str) -> Option<MemberPhase> {
    status.members.iter().find(|standing| standing.name == member).map(|standing| standing.phase)
}

/// Whether the swarm is dismissed, and not everything of it is gone yet.
pub fn is_being_dismissed(spec: &SwarmSpec, status: &SwarmStatus) -> bool {
    spec.is_dismissed() && status.phase != Some(SwarmPhase::Dismissed)
}

/// Whether a cache that shows no agent of the member may be behind. That must end no
/// member, and let none outlive the swarm's dismissal.
fn is_behind(shown: &Found, known: Option<MemberPhase>, is_being_dismissed: bool) -> bool {
    match shown {
        Found::Own(_) | Found::Unreadable => false,
        Found::None | Found::OfAnEarlierSwarm | Found::Foreign => {
            known.map_or(is_being_dismissed, |phase| !phase.is_an_end())
        }
    }
}

/// What the cache shows of an agent's name.
fn shown(caches: &Caches, swarm: &Version, spec: &SwarmSpec, name: &str) -> Result<Found, Error> {
    match caches.agents.get(&swarm.namespace, name) {
        Some(agent) => match &agent.0 {
            Ok(agent) => found(agent, swarm, spec),
            Err(invalid) => Ok(stranger(&invalid.metadata, swarm).unwrap_or(Found::Unreadable)),
        },
        None => Ok(Found::None),
    }
}

fn found(agent: &Agent, swarm: &Version, spec: &SwarmSpec) -> Result<Found, Error> {
    if let Some(stranger) = stranger(&agent.metadata, swarm) {
        return Ok(stranger);
    }
    let Agent { metadata, spec: told, status } = agent;
    // Anybody may write an owner reference; ephemeral agents only Foundry makes (LIFE-05).
    let is_a_members = told.lifetime() == Lifetime::Ephemeral
        && told.owner == spec.owner
        && told.swarm.as_ref() == Some(&swarm.name);
    if !is_a_members {
        return Ok(Found::Foreign);
    }
    let annotations = metadata.annotations.as_ref();
    let ttl = annotations.and_then(|it| it.get(meta::annotation::SWARM_TTL));
    let status = status.clone().unwrap_or_default();
    Ok(Found::Own(Box::new(Own {
        version: Version::of("Agent", agent.meta())?,
        spec: told.clone(),
        ttl_seconds: ttl.and_then(|seconds| seconds.parse().ok()),
        is_seen: status.observed_generation == metadata.generation,
        status,
        going: metadata.deletion_timestamp.is_some(),
    })))
}

/// What an agent of a member's name is, when it is not the member's own.
fn stranger(agent: &ObjectMeta, swarm: &Version) -> Option<Found> {
    match workload::controller(agent) {
        Some(owner) if owner.uid == swarm.uid => None,
        Some(owner) if owner.kind == Swarm::kind(&()) && owner.name == swarm.name => {
            Some(Found::OfAnEarlierSwarm)
        }
        Some(_) | None => Some(Found::Foreign),
    }
}

#[cfg(test)]
mod tests;
