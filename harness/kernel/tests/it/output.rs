//! What a run ends with, and what it may call on the way: structured output (KERN-28) and
//! deferred tools (KERN-08).

use std::sync::Arc;

use async_trait::async_trait;
use fakes::model::Reply;
use foundry_kernel::{Effect, EmptyReply, Execute, Failure, OutputSchema, Repeat, Stop, ToolError};
use foundry_llm::Wire;
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::{Map, Value, json};

use crate::scene::{Scene, tool};

async fn wanting(wire: Wire, script: impl IntoIterator<Item = Reply>) -> Scene {
    let mut scene = Scene::new(wire, script).await;
    let schema = json!({
        "type": "object",
        "properties": {"high": {"type": "integer", "minimum": 0, "maximum": 23}},
        "required": ["high"],
        "additionalProperties": false,
    });
    scene.settings.output = Some(OutputSchema::new(schema).unwrap());
    scene
}

/// KERN-28
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn a_run_ends_with_the_value_after_one_nudge_and_one_mismatch(#[case] wire: Wire) {
    let script = [
        Reply::text("It is high at 16."),
        Reply::call("structured_output", json!({"high": 61})),
        Reply::call("note", json!({"text": "16, not 61"}))
            .and_call("structured_output", json!({"high": 16})),
    ];
    let scene = wanting(wire, script).await;
    let outcome = scene.play().await.outcome;
    assert_eq!(outcome.stop, Stop::EndTurn);
    assert_eq!(outcome.output, Some(json!({"high": 16})));
    assert_eq!((outcome.turns, scene.noted()), (3, 1));
    scene.model.finish().unwrap();
    let requests = scene.model.requests();
    assert!(requests[0].tools().contains(&"structured_output".to_owned()));
    assert!(requests[1].last_user_text().contains("structured_output"), "the nudge");
    assert!(requests[2].tool_results()[0].content.contains("high"), "the mismatch by name");
}

/// KERN-28
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn a_run_without_a_value_fails_after_one_nudge(#[case] wire: Wire) {
    let scene = wanting(wire, [Reply::text("High at 16."), Reply::text("As I said.")]).await;
    let outcome = scene.play().await.outcome;
    assert_eq!(outcome.stop, Stop::Failed(Failure::NoOutput));
    scene.model.finish().unwrap();
}

struct Says(&'static str);

#[async_trait]
impl Execute for Says {
    async fn execute(&self, _: Map<String, Value>) -> Result<String, ToolError> {
        Ok(self.0.to_owned())
    }
}

/// KERN-08: a deferred tool's schema is in no request until it was found, and then it is
/// behind all others, so that what was cached stays so.
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn a_deferred_tool_is_found_and_called(#[case] wire: Wire) {
    let script = [
        Reply::call("moon_phase", json!({})),
        Reply::call("ToolSearch", json!({"query": "moon"})),
        Reply::call("moon_phase", json!({})),
        Reply::text("The moon is full."),
    ];
    let mut scene = Scene::new(wire, script).await;
    let moon = tool("moon_phase", Effect::Read, Says("full")).deferred();
    let weather = tool("weather", Effect::Read, Says("rain")).deferred();
    scene.tools = vec![Arc::new(moon), Arc::new(weather)];
    let outcome = scene.play().await.outcome;
    assert_eq!(outcome.stop, Stop::EndTurn);
    scene.model.finish().unwrap();
    let requests = scene.model.requests();
    let offered: Vec<Vec<String>> = requests.iter().map(fakes::model::Captured::tools).collect();
    assert_eq!(offered[0], ["note", "ToolSearch"]);
    assert_eq!(offered[1], offered[0]);
    assert_eq!(offered[2], ["note", "ToolSearch", "moon_phase"]);
    assert_eq!(offered[3], offered[2]);
    assert!(!requests[0].raw.contains("Does moon_phase"));
    assert!(requests[1].tool_results()[0].content.contains("ToolSearch"), "how to find it");
    assert_eq!(requests[3].tool_results()[0].content, "full");
}

/// A model that has nothing to say is asked once, and where nobody waits it has ended.
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn an_empty_reply_is_no_answer_where_somebody_waits_for_one(#[case] wire: Wire) {
    let nothing = || Reply::empty(fakes::model::Stop::Fitting);
    let mut scene = Scene::new(wire, [nothing(), Reply::text("High at 16.")]).await;
    scene.settings.empty = EmptyReply::AskOnce;
    assert_eq!(scene.play().await.outcome.text(), Some("High at 16."));
    scene.model.finish().unwrap();

    let mut scene = Scene::new(wire, [nothing(), nothing()]).await;
    scene.settings.empty = EmptyReply::AskOnce;
    assert_eq!(scene.play().await.outcome.stop, Stop::Failed(Failure::Empty));
    scene.model.finish().unwrap();

    // LOOP-06
    let scene = Scene::new(wire, [nothing()]).await;
    assert_eq!(scene.play().await.outcome.stop, Stop::EndTurn);
    scene.model.finish().unwrap();
}

/// One error under changing arguments is told to the model before it ends the run.
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn a_model_that_runs_into_the_same_error_is_told_and_then_stopped(#[case] wire: Wire) {
    let fails = |n: usize| Reply::call("note", json!({"text": "", "try": n}));
    let mut scene = Scene::new(wire, (0..3).map(fails)).await;
    scene.settings.repeat = Repeat { hint_after: 2, halt_after: 3 };
    let outcome = scene.play().await.outcome;
    let Stop::Failed(Failure::Repeating { what }) = &outcome.stop else {
        panic!("in a circle: {:?}", outcome.stop)
    };
    assert_eq!(what, "note failed 3 times with: a note needs a text");
    scene.model.finish().unwrap();
    let hint = scene.model.requests()[2].last_user_text();
    assert!(hint.contains("a note needs a text"), "{hint}");
}
