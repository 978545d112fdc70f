//! What each verb means for one agent as it is: pure.

use foundry_crds::{
    Agent, AgentSpec,
    agent::{DesiredState, Lifecycle, Lifetime},
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use crate::{agents::has_ended, problem::Problem};

/// Time that a restarted ephemeral agent gets (LIFE-13).
const RESTARTED_TTL: SignedDuration = SignedDuration::from_hours(4);

/// A way to move an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Let it run (ROUTE-04).
    Start,
    /// Let it rest (ROUTE-05).
    Stop,
    /// Replace its process, or bring an expired ephemeral agent back (ROUTE-06).
    Restart,
    /// End it (ROUTE-07).
    Expire,
    /// Put it away for good (ROUTE-08).
    Archive,
}

/// What a verb does to an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Intent {
    /// The agent already is what the verb asks for.
    Nothing,
    /// These fields change.
    Write(Change),
}

/// Fields that runtime verbs own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    lifecycle: Option<Lifecycle>,
    desired_state: Option<DesiredState>,
    starts: Option<i64>,
    ttl_at: Option<Time>,
}

impl Change {
    /// Carries the change out on a spec.
    pub fn apply(self, spec: &mut AgentSpec) {
        let Self { lifecycle, desired_state, starts, ttl_at } = self;
        spec.lifecycle = lifecycle.or(spec.lifecycle);
        spec.desired_state = desired_state.or(spec.desired_state);
        spec.starts = starts.or(spec.starts);
        spec.ttl_at = ttl_at.or(spec.ttl_at.take());
    }
}

impl Verb {
    /// Whether this verb asks for a new process.
    pub fn starts(self) -> bool {
        match self {
            Self::Start | Self::Restart => true,
            Self::Stop | Self::Expire | Self::Archive => false,
        }
    }

    /// What this verb means for this agent, or why it cannot be.
    pub fn on(self, agent: &Agent, now: Timestamp) -> Result<Intent, Problem> {
        match self {
            Self::Start => start(agent),
            Self::Stop => Ok(stop(agent)),
            Self::Restart => restart(agent, now),
            Self::Expire => expire(agent),
            Self::Archive => Ok(archive(agent)),
        }
    }
}

fn start(agent: &Agent) -> Result<Intent, Problem> {
    match agent.spec.lifecycle() {
        Lifecycle::Active => {}
        Lifecycle::Expired => {
            let problem = refused(agent, "Expired", "is expired and cannot be started");
            return Err(match agent.spec.lifetime() {
                Lifetime::Ephemeral => problem.remedy("restart it instead"),
                Lifetime::Persistent => problem.remedy("create another agent"),
            });
        }
        Lifecycle::Archive => {
            return Err(refused(agent, "Archived", "is archived and cannot be started"));
        }
    }
    // LIFE-02: what is already there need not be made again, unless the cluster
    // refused to make it.
    let last = agent.status.as_ref().and_then(|status| status.last_start.as_ref());
    let was_refused = last.is_some_and(|last| last.refused.is_some());
    if agent.spec.desired_state() == DesiredState::Running && !was_refused {
        return Ok(Intent::Nothing);
    }
    Ok(Intent::Write(Change {
        desired_state: Some(DesiredState::Running),
        starts: Some(next_start(agent)),
        ..Change::default()
    }))
}

fn stop(agent: &Agent) -> Intent {
    match agent.spec.lifecycle() {
        Lifecycle::Active if agent.spec.desired_state() != DesiredState::Completed => {
            Intent::Write(Change {
                desired_state: Some(DesiredState::Completed),
                ..Change::default()
            })
        }
        // Nothing of an expired or archived agent is meant to run.
        Lifecycle::Active | Lifecycle::Expired | Lifecycle::Archive => Intent::Nothing,
    }
}

fn restart(agent: &Agent, now: Timestamp) -> Result<Intent, Problem> {
    let again = Change {
        desired_state: Some(DesiredState::Running),
        starts: Some(next_start(agent)),
        ..Change::default()
    };
    match (agent.spec.lifetime(), agent.spec.lifecycle()) {
        (_, Lifecycle::Archive) => {
            Err(refused(agent, "Archived", "is archived and cannot be restarted"))
        }
        (Lifetime::Persistent, Lifecycle::Expired) => {
            Err(refused(agent, "Expired", "is expired and cannot be restarted")
                .remedy("create another agent"))
        }
        (Lifetime::Persistent, Lifecycle::Active) => {
            if agent.spec.desired_state() == DesiredState::Running {
                Ok(Intent::Write(again))
            } else {
                Err(refused(agent, "NotRunning", "does not run").remedy("start it instead"))
            }
        }
        // LIFE-13
        (Lifetime::Ephemeral, Lifecycle::Expired) => Ok(Intent::Write(Change {
            lifecycle: Some(Lifecycle::Active),
            ttl_at: Some(Time(now + RESTARTED_TTL)),
            ..again
        })),
        // Its process has ended, though nobody expired it: it was lost.
        (Lifetime::Ephemeral, Lifecycle::Active) if has_ended(agent) => {
            Ok(Intent::Write(Change { ttl_at: Some(Time(now + RESTARTED_TTL)), ..again }))
        }
        (Lifetime::Ephemeral, Lifecycle::Active) => {
            Err(refused(agent, "NotExpired", "is not expired, and its process lives")
                .remedy("wait for its end, or expire it first"))
        }
    }
}

fn expire(agent: &Agent) -> Result<Intent, Problem> {
    match agent.spec.lifecycle() {
        Lifecycle::Active => Ok(Intent::Write(Change {
            lifecycle: Some(Lifecycle::Expired),
            desired_state: Some(DesiredState::Completed),
            ..Change::default()
        })),
        Lifecycle::Expired => Ok(Intent::Nothing),
        Lifecycle::Archive => Err(refused(agent, "Archived", "is archived and cannot be expired")),
    }
}

fn archive(agent: &Agent) -> Intent {
    match agent.spec.lifecycle() {
        Lifecycle::Archive => Intent::Nothing,
        Lifecycle::Active | Lifecycle::Expired => Intent::Write(Change {
            lifecycle: Some(Lifecycle::Archive),
            desired_state: Some(DesiredState::Completed),
            ..Change::default()
        }),
    }
}

fn next_start(agent: &Agent) -> i64 {
    let observed = agent.status.as_ref().and_then(|status| status.observed_starts);
    agent.spec.starts.unwrap_or(0).max(observed.unwrap_or(0)) + 1
}

fn refused(agent: &Agent, reason: &'static str, words: &str) -> Problem {
    Problem::conflict(reason, format!("agent {:?} {words}", agent.name_any()))
}
