//! Which start of an agent a harness speaks of.

use foundry_crds::{Agent, agent::Lifecycle, agent::Lifetime};
use foundry_store::{AfterResult, AgentKey, AgentStart};
use http::StatusCode;
use kube::ResourceExt;

use crate::{agents::has_ended, app::AppState, extract::Caller, problem::Problem};

/// Start number that the agent's newest process was started for.
pub fn newest(agent: &Agent) -> i64 {
    let last = agent.status.as_ref().and_then(|status| status.last_start.as_ref());
    last.map_or(0, |start| start.number)
}

/// Whether a process of this agent may be waiting for a person: why not, otherwise.
pub fn waits(agent: &Agent) -> Result<(), &'static str> {
    use foundry_crds::agent::DesiredState;
    match (agent.spec.lifecycle(), agent.spec.desired_state()) {
        (Lifecycle::Expired, _) => Err("the agent has expired"),
        (Lifecycle::Archive, _) => Err("the agent is archived"),
        (Lifecycle::Active, DesiredState::Completed | DesiredState::Stopped) => {
            Err("the agent is stopped")
        }
        (Lifecycle::Active, DesiredState::Running) if has_ended(agent) => {
            Err("the agent's process has ended")
        }
        (Lifecycle::Active, DesiredState::Running) => Ok(()),
    }
}

/// The newest start of this agent, for what a person says.
pub fn present(workspace: &str, agent: &Agent) -> AgentStart {
    of(workspace, agent, newest(agent))
}

fn of(workspace: &str, agent: &Agent, generation: i64) -> AgentStart {
    AgentStart {
        key: AgentKey::new(workspace, agent.name_any()),
        uid: agent.uid().unwrap_or_default(),
        generation,
        after_result: match agent.spec.lifetime() {
            Lifetime::Ephemeral => AfterResult::Refuse,
            Lifetime::Persistent => AfterResult::BeginAnew,
        },
    }
}

impl AppState {
    /// The start that a harness says it is. An earlier one than the newest is over; one
    /// that the operator has not counted yet is nobody's.
    pub async fn start_of(
        &self,
        caller: &Caller,
        agent: Agent,
        generation: i64,
    ) -> Result<(AgentStart, Agent), Problem> {
        let workspace = &caller.0.workspace;
        // What the cache has may be older than the process that speaks.
        let agent = if generation > counted(&agent) {
            self.cluster.read_agent(workspace, &agent.name_any()).await?
        } else {
            agent
        };
        if caller.0.is_another_than(&agent) {
            let detail = "the agent that this process was started for is gone";
            return Err(
                Problem::new(StatusCode::CONFLICT, "Superseded", detail).remedy("end this process")
            );
        }
        if generation > counted(&agent) {
            let detail = format!("the operator has counted no start {generation} of this agent");
            return Err(Problem::invalid("generation", "UnknownStart", detail)
                .remedy("send the start number that the process was started for"));
        }
        if generation < newest(&agent) {
            let detail = format!("start {generation} is over, for a later one has begun");
            return Err(Problem::new(StatusCode::CONFLICT, "Superseded", detail)
                .remedy("end this process; the later one works on the task"));
        }
        Ok((of(workspace, &agent, generation), agent))
    }
}

/// The highest start number there is.
fn counted(agent: &Agent) -> i64 {
    agent.status.as_ref().and_then(|status| status.start_number).unwrap_or(0)
}
