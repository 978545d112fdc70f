//! An agent whose conversation outgrows its model's window.

use fakes::model::captured::Lineage;
use fakes::model::{Captured, ModelServer, Overflow, Reply, When, Window};
use foundry_client::{AgentState, LogLine};
use foundry_crds::Model;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use testenv::eventually;

use crate::world::{DEADLINE, World, assert_whole};

const AGENT: &str = "scout";
/// The window that the provider has, in tokens.
const WINDOW: u64 = 24_000;
/// How often each turn of the cycle looks its own agent up, which has much to say about
/// itself: together more than the window holds. No two turns make the same calls, which
/// would be taken for a circle.
const LOOKS: [usize; 4] = [3, 4, 5, 6];

/// How much of the window the catalog tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    All,
}

/// KERN-05, KERN-07
#[tokio::test(flavor = "multi_thread")]
async fn a_cycle_that_the_provider_finds_too_long_is_compacted_and_finishes() {
    let requests = outgrow(Told::Nothing).await;
    // The provider says so once, and then never again.
    let refused = requests.iter().filter(|request| request.1 > WINDOW).count();
    assert_eq!(refused, 1, "{requests:?}");
    assert!(requests.iter().any(|request| request.0 == Lineage::Stubbed), "{requests:?}");
}

/// KERN-05, CODE-39
#[tokio::test(flavor = "multi_thread")]
async fn a_cycle_that_would_outgrow_the_catalogs_window_is_compacted_before() {
    let requests = outgrow(Told::All).await;
    assert!(requests.iter().all(|request| request.1 <= WINDOW), "{requests:?}");
    assert!(requests.iter().any(|request| request.0 == Lineage::Stubbed), "{requests:?}");
}

/// Plays a cycle that reads more than the window holds; its requests, with how each
/// follows the one before and about how many tokens it has.
async fn outgrow(told: Told) -> Vec<(Lineage, u64)> {
    let control_plane = testenv::control_plane().await;
    let world = World::start(control_plane, "quickstart.yaml").await;
    let model = ModelServer::start().await;
    model.window(Window::new(WINDOW).says(Overflow::Vllm));
    model.on((When::any(), Reply::text("Nothing further.")));
    world.create(small(&model.url(), told)).await;
    let mut agent = World::quickstart_agent();
    agent.spec.model = Some("small".into());
    agent.spec.tools = vec!["get_agent".to_owned()];
    agent.spec.instructions = Some("Watch the tide at the third hour. ".repeat(140));
    world.create(agent).await;
    world.until_state(AGENT, AgentState::Running).await;
    let pid = world.until_new_process(None).await;
    model.script(LOOKS.map(look_up).into_iter().chain([Reply::text("The tides are known.")]));

    let ended = |line: &LogLine| line.event.message.contains("The tides are known.");
    world.until_logged(AGENT, "the end of its cycle", ended).await;
    let lines = world.log(AGENT).await.unwrap();
    let compacted = lines.iter().filter(|line| line.event.kind == "compaction").count();
    assert!(compacted >= 1, "no line says that it was compacted");
    let turns = i64::try_from(LOOKS.len()).unwrap() + 1;
    eventually("the run is recorded", DEADLINE, || async {
        let runs = world.api.list_runs(AGENT, None, None).await.map_err(|e| e.to_string())?;
        let run = runs.items.iter().find(|run| i64::from(run.turns) == turns);
        match run.map(|run| run.outcome.as_str()) {
            Some("end_turn") => Ok(()),
            other => Err(format!("{other:?} of {:?}", runs.items)),
        }
    })
    .await;
    assert_eq!(world.pids(), [pid]);
    assert_whole(&lines);
    model.finish().unwrap();
    let requests = model.requests();
    let seen = |request: &Captured| (request.lineage, request.raw.len() as u64 / 4);
    let seen = requests.iter().map(seen).collect();
    world.end().await;
    seen
}

/// One turn that looks so often.
fn look_up(times: usize) -> Reply {
    let itself = || json!({"agent_id": AGENT});
    (1..times)
        .fold(Reply::call("get_agent", itself()), |reply, _| reply.and_call("get_agent", itself()))
}

fn small(url: &str, told: Told) -> Model {
    let tokens = match told {
        Told::Nothing => Value::Null,
        Told::All => json!(WINDOW),
    };
    serde_json::from_value(json!({
        "apiVersion": "foundry.flow.life/v1alpha1",
        "kind": "Model",
        "metadata": {"name": "small"},
        "spec": {
            "wireId": "small",
            "provider": "openaiCompatible",
            "baseUrl": url,
            "maxContextTokens": tokens,
        },
    }))
    .unwrap()
}
