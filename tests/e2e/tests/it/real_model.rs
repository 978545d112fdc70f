//! The same Agent manifest on a real model that follows no script: whatever it
//! answers, agent, log and status stay whole.

use foundry_client::AgentState;
use foundry_crds::Model;
use pretty_assertions::assert_eq;
use serde_json::json;
use testenv::eventually;

use crate::world::{DEADLINE, World, assert_whole};

const AGENT: &str = "scout";

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_stays_whole_whatever_a_real_model_answers() {
    let Some(real) = testenv::real_model().await else { return };
    let control_plane = testenv::control_plane().await;
    let world = World::start(control_plane, "quickstart.yaml").await;
    let model: Model = serde_json::from_value(json!({
        "apiVersion": "foundry.flow.life/v1alpha1",
        "kind": "Model",
        "metadata": {"name": "local"},
        "spec": {
            "wireId": "local",
            "provider": "openaiCompatible",
            "baseUrl": real.base_url,
            "maxContextTokens": 4096,
        },
    }))
    .unwrap();
    world.create(model).await;
    let mut agent = World::quickstart_agent();
    agent.spec.model = Some("local".into());
    world.create(agent).await;

    eventually("the real model's tokens are counted", DEADLINE, || async {
        let usage = world.api.usage(AGENT).await.map_err(|error| error.to_string())?;
        let runs = world.api.list_runs(AGENT, None, None).await.map_err(|e| e.to_string())?;
        if usage.calls >= 2 && !runs.items.is_empty() { Ok(()) } else { Err(format!("{usage:?}")) }
    })
    .await;
    let view = world.until_state(AGENT, AgentState::Running).await;
    assert_eq!((view.generation, view.process_generation, world.pids().len()), (1, 1, 1));
    assert_whole(&world.log(AGENT).await.unwrap());
    world.end().await;
}
