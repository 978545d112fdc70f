use foundry_crds::{AgentSpec, AgentStatus};
use jiff::Timestamp;
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;

fn agent(desired: DesiredState, starts: Option<i64>) -> Agent {
    Agent::new(
        "scout",
        AgentSpec {
            owner: "ann".to_owned(),
            harness: "agent-v1".to_owned(),
            desired_state: Some(desired),
            starts,
            ..AgentSpec::default()
        },
    )
}

fn status(state: AgentState, observed_starts: i64) -> AgentStatus {
    AgentStatus {
        state: Some(state),
        observed_starts: Some(observed_starts),
        ..AgentStatus::default()
    }
}

#[rstest]
#[case::never_seen(DesiredState::Stopped, None, None, wire::AgentState::Stopped)]
#[case::asked_for_and_never_seen(DesiredState::Running, Some(1), None, wire::AgentState::Pending)]
#[case::asked_for_and_not_acted_on(
    DesiredState::Running,
    Some(2),
    Some(status(AgentState::Stopped, 1)),
    wire::AgentState::Pending
)]
#[case::restart_not_acted_on(
    DesiredState::Running,
    Some(2),
    Some(status(AgentState::Running, 1)),
    wire::AgentState::Pending
)]
#[case::runs(
    DesiredState::Running,
    Some(1),
    Some(status(AgentState::Running, 1)),
    wire::AgentState::Running
)]
#[case::stop_not_acted_on(
    DesiredState::Completed,
    Some(1),
    Some(status(AgentState::Running, 1)),
    wire::AgentState::Running
)]
fn a_state_says_what_truly_is(
    #[case] desired: DesiredState,
    #[case] starts: Option<i64>,
    #[case] status: Option<AgentStatus>,
    #[case] expected: wire::AgentState,
) {
    let mut agent = agent(desired, starts);
    agent.status = status;
    assert_eq!(of(&agent, Rows::default()).state, expected);
}

/// ROUTE-03
#[test]
fn rows_win_over_a_status_that_lags_behind() {
    let mut agent = agent(DesiredState::Running, Some(1));
    agent.status = Some(AgentStatus {
        plan_document_id: Some("old".to_owned()),
        context_percent: Some(10),
        ..status(AgentState::Running, 1)
    });
    let at: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    let beat = Beat { at, process_id: uuid::Uuid::nil(), generation: 1, context_percent: Some(42) };
    let view = of(&agent, Rows { beat: Some(beat), plan_document_id: Some("new".to_owned()) });
    assert_eq!(view.plan_document_id.as_deref(), Some("new"));
    assert_eq!(view.context_percent, Some(42));
    assert_eq!(view.last_heartbeat, Some(at));
}
