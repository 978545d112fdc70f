//! What a person is told about an agent: the STATE column and the conditions.

use foundry_crds::condition::{kind, reason};
use foundry_crds::{AgentState, AgentStatus};

use crate::conditions::Readiness;
use crate::runtime::Health;

/// What a person is told about an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outlook {
    /// The STATE column.
    pub state: AgentState,
    /// How far the cluster is from the spec.
    pub readiness: Readiness,
    /// One documented word.
    pub reason: &'static str,
    /// What happened and what to do, for a person.
    pub message: String,
    /// Whether a harness process lives.
    pub running: bool,
}

impl Outlook {
    /// Nothing runs, and nothing should.
    pub fn at_rest(state: AgentState) -> Self {
        let (reason, message) = match state {
            AgentState::Stopped => (reason::STOPPED, "nothing runs, and nothing should"),
            AgentState::OnDemand => (reason::ON_DEMAND, "woken on demand; there is no workload"),
            AgentState::Expired => (reason::EXPIRED, "the agent is expired"),
            AgentState::Archived => (reason::ARCHIVED, "the agent is archived"),
            AgentState::Running => (reason::RUNNING, "its harness runs"),
            AgentState::Pending => (reason::PENDING, "its harness is asked for"),
        };
        Self {
            state,
            readiness: Readiness::Ready,
            reason,
            message: message.to_owned(),
            running: state == AgentState::Running,
        }
    }

    /// The process is asked for and not up.
    pub fn pending(message: String) -> Self {
        Self::waiting(reason::PENDING, message)
    }

    /// A process still ends; until then none is started (LIFE-09).
    pub fn draining(message: String) -> Self {
        Self::waiting(reason::DRAINING, message)
    }

    /// Something is missing that may come by itself.
    pub fn waiting(reason: &'static str, message: String) -> Self {
        Self {
            state: AgentState::Pending,
            readiness: Readiness::Reconciling,
            reason,
            message,
            running: false,
        }
    }

    /// Nothing moves until somebody changes something.
    pub fn stalled(reason: &'static str, message: String) -> Self {
        Self {
            state: if reason == reason::FAILED { AgentState::Stopped } else { AgentState::Pending },
            readiness: Readiness::Stalled,
            reason,
            message,
            running: false,
        }
    }

    /// The process of an ephemeral agent ended well.
    pub fn completed() -> Self {
        Self {
            reason: reason::COMPLETED,
            message: "its process ended well".to_owned(),
            ..Self::at_rest(AgentState::Stopped)
        }
    }

    /// How the process in a workload fares.
    pub fn of_health(health: &Health) -> Self {
        match health {
            Health::Waiting(why) => Self::pending(why.clone()),
            Health::Running => Self::at_rest(AgentState::Running),
            Health::Crashing(why) => Self::waiting(reason::CRASH_LOOP, why.clone()),
            Health::Succeeded => Self::completed(),
            Health::Failed(why) => Self::stalled(reason::FAILED, why.clone()),
        }
    }

    /// What the last report says of a process that ended.
    pub fn reported(status: &AgentStatus) -> Option<Self> {
        let ready = status.conditions.iter().find(|condition| condition.type_ == kind::READY)?;
        (ready.reason == reason::FAILED)
            .then(|| Self::stalled(reason::FAILED, ready.message.clone()))
    }
}
