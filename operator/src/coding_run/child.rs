//! The agent that carries a run out, as the run says it.

use std::collections::BTreeMap;

use foundry_crds::agent::{Lifecycle, Lifetime};
use foundry_crds::coding_run::Limits;
use foundry_crds::{Agent, AgentSpec, CodingRun, CodingRunSpec, meta};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::Resource as _;
use serde::Serialize;

use super::RunId;
use super::observe::Own;
use crate::conditions::whole_second;

/// How long an agent may take beside its run's own clock: for the clone, and for a
/// person to read a plan.
const BEYOND_THE_CLOCK: SignedDuration = SignedDuration::from_hours(4);
/// An agent that waits to be begun gets more time when less than this is left beside the
/// clock: waiting in turn uses up nobody's time.
const LEAST_BEYOND: SignedDuration = SignedDuration::from_hours(2);

/// The agent of a run that has none yet.
pub fn agent(run: &RunId, spec: &CodingRunSpec, now: Timestamp) -> Agent {
    let limits = spec.limits();
    Agent {
        metadata: ObjectMeta {
            name: Some(run.name.clone()),
            namespace: Some(run.namespace.clone()),
            labels: Some(labels(spec)),
            owner_references: Some(vec![owner(run)]),
            ..ObjectMeta::default()
        },
        spec: AgentSpec {
            owner: spec.owner.clone(),
            parent: spec.agent.clone(),
            harness: spec.harness().to_owned(),
            instructions: Some(spec.task.clone()), // LIFE-14
            model: Some(spec.model().to_owned()),
            lifetime: Some(Lifetime::Ephemeral),
            ttl_at: Some(Time(after(now, clock(&limits) + BEYOND_THE_CLOCK))),
            repository: Some(spec.repository.clone()),
            approval: Some(spec.approval()), // CODE-31, CODE-33
            limits: Some(limits),
            ..AgentSpec::default()
        },
        status: None,
    }
}

/// Hints for people and selectors.
fn labels(spec: &CodingRunSpec) -> BTreeMap<String, String> {
    let ours = (meta::label::MANAGED_BY, meta::label::MANAGED_BY_OPERATOR);
    let parent = spec.agent.as_deref().map(|parent| (meta::label::PARENT, parent));
    let labels = [ours].into_iter().chain(parent);
    labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// The reference that makes an agent the run's own, so that it goes with the run.
///
/// It does not block the owner's deletion: that would need a right on finalizers.
fn owner(run: &RunId) -> OwnerReference {
    OwnerReference {
        api_version: CodingRun::api_version(&()).into_owned(),
        kind: CodingRun::kind(&()).into_owned(),
        name: run.name.clone(),
        uid: run.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(false),
    }
}

/// What of an agent is otherwise than its run says: the fields to write.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Edit {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_at: Option<Time>,
}

/// Whether an agent has yet to be begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// It waits: for a Harness, quota, a node.
    Awaited,
    /// It was begun, or need not be.
    Come,
}

/// Compares an agent with what its run says now. What of it cannot change (owner,
/// parent, repository, approval) cannot differ either.
pub fn edit(spec: &CodingRunSpec, agent: &Own, turn: Turn, now: Timestamp) -> Option<Edit> {
    let present = &agent.spec;
    let limits = spec.limits();
    let edit = Edit {
        harness: (present.harness != spec.harness()).then(|| spec.harness().to_owned()),
        instructions: (present.instructions.as_ref() != Some(&spec.task))
            .then(|| spec.task.clone()),
        model: (present.model() != spec.model()).then(|| spec.model().to_owned()),
        ttl_at: moved_ttl(agent, &limits, turn, now).map(Time),
        limits: (present.limits.as_ref() != Some(&limits)).then_some(limits),
    };
    (edit != Edit::default()).then_some(edit)
}

/// When the agent is over, if that is to change: an edit of the run's clock moves it by
/// as much; waiting for its turn takes nothing of it; and a restart, which gives four
/// hours (LIFE-13), does not cut a longer clock short.
fn moved_ttl(agent: &Own, limits: &Limits, turn: Turn, now: Timestamp) -> Option<Timestamp> {
    if agent.spec.lifecycle() != Lifecycle::Active {
        return None;
    }
    let present = agent.spec.ttl_at.as_ref()?.0;
    let clock = clock(limits);
    let difference = clock - self::clock(&agent.spec.limits());
    let moved = if difference.is_zero() { present } else { after(present, difference) };
    let floor = match turn {
        Turn::Awaited => Some((now, clock + LEAST_BEYOND)),
        Turn::Come => begin(agent).map(|begin| (begin, clock)),
    };
    // One that is past is somebody's word to end it, or the agent's end already.
    let wanted = match floor.filter(|_| moved > now) {
        Some((from, least)) if moved.duration_since(from) < least => {
            after(from, clock + BEYOND_THE_CLOCK)
        }
        _ => moved,
    };
    (wanted != present).then_some(wanted)
}

/// When the agent's process was asked for.
fn begin(agent: &Own) -> Option<Timestamp> {
    agent.status.last_start.as_ref()?.at.as_ref().map(|at| at.0)
}

fn clock(limits: &Limits) -> SignedDuration {
    // At most a day: admission sees to that.
    SignedDuration::try_from(limits.wall_clock()).unwrap_or_default()
}

/// A whole second, so that what is read again equals what was written.
fn after(instant: Timestamp, time: SignedDuration) -> Timestamp {
    whole_second(instant.checked_add(time).unwrap_or(instant))
}
