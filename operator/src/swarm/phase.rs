//! Where one member stands: a pure reading of its agent.

use std::time::Duration;

use foundry_crds::agent::{AgentState, DesiredState, Lifecycle};
use foundry_crds::condition::{self, kind, reason};
use foundry_crds::swarm::MemberPhase;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;

use super::observe::Own;
use crate::conditions::Readiness;

/// Nothing is trusted to be seen by watches alone: look again at least this often.
pub const LOOK_AGAIN: Duration = Duration::from_mins(5);
/// How often an end is waited for.
pub const DRAINING_AGAIN: Duration = Duration::from_secs(1);
/// How a Job says that its time was over: then it ends with its agent, or just before.
const OUT_OF_TIME: &str = "DeadlineExceeded";

/// Where a member stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Stand {
    /// Where it stands, in one word.
    pub phase: MemberPhase,
    /// Whether its agent is there, or was.
    pub is_made: bool,
    /// Whether a process of it ever lived.
    pub has_begun: bool,
    /// Whether nothing of it runs, and nothing will by itself.
    pub is_clear: bool,
    /// What is otherwise than the swarm says.
    pub trouble: Option<Trouble>,
}

/// Something that is otherwise than a swarm says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// How far the cluster is from the spec.
    pub readiness: Readiness,
    /// One documented word.
    pub reason: &'static str,
    /// What happened and what to do, for a person.
    pub message: String,
    /// When to look again, whatever the watches say.
    pub look_again: Duration,
}

impl Trouble {
    /// It goes by itself, and a watch tells of it.
    pub fn passing(reason: &'static str, message: String) -> Self {
        Self { readiness: Readiness::Reconciling, reason, message, look_again: LOOK_AGAIN }
    }

    /// Somebody must do something.
    pub fn stalled(reason: &'static str, message: String) -> Self {
        Self { readiness: Readiness::Stalled, ..Self::passing(reason, message) }
    }
}

impl Stand {
    /// A member whose agent has yet to be made.
    pub fn unmade(trouble: Option<Trouble>) -> Self {
        Self {
            phase: MemberPhase::Pending,
            is_made: false,
            has_begun: false,
            is_clear: true,
            trouble,
        }
    }

    /// A member whose agent is made by this very plan.
    pub fn just_made() -> Self {
        let trouble = Trouble::passing(reason::PENDING, "its agent is made".to_owned());
        Self { is_made: true, is_clear: false, ..Self::unmade(Some(trouble)) }
    }

    /// A member whose agent was made and is there no more. Made again it would be another
    /// one, and work would be done twice.
    pub fn deleted(known: MemberPhase) -> Self {
        let phase = if known.is_an_end() { known } else { MemberPhase::Failed };
        let trouble = (phase == MemberPhase::Failed).then(|| {
            let message = "its agent was deleted; take it out of spec.members, and add it again \
                           if it is to be made anew";
            Trouble::stalled(reason::MEMBER_FAILED, message.to_owned())
        });
        Self {
            phase,
            is_made: true,
            has_begun: phase == MemberPhase::Succeeded,
            is_clear: true,
            trouble,
        }
    }

    /// A member whose agent this operator cannot read: where it stood it still stands, as
    /// far as anybody knows.
    pub fn unreadable(known: Option<MemberPhase>) -> Self {
        let message = "this operator cannot read its agent; correct it or upgrade".to_owned();
        Self {
            phase: known.unwrap_or(MemberPhase::Pending),
            is_made: true,
            has_begun: false,
            is_clear: false,
            trouble: Some(Trouble::stalled(reason::INVALID, message)),
        }
    }
}

/// Where a member stands that has its agent. `known` is where it stood before; whether the
/// swarm itself told it to go, `is_told_to_go` says.
pub fn of_agent(
    agent: &Own,
    known: Option<MemberPhase>,
    is_told_to_go: bool,
    now: Timestamp,
) -> Stand {
    let has_begun = has_begun(agent, known);
    let is_clear = is_clear(agent);
    let lives = agent.spec.lifecycle() == Lifecycle::Active;
    let phase = match (agent.spec.lifecycle(), agent.spec.desired_state()) {
        (Lifecycle::Expired | Lifecycle::Archive, _) => {
            over(agent, known, has_begun, is_clear, is_told_to_go, now)
        }
        (Lifecycle::Active, DesiredState::Completed | DesiredState::Stopped) => {
            // A process that ended by itself before anybody stopped it, ended so.
            let ended = known.filter(|phase| is_finished(agent) && phase.is_an_end());
            ended.unwrap_or(MemberPhase::Stopped)
        }
        (Lifecycle::Active, DesiredState::Running) => wanted(agent, known),
    };
    let trouble = if is_told_to_go && !is_clear {
        let message = "its process is told to end".to_owned();
        Some(Trouble { look_again: DRAINING_AGAIN, ..Trouble::passing(reason::DRAINING, message) })
    } else {
        trouble(agent, phase, lives)
    };
    Stand { phase, is_made: true, has_begun, is_clear, trouble }
}

/// Whether a process of this agent ever lived: so it was seen, or so it says itself.
fn has_begun(agent: &Own, known: Option<MemberPhase>) -> bool {
    is_finished(agent)
        || agent.status.state == Some(AgentState::Running)
        || agent.status.last_heartbeat.is_some()
        || matches!(known, Some(MemberPhase::Running | MemberPhase::Succeeded))
}

/// Whether the process of the present start ended by itself.
fn is_finished(agent: &Own) -> bool {
    let start = agent.status.last_start.as_ref().map(|start| start.number);
    start.is_some() && agent.status.finished_start == start
}

/// Whether nothing of an agent that is over runs any more, and its status says so.
fn is_clear(agent: &Own) -> bool {
    let rest = match agent.spec.lifecycle() {
        Lifecycle::Active => return false,
        Lifecycle::Expired => AgentState::Expired,
        Lifecycle::Archive => AgentState::Archived,
    };
    agent.is_seen && agent.status.state == Some(rest) && agent.status.workload.is_none()
}

/// How a member ended whose agent is over.
fn over(
    agent: &Own,
    known: Option<MemberPhase>,
    has_begun: bool,
    is_clear: bool,
    is_told_to_go: bool,
    now: Timestamp,
) -> MemberPhase {
    let known = known.unwrap_or(MemberPhase::Pending);
    if known.is_an_end() || !is_clear {
        return known;
    }
    let is_out_of_time = agent.spec.ttl_at.as_ref().is_some_and(|ttl| ttl.0 <= now);
    if is_told_to_go || is_out_of_time || !has_begun {
        MemberPhase::Expired
    } else {
        // LIFE-11, LIFE-19: its harness, or the agent that started it, has said in good
        // time that it is done.
        MemberPhase::Succeeded
    }
}

/// Where a member stands whose process should run.
fn wanted(agent: &Own, known: Option<MemberPhase>) -> MemberPhase {
    if !is_finished(agent) {
        return match agent.status.state {
            Some(AgentState::Running) => MemberPhase::Running,
            _ => MemberPhase::Pending,
        };
    }
    match ready(agent).map(|ready| (ready.reason.as_str(), ready.message.as_str())) {
        Some((reason::COMPLETED, _)) => MemberPhase::Succeeded,
        Some((reason::FAILED, why)) if why.starts_with(OUT_OF_TIME) => MemberPhase::Expired,
        Some((reason::FAILED, _)) => MemberPhase::Failed,
        // A restart that is not acted on yet: what is told is of the process before.
        _ => known.unwrap_or(MemberPhase::Pending),
    }
}

fn ready(agent: &Own) -> Option<&Condition> {
    agent.status.conditions.iter().find(|condition| condition.type_ == kind::READY)
}

/// What is otherwise with a member that nobody told to go.
fn trouble(agent: &Own, phase: MemberPhase, lives: bool) -> Option<Trouble> {
    match phase {
        MemberPhase::Failed => {
            let told = ready(agent).filter(|ready| ready.reason == reason::FAILED);
            let why = told.map_or("its process ended badly", |ready| ready.message.as_str());
            let message = format!("{why}; restart its agent to begin again");
            Some(Trouble::stalled(reason::MEMBER_FAILED, message))
        }
        MemberPhase::Pending if lives => waiting(agent),
        MemberPhase::Pending
        | MemberPhase::Running
        | MemberPhase::Stopped
        | MemberPhase::Succeeded
        | MemberPhase::Expired => None,
    }
}

/// No process lives yet: what its agent says of that, the swarm says too.
fn waiting(agent: &Own) -> Option<Trouble> {
    let is_pending = agent.status.state == Some(AgentState::Pending);
    let Some(ready) = ready(agent).filter(|_| is_pending) else {
        let message = "its process is asked for".to_owned();
        return Some(Trouble::passing(reason::PENDING, message));
    };
    let word = condition::documented(&ready.reason).map_or(reason::PENDING, |it| it.word);
    let is_stalled = agent
        .status
        .conditions
        .iter()
        .any(|condition| condition.type_ == kind::STALLED && condition.status == "True");
    if is_stalled {
        Some(Trouble::stalled(word, ready.message.clone()))
    } else if word == reason::PENDING && agent.status.workload.is_some() {
        // Judged like a Job: the cluster has taken it.
        None
    } else {
        Some(Trouble::passing(word, ready.message.clone()))
    }
}

#[cfg(test)]
mod tests;
