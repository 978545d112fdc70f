//! A fallback model takes over (KERN-42).

use fakes::model::{Reply, When};
use foundry_kernel::{Failure, Stop};
use foundry_llm::{ErrorKind, Wire};
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;

use crate::scene::Scene;

async fn scene(wire: Wire) -> Scene {
    let mut scene = Scene::new(wire, []).await;
    scene.settings.model = "plan-a".to_owned();
    scene.settings.fallback_model = Some("plan-b".to_owned());
    scene.settings.ladder.retries = 2;
    scene
}

/// KERN-42, KERN-40: in the middle of a turn, with the first model's signed thinking left
/// out, which the second could not vouch for.
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn another_model_goes_on_where_the_first_stays_down(#[case] wire: Wire) {
    let scene = scene(wire).await;
    let first = Reply::thinking("The table is on page 4.").and_call("note", json!({"text": "a"}));
    let down = || Reply::failure(503, "server_error", "down for repairs");
    scene.model.script_for(When::any().model("plan-a"), [first, down(), down(), down()]);
    let second = Reply::thinking("Page 5 then.").and_call("note", json!({"text": "b"}));
    scene.model.script_for(When::any().model("plan-b"), [second, Reply::text("Two notes.")]);
    let played = scene.play().await;
    assert_eq!((played.outcome.stop.clone(), played.outcome.turns), (Stop::EndTurn, 3));
    assert_eq!(played.outcome.text(), Some("Two notes."));
    assert_eq!(played.fell_back, [("plan-a".to_owned(), "plan-b".to_owned())]);
    assert_eq!(played.retried, [ErrorKind::Server; 2]);
    assert_eq!(scene.noted(), 2);
    scene.model.finish().unwrap();
    let thoughts = |request: usize| {
        let messages = scene.model.requests()[request].messages();
        messages.into_iter().flat_map(|message| message.thinking).count()
    };
    let back = usize::from(wire == Wire::Anthropic);
    assert_eq!((thoughts(1), thoughts(4), thoughts(5)), (back, 0, back));
}

/// KERN-42: once, and not for what is wrong with the request.
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn a_request_that_is_wrong_is_not_tried_on_another_model(#[case] wire: Wire) {
    let scene = scene(wire).await;
    scene.model.script([Reply::failure(
        400,
        "invalid_request_error",
        "temperature is out of range",
    )]);
    let played = scene.play().await;
    assert!(matches!(played.outcome.stop, Stop::Failed(Failure::Model(_))));
    assert_eq!(played.fell_back, []);
    scene.model.finish().unwrap();
}
