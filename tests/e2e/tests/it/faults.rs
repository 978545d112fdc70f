//! The unhappy twins: each ends in a state a person can read, with nothing lost
//! and nothing doubled.

use foundry_client::{AgentState, LogLevel};
use pretty_assertions::assert_eq;
use testenv::{ControlPlane, Durability, eventually};

use crate::world::{DEADLINE, World, assert_whole};

const AGENT: &str = "scout";

fn is_relay_failure(message: &str, status: u16) -> bool {
    message.contains(&format!("broker relay failed: HTTP {status}: "))
}

/// LOOP-24
#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_down_is_named_in_the_log_and_thought_goes_on_when_it_is_back() {
    let control_plane = testenv::control_plane().await;
    let mut world = World::start_without_model(control_plane, "quickstart.yaml").await;
    world.apply_agent().await;
    let failure = world
        .until_logged(AGENT, "the failure", |line| is_relay_failure(&line.event.message, 502))
        .await;
    assert_eq!((failure.event.kind.as_str(), failure.event.level), ("error", LogLevel::Error));
    let pid = world.until_new_process(None).await;
    world.until_state(AGENT, AgentState::Running).await;

    world.stack.start_model().await.unwrap();
    world.until_remembered(AGENT, "looked around").await;
    assert_eq!(world.pids(), [pid]);
    assert_whole(&world.log(AGENT).await.unwrap());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limited_model_is_asked_again_and_answers() {
    let control_plane = testenv::control_plane().await;
    let world = World::start(control_plane, "rate-limited.yaml").await;
    world.apply_agent().await;
    world.until_remembered(AGENT, "looked around").await;
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_killed_in_the_middle_finds_its_harness_again() {
    let control_plane = testenv::control_plane().await;
    let mut world = World::start(control_plane, "quickstart.yaml").await;
    world.apply_agent().await;
    world.until_state(AGENT, AgentState::Running).await;
    let pid = world.until_new_process(None).await;

    world.stack.operator.take().unwrap().kill().unwrap();
    world.until_remembered(AGENT, "looked around").await;
    world.stack.start_operator().await.unwrap();
    // It acts again: a restart is carried out, and only then the process changes.
    assert_eq!(world.pids(), [pid]);
    world.api.restart_agent(AGENT).await.unwrap();
    world.until_new_process(Some(pid)).await;
    world.until_state(AGENT, AgentState::Running).await;
    world.end().await;
}

/// LOOP-01, ROUTE-11
#[tokio::test(flavor = "multi_thread")]
async fn an_api_killed_in_the_middle_loses_and_doubles_no_log_line() {
    let control_plane = testenv::control_plane().await;
    let mut world = World::start(control_plane, "quickstart.yaml").await;
    world.apply_agent().await;
    world.until_remembered(AGENT, "looked around").await;
    let pid = world.until_new_process(None).await;

    world.stack.api.take().unwrap().kill().unwrap();
    let printed = printed_events(&world);
    eventually("the harness goes on without the API", DEADLINE, || async {
        let now = printed_events(&world);
        if now > printed + 1 { Ok(()) } else { Err(format!("{now} events printed")) }
    })
    .await;
    world.stack.start_api().await.unwrap();

    let printed = printed_events(&world);
    eventually("all printed events are stored", DEADLINE, || async {
        let stored = world.log(AGENT).await?.len();
        if stored >= printed { Ok(()) } else { Err(format!("{stored} of {printed}")) }
    })
    .await;
    assert_whole(&world.log(AGENT).await.unwrap());
    assert_eq!(world.pids(), [pid]);
    world.end().await;
}

/// Events the one harness has printed, one JSON object a line.
fn printed_events(world: &World) -> usize {
    let harness = world.stack.harnesses().unwrap().remove(0);
    let text = std::fs::read_to_string(&harness.log).unwrap();
    text.lines().filter(|line| line.starts_with('{')).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_harness_killed_in_the_middle_is_started_again_and_remembers() {
    let control_plane = testenv::control_plane().await;
    let world = World::start(control_plane, "quickstart.yaml").await;
    world.apply_agent().await;
    world.until_remembered(AGENT, "looked around").await;
    let harness = world.stack.harnesses().unwrap().remove(0);

    harness.kill().unwrap();
    world.until_new_process(Some(harness.pid)).await;
    let view = world.until_state(AGENT, AgentState::Running).await;
    assert_eq!((view.generation, view.process_generation), (1, 1));
    world.until_remembered(AGENT, "looked around").await;
    assert_whole(&world.log(AGENT).await.unwrap());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_control_plane_that_restarts_finds_everything_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let control_plane = ControlPlane::start(folder.path(), Durability::Throwaway).await.unwrap();
    control_plane.install().await.unwrap();
    let world = World::start(&control_plane, "quickstart.yaml").await;
    world.apply_agent().await;
    world.until_remembered(AGENT, "looked around").await;
    let pid = world.until_new_process(None).await;

    control_plane.restart().await.unwrap();
    world.until_state(AGENT, AgentState::Running).await;
    assert_eq!(world.pids(), [pid]);
    world.api.restart_agent(AGENT).await.unwrap();
    world.until_new_process(Some(pid)).await;
    assert_whole(&world.log(AGENT).await.unwrap());
    world.end().await;
    control_plane.stop().await.unwrap();
}
