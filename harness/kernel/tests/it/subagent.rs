//! A run that starts runs: subagents over real HTTP (KERN-29 to KERN-31).

use std::sync::Arc;

use async_trait::async_trait;
use fakes::model::{Gate, Point, Reply, Usage, When};
use foundry_kernel::{
    Child, Control, Effect, Execute, Host, Settings, Spawn, Stop, Subagents, ToolError,
};
use foundry_llm::{Transport, Wire};
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::{Map, Value, json};

use crate::scene::{HttpHost, Scene, tool};

struct OverHttp(Transport);

impl Spawn for OverHttp {
    fn host(&self, child: &Child) -> Box<dyn Host> {
        Box::new(HttpHost::new(self.0.clone(), child.control.clone()))
    }
}

/// Reads the table.
struct Table;

#[async_trait]
impl Execute for Table {
    async fn execute(&self, _: Map<String, Value>) -> Result<String, ToolError> {
        Ok("On the 4th it is high at 16.".to_owned())
    }
}

/// A run that may read the table, note, and start subagents of the model `helper`.
async fn scene(wire: Wire) -> Scene {
    let mut scene = Scene::new(wire, []).await;
    let read = Arc::new(tool("read_table", Effect::Read, Table));
    let write = Arc::new(tool("erase", Effect::Write, Table));
    let helper = Settings::new("helper", "You help with tides.");
    let parents = [Arc::clone(&read), Arc::clone(&write)];
    let spawn = Arc::new(OverHttp(scene.transport()));
    let subagents = Subagents::new(helper, &parents, spawn);
    scene.tools = vec![read, write, Arc::new(subagents.tool())];
    scene
}

fn spawn(kind: &str, prompt: &str) -> Reply {
    Reply::call("spawn_agent", json!({"subagent_type": kind, "prompt": prompt}))
}

fn of(model: &str) -> When {
    When::any().model(model)
}

/// KERN-29, KERN-30: a child has the subagent model and read-only tools, its answer is the
/// call's result, and what it used is its parent's.
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn a_subagent_reads_and_answers(#[case] wire: Wire) {
    let scene = scene(wire).await;
    let used = |output| Usage { input: 100, output, ..Usage::default() };
    let parent = [
        spawn("explore", "When is it high on the 4th?").with_usage(used(1)),
        Reply::text("At 16.").with_usage(used(1)),
    ];
    let child = [
        Reply::call("read_table", json!({})).with_usage(used(10)),
        Reply::text("High at 16, says the table.").with_usage(used(10)),
    ];
    scene.model.script_for(of("auto"), parent);
    scene.model.script_for(of("helper"), child);
    let outcome = scene.play().await.outcome;
    assert_eq!((outcome.stop.clone(), outcome.turns), (Stop::EndTurn, 2));
    assert_eq!((outcome.usage.input_tokens, outcome.usage.output_tokens), (400, 22));
    scene.model.finish().unwrap();
    let requests = scene.model.requests();
    let child = requests.iter().find(|request| request.model() == "helper").unwrap();
    assert_eq!(child.tools(), ["read_table"], "no writes, and none that start others");
    let parents: Vec<_> = requests.iter().filter(|request| request.model() == "auto").collect();
    assert!(parents[1].tool_results()[0].content.contains("High at 16, says the table."));
}

/// KERN-11, KERN-30: subagents of one turn run at the same time: the first one's reply is
/// held until the second one has asked.
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn subagents_of_one_turn_run_together(#[case] wire: Wire) {
    let scene = scene(wire).await;
    let gate = Gate::new();
    let both = spawn("explore", "Look at the first page.").and_call(
        "spawn_agent",
        json!({"subagent_type": "explore", "prompt": "And at the second."}),
    );
    scene.model.script_for(of("auto"), [both, Reply::text("Both are read.")]);
    let first = Reply::text("The first.").held(Point::Text, &gate);
    scene.model.script_for(of("helper").message("the first page"), [first]);
    scene.model.script_for(of("helper").message("the second"), [Reply::text("The second.")]);
    let let_go = async {
        gate.reached().await;
        while scene.model.requests().iter().filter(|one| one.model() == "helper").count() < 2 {
            scene.model.request(scene.model.requests().len() + 1).await;
        }
        gate.open();
    };
    let (played, ()) = tokio::join!(scene.play(), let_go);
    assert_eq!(played.outcome.text(), Some("Both are read."));
    scene.model.finish().unwrap();
}

/// KERN-31
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn a_verdict_must_cite_what_was_read(#[case] wire: Wire) {
    let scene = scene(wire).await;
    let verdict = |quote: &str| {
        Reply::call(
            "structured_output",
            json!({
                "verdict": "not_refuted",
                "reasons": ["The table says the same."],
                "citations": [{"tool": "read_table", "quote": quote}],
            }),
        )
    };
    scene.model.script_for(
        of("auto"),
        [spawn("verify", "It is high at 16 on the 4th."), Reply::text("Verified.")],
    );
    let child = [
        Reply::call("read_table", json!({})),
        verdict("it is low at 9"),
        verdict("it is high at 16"),
    ];
    scene.model.script_for(of("helper"), child);
    let outcome = scene.play().await.outcome;
    assert_eq!(outcome.text(), Some("Verified."));
    scene.model.finish().unwrap();
    let requests = scene.model.requests();
    let refused: Vec<_> = requests.iter().filter(|request| request.model() == "helper").collect();
    assert!(
        refused[2].last_user_text().contains("it is low at 9"),
        "{}",
        refused[2].last_user_text()
    );
    let last = requests.last().unwrap().tool_results();
    assert!(last[0].content.contains("it is high at 16"), "{last:?}");
}

/// KERN-30: an interrupt of the parent ends its child with it.
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn a_subagent_ends_with_the_step_of_its_parent(#[case] wire: Wire) {
    let scene = scene(wire).await;
    let gate = Gate::new();
    scene.model.script_for(of("auto"), [spawn("explore", "Look.")]);
    scene.model.script_for(of("helper"), [Reply::text("The first.").held(Point::Text, &gate)]);
    let interrupt = async {
        gate.reached().await;
        Control::interrupt(&scene.control);
    };
    let (played, ()) = tokio::join!(scene.play(), interrupt);
    assert_eq!(played.outcome.stop, Stop::Interrupted);
    scene.model.finish().unwrap();
}
