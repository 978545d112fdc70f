//! The demo's scenario: an Agent manifest becomes a thinking agent.

use foundry_client::{AgentState, AuthorKind, DesiredState, LogLine, Status, Tier};
use foundry_crds::Model;
use pretty_assertions::assert_eq;
use serde_json::json;
use testenv::eventually;

use crate::world::{DEADLINE, World, assert_whole};

const AGENT: &str = "scout";

/// LOOP-01, LOOP-02, LOOP-03, LOOP-04, MEM-04, ROUTE-11, ROUTE-19, BIND-04, OPS-01
#[tokio::test(flavor = "multi_thread")]
async fn an_applied_agent_thinks_remembers_and_recalls() {
    let control_plane = testenv::control_plane().await;
    let world = World::start(control_plane, "quickstart.yaml").await;
    world.apply_agent().await;

    let view = world.until_state(AGENT, AgentState::Running).await;
    assert_eq!((view.status, view.generation, view.process_generation), (Status::Active, 1, 1));
    world.until_remembered(AGENT, "looked around").await;
    world.until_logged(AGENT, "a recall", |line| line.event.message.contains("recall")).await;

    let lines = world.log(AGENT).await.unwrap();
    assert_eq!(lines[0].event.message, "harness started");
    assert_whole(&lines);
    let memories = world.api.list_memories(AGENT, None, None, None).await.unwrap();
    assert_eq!(memories.items[0].tier, Tier::Archive);
    assert_eq!(memories.items[0].author_kind, AuthorKind::Agent);
    let usage = world.api.usage(AGENT).await.unwrap();
    assert!(usage.calls >= 3 && usage.input_tokens > 0 && usage.cost_micros > 0, "{usage:?}");
    world.until(AGENT, "alive", |view| view.last_heartbeat.is_some()).await;
    world.end().await;
}

/// KERN-03, LOOP-13, MEM-03
#[tokio::test(flavor = "multi_thread")]
async fn an_anthropic_model_is_called_in_its_own_form_with_the_thoughts_that_the_api_shows() {
    let control_plane = testenv::control_plane().await;
    let world = World::start(control_plane, "quickstart.yaml").await;
    let model: Model = serde_json::from_value(json!({
        "apiVersion": "foundry.flow.life/v1alpha1",
        "kind": "Model",
        "metadata": {"name": "claude"},
        "spec": {
            "wireId": "claude",
            "provider": "anthropic",
            "baseUrl": world.stack.model_url(),
            "apiKey": {"name": "openai", "key": "apiKey"},
        },
    }))
    .unwrap();
    world.create(model).await;
    let mut agent = World::quickstart_agent();
    agent.spec.model = Some("claude".into());
    world.create(agent).await;
    world.until_remembered(AGENT, "looked around").await;

    let thoughts = world.api.thoughts(AGENT).await.unwrap().text;
    assert!(thoughts.contains("looked around"), "{thoughts}");
    let request = eventually("a request carries the thoughts", DEADLINE, || async {
        let requests = world.model_requests();
        let told = requests.iter().find(|request| {
            let system = request["body"]["system"][0]["text"].as_str().unwrap_or_default();
            system.contains(thoughts.trim())
        });
        told.cloned().ok_or_else(|| format!("{:#?}", requests.last()))
    })
    .await;
    assert_eq!(request["wire"], "anthropic");
    assert_eq!(request["body"]["system"][0]["cache_control"], json!({"type": "ephemeral"}));
    world.end().await;
}

/// MEM-01
#[tokio::test(flavor = "multi_thread")]
async fn on_postgresql_an_agent_lives_just_the_same() {
    let control_plane = testenv::control_plane().await;
    let database = testenv::postgres().await.database().await;
    let world = World::start_on(control_plane, "quickstart.yaml", database).await;
    world.apply_agent().await;
    world.until_remembered(AGENT, "looked around").await;
    world.until_logged(AGENT, "a recall", |line| line.event.message.contains("recall")).await;
    assert_whole(&world.log(AGENT).await.unwrap());
    world.end().await;
}

/// LIFE-16, LOOP-16
#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_instructions_is_a_new_start_of_the_same_process() {
    let control_plane = testenv::control_plane().await;
    let world = World::start(control_plane, "quickstart.yaml").await;
    world.apply_agent().await;
    world.until_state(AGENT, AgentState::Running).await;
    let pid = world.until_new_process(None).await;

    world.patch(AGENT, &json!({"spec": {"instructions": "Watch the harbour."}})).await;
    let view = world.until(AGENT, "at start 2", |view| view.generation == 2).await;
    assert_eq!(view.process_generation, 1);
    let presented = |line: &LogLine| line.event.message == "evaluation 1 of start 2";
    world.until_logged(AGENT, "start 2", presented).await;
    assert_eq!(world.pids(), [pid]);
    world.end().await;
}

/// LIFE-03, LIFE-08, LIFE-10, ROUTE-04, ROUTE-05, ROUTE-06, MEM-01
#[tokio::test(flavor = "multi_thread")]
async fn stop_start_and_restart_do_what_they_say_and_memories_stay() {
    let control_plane = testenv::control_plane().await;
    let world = World::start(control_plane, "quickstart.yaml").await;
    world.apply_agent().await;
    world.until_state(AGENT, AgentState::Running).await;
    let first = world.until_new_process(None).await;
    world.api.remember(AGENT, "the harbour opens at six").await.unwrap();

    let view = world.api.stop_agent(AGENT).await.unwrap();
    assert_eq!((view.status, view.desired_state), (Status::Active, DesiredState::Completed));
    world.until_state(AGENT, AgentState::Stopped).await;
    assert_eq!(world.pids(), [0; 0]);

    world.api.start_agent(AGENT).await.unwrap();
    let view = world.until_state(AGENT, AgentState::Running).await;
    assert_eq!((view.generation, view.process_generation), (2, 2));
    let second = world.until_new_process(Some(first)).await;

    world.api.restart_agent(AGENT).await.unwrap();
    let third = world.until_new_process(Some(second)).await;
    let view = world.until(AGENT, "running start 3", |view| {
        view.state == AgentState::Running && view.process_generation == 3
    });
    assert_eq!(view.await.generation, 3);
    assert_eq!(world.pids(), [third]);
    world.until_remembered(AGENT, "harbour opens").await;
    world.end().await;
}
