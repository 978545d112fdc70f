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
const WINDOW: u64 = 20_000;
/// Memories, each looked up in a call of its own, and how many calls a turn makes.
const MEMORIES: usize = 20;
const CALLS: usize = 4;

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
    world.create(agent).await;
    world.until_state(AGENT, AgentState::Running).await;
    for number in 0..MEMORIES {
        let text = format!("tide{number} {}", "was seen at the third hour ".repeat(200));
        world.api.remember(AGENT, &text).await.unwrap();
    }
    let pid = world.until_new_process(None).await;
    let turns = MEMORIES / CALLS;
    model.script((0..turns).map(look_up).chain([Reply::text("The tides are known.")]));

    let ended = |line: &LogLine| line.event.message.contains("The tides are known.");
    world.until_logged(AGENT, "the end of its cycle", ended).await;
    let lines = world.log(AGENT).await.unwrap();
    let compacted = lines.iter().filter(|line| line.event.kind == "compaction").count();
    assert!(compacted >= 1, "no line says that it was compacted");
    let turns = i64::try_from(turns).unwrap() + 1;
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

/// One turn: several memories are looked up.
fn look_up(turn: usize) -> Reply {
    let query = |number: usize| json!({"query": format!("tide{number}"), "limit": 1});
    let first = turn * CALLS;
    let more = first + 1..first + CALLS;
    more.fold(Reply::call("recall", query(first)), |reply, number| {
        reply.and_call("recall", query(number))
    })
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
