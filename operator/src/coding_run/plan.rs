//! What should be done for a run: all rules, no input or output.

use std::time::Duration;

use foundry_crds::Agent;
use foundry_crds::agent::{DesiredState, Lifecycle};
use foundry_crds::coding_run::Phase;
use foundry_crds::condition::reason;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use super::child::{self, Edit, Turn};
use super::observe::{Ability, Found, Observed, Own};
use super::phase::{self, Standing};
use crate::agent::plan::{MISSING_AGAIN, Parent};
use crate::apply::Version;
use crate::conditions::{Readiness, whole_second};

/// How often an end is waited for.
const DRAINING_AGAIN: Duration = Duration::from_secs(1);

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What to do with the run's agent.
    pub action: Option<Action>,
    /// Where the run stands, and what a person is told.
    pub standing: Standing,
    /// Name of the run's agent, once it was made.
    pub agent: Option<String>,
    /// When the run's first process began.
    pub start_time: Option<Time>,
    /// When the run ended.
    pub completion_time: Option<Time>,
}

/// What to do with the run's agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Make it.
    Create(Box<Agent>),
    /// Write these fields of it.
    Edit(Version, Box<Edit>),
}

/// Decides what to do for a run, and where it stands.
pub fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let Observed { run, spec, status, harness: _, spawner: _, agent, grace } = observed;
    let (action, standing) = match agent {
        Found::Own(own) if own.going => (None, leaving(observed, own, now)),
        Found::Own(own) => {
            let standing = phase::standing(run, status, own, *grace, now);
            let edit = child::edit(spec, own, turn(own, &standing), now);
            let action = edit.map(|edit| Action::Edit(own.version.clone(), Box::new(edit)));
            (action, standing)
        }
        Found::Unreadable => (None, unreadable(observed)),
        Found::None | Found::OfAnEarlierRun | Found::Foreign if status.agent.is_some() => {
            (None, deleted(observed))
        }
        Found::OfAnEarlierRun => {
            let message = "the agent of an earlier run of this name still ends".to_owned();
            let held = held(Readiness::Reconciling, reason::DRAINING, message);
            (None, Standing { look_again: DRAINING_AGAIN, ..held })
        }
        Found::Foreign => {
            let message = format!(
                "Agent \"{}\" exists and is not this run's; delete it, or create the run under \
                 another name",
                run.name
            );
            (None, held(Readiness::Stalled, reason::NAME_TAKEN, message))
        }
        Found::None => make(observed, now),
    };
    Plan {
        agent: is_made(observed, action.as_ref()).then(|| run.name.clone()),
        start_time: start_time(observed, &standing, now),
        completion_time: completion_time(observed, &standing, now),
        action,
        standing,
    }
}

/// The run's agent is made, unless something stands in the way.
fn make(observed: &Observed, now: Timestamp) -> (Option<Action>, Standing) {
    if let Some(obstacle) = obstacle(observed) {
        return (None, obstacle);
    }
    let agent = child::agent(&observed.run, &observed.spec, now);
    let message = "its agent is made".to_owned();
    let made = Standing::pending(Readiness::Reconciling, reason::PENDING, message);
    (Some(Action::Create(Box::new(agent))), made)
}

/// Whether the run's agent is, or was, there once the plan is carried out.
fn is_made(observed: &Observed, action: Option<&Action>) -> bool {
    observed.status.agent.is_some()
        || matches!(observed.agent, Found::Own(_))
        || matches!(action, Some(Action::Create(_)))
}

/// Something stands in the way, and may go.
fn held(readiness: Readiness, reason: &'static str, message: String) -> Standing {
    Standing { look_again: MISSING_AGAIN, ..Standing::pending(readiness, reason, message) }
}

/// Why the run's agent may not be made yet. While that lasts it uses no time of it up.
fn obstacle(observed: &Observed) -> Option<Standing> {
    let Observed { run, spec, status: _, harness, spawner, agent: _, grace: _ } = observed;
    match spawner {
        Parent::Missing(name) => {
            let message = format!(
                "agent \"{name}\", which spec.agent says spawned this run, not found in namespace \
                 {}; looked for every 15 s",
                run.namespace
            );
            return Some(held(Readiness::Reconciling, reason::PARENT_NOT_FOUND, message));
        }
        Parent::OwnedBy(owner) if *owner != spec.owner => {
            let message = "the agent that spec.agent names has another owner; a run acts for the \
                           owner of the agent that spawned it";
            return Some(held(Readiness::Stalled, reason::PARENT_OWNER, message.to_owned()));
        }
        Parent::None | Parent::OwnedBy(_) => {}
    }
    let name = spec.harness();
    match harness {
        Ability::Able => None,
        Ability::Missing => {
            let message = format!(
                "Harness \"{name}\" not found in namespace {}; create it; looked for every 15 s",
                run.namespace
            );
            Some(held(Readiness::Reconciling, reason::HARNESS_NOT_FOUND, message))
        }
        Ability::NoRepositories => {
            let message = format!(
                "Harness \"{name}\" lacks the feature repo_scope, so it cannot work on a \
                 repository; add it, or create another run with another spec.harness"
            );
            Some(held(Readiness::Stalled, reason::HARNESS_LACKS_FEATURE, message))
        }
        Ability::NoPods => {
            let message = format!(
                "Harness \"{name}\" is of host chat and has no pods; set host: pod, or create \
                 another run with another spec.harness"
            );
            Some(held(Readiness::Stalled, reason::HARNESS_LACKS_FEATURE, message))
        }
    }
}

/// Whether an agent still waits to be begun.
fn turn(agent: &Own, standing: &Standing) -> Turn {
    let is_wanted = agent.spec.lifecycle() == Lifecycle::Active
        && agent.spec.desired_state() == DesiredState::Running;
    if is_wanted && standing.phase == Phase::Pending { Turn::Awaited } else { Turn::Come }
}

fn unreadable(observed: &Observed) -> Standing {
    let status = &observed.status;
    phase::kept_end(status, status.start_number).unwrap_or_else(|| {
        let message = "this operator cannot read the run's agent; correct it or upgrade";
        // Where it stood it still stands, as far as anybody knows.
        Standing {
            phase: status.phase.filter(|phase| !phase.is_an_end()).unwrap_or(Phase::Pending),
            start_number: status.start_number,
            began: status.start_time.is_some(),
            gone_since: status.gone_since.clone(),
            ..held(Readiness::Stalled, reason::INVALID, message.to_owned())
        }
    })
}

/// The run's agent is told to go: whether that ends the run shows when it is gone.
fn leaving(observed: &Observed, agent: &Own, now: Timestamp) -> Standing {
    let standing = phase::standing(&observed.run, &observed.status, agent, observed.grace, now);
    if standing.phase.is_an_end() {
        return standing;
    }
    Standing {
        reason: reason::FINISHING,
        message: "its agent is being deleted".to_owned(),
        look_again: DRAINING_AGAIN,
        ..standing
    }
}

/// The agent that was made is there no more. Made again it would be another one, and what
/// the first reported would pass for its own.
fn deleted(observed: &Observed) -> Standing {
    let start = observed.status.start_number;
    phase::kept_end(&observed.status, start).unwrap_or_else(|| Standing {
        start_number: start,
        began: observed.status.start_time.is_some(),
        ..phase::lost("its agent was deleted; delete the run and create it again")
    })
}

/// Set once, by the first process.
fn start_time(observed: &Observed, standing: &Standing, now: Timestamp) -> Option<Time> {
    let known = observed.status.start_time.clone();
    known.or_else(|| standing.began.then(|| Time(whole_second(now))))
}

/// Set by each end, and gone with the start that follows it.
fn completion_time(observed: &Observed, standing: &Standing, now: Timestamp) -> Option<Time> {
    if !standing.phase.is_an_end() {
        return None;
    }
    let status = &observed.status;
    let is_the_same =
        status.phase == Some(standing.phase) && status.start_number == standing.start_number;
    let known = status.completion_time.clone().filter(|_| is_the_same);
    Some(known.unwrap_or_else(|| Time(whole_second(now))))
}

#[cfg(test)]
mod tests;
