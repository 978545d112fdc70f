//! Whether an agent should be doing anything.

use foundry_client::{Activation, AgentView, DesiredState, Status};

/// Why the agent should do nothing, if it should not; `on_demand` says it of an agent
/// that has no workload.
pub fn why_not(agent: &AgentView, on_demand: &'static str) -> Option<&'static str> {
    match (agent.status, agent.desired_state, agent.activation) {
        (Status::Archive, _, _) => Some("the agent is archived"),
        (Status::Expired, _, _) => Some("the agent is expired"),
        (Status::Active, DesiredState::Completed | DesiredState::Stopped, _) => {
            Some("the agent is stopped")
        }
        (Status::Active, DesiredState::Running, Activation::OnDemand) => Some(on_demand),
        (Status::Active, DesiredState::Running, Activation::AlwaysOn) => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::fake;

    #[rstest]
    #[case(Status::Active, DesiredState::Running, Activation::AlwaysOn, None)]
    #[case(Status::Active, DesiredState::Running, Activation::OnDemand, Some("no workload"))]
    #[case(Status::Active, DesiredState::Completed, Activation::AlwaysOn, Some("stopped"))]
    #[case(Status::Active, DesiredState::Stopped, Activation::OnDemand, Some("stopped"))]
    #[case(Status::Expired, DesiredState::Running, Activation::AlwaysOn, Some("expired"))]
    #[case(Status::Archive, DesiredState::Running, Activation::AlwaysOn, Some("archived"))]
    fn only_an_active_agent_that_should_run_and_has_a_process_does_anything(
        #[case] status: Status,
        #[case] desired_state: DesiredState,
        #[case] activation: Activation,
        #[case] expected: Option<&str>,
    ) {
        let agent = AgentView { status, desired_state, activation, ..fake::agent("ann") };
        match (why_not(&agent, "it has no workload"), expected) {
            (Some(why), Some(part)) => assert!(why.ends_with(part), "{why}"),
            (why, expected) => assert_eq!(why, expected),
        }
    }
}
