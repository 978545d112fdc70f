//! What a run does when the model or the way to it fails.

use fakes::model::{Break, Pacing, Point, Reply, Stop as ScriptedStop, Strict};
use foundry_kernel::{Failure, Stop};
use foundry_llm::{ErrorKind, Wire};
use jiff::SignedDuration;
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;

use crate::scene::Scene;

/// KERN-19: each of these heals on the same model, and no tool is run twice for it.
#[rstest]
#[case(Reply::failure(500, "server_error", "it broke"), ErrorKind::Server)]
#[case(Reply::failure(502, "bad_gateway", "no upstream"), ErrorKind::Server)]
#[case(Reply::overloaded(529), ErrorKind::Overloaded)]
#[case(Reply::call("note", json!({"text": "a"})).broken(Point::Arguments, Break::Silence), ErrorKind::Stalled)]
#[case(Reply::text("half a").broken(Point::Text, Break::Silence), ErrorKind::Stalled)]
#[case(Reply::text("half a").broken(Point::Text, Break::Close), ErrorKind::Broken)]
#[case(Reply::empty(ScriptedStop::Missing), ErrorKind::NoCompletion)]
#[tokio::test]
async fn what_fails_in_passing_is_asked_again(
    #[values(Wire::Anthropic, Wire::OpenAi)] wire: Wire,
    #[case] fault: Reply,
    #[case] kind: ErrorKind,
) {
    let note = || Reply::call("note", json!({"text": "high at 4"}));
    let scene = Scene::new(wire, [fault, note(), Reply::text("Noted.")]).await.impatient();
    let played = scene.play().await;
    assert_eq!(played.outcome.stop, Stop::EndTurn);
    assert_eq!(played.retried, [kind]);
    assert_eq!((played.outcome.turns, scene.noted()), (2, 1));
    scene.model.finish().unwrap();
    let sent = scene.sent();
    assert_eq!(sent[0], sent[1], "the retry is the same request");
}

/// KERN-18
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn a_limited_call_waits_as_long_as_the_server_says(#[case] wire: Wire) {
    let paced = Reply::limited(Pacing::RetryAfter("77".to_owned()));
    let scene = Scene::new(wire, [paced, Reply::text("Now.")]).await;
    let played = scene.play().await;
    assert_eq!(played.outcome.stop, Stop::EndTurn);
    assert_eq!(played.waited, SignedDuration::from_secs(77));
    scene.model.finish().unwrap();
}

/// KERN-17, KERN-19
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn a_bad_request_ends_the_run_with_the_providers_words(#[case] wire: Wire) {
    let refusal = Reply::failure(400, "invalid_request_error", "temperature is out of range");
    let scene = Scene::new(wire, [refusal]).await;
    let played = scene.play().await;
    let Stop::Failed(Failure::Model(error)) = played.outcome.stop else {
        panic!("a failure of the model: {:?}", played.outcome.stop)
    };
    assert_eq!((error.kind, error.status), (ErrorKind::BadRequest, Some(400)));
    assert!(error.message.contains("temperature is out of range"), "{}", error.message);
    assert_eq!(played.retried, []);
    scene.model.finish().unwrap();
}

/// KERN-18
#[tokio::test]
async fn a_model_that_stays_down_is_given_up_after_six_retries() {
    let down = || Reply::failure(503, "server_error", "down for repairs");
    let scene = Scene::new(Wire::Anthropic, std::iter::repeat_with(down).take(7)).await;
    let played = scene.play().await;
    assert!(matches!(played.outcome.stop, Stop::Failed(Failure::Model(_))));
    assert_eq!(played.retried, [ErrorKind::Server; 6]);
    scene.model.finish().unwrap();
}

/// A server that takes a request in another form only is asked in that form at once, and
/// from then on.
#[tokio::test]
async fn a_demand_for_another_form_is_met_at_once_and_remembered() {
    let note = Reply::call("note", json!({"text": "high at 4"}));
    let mut scene = Scene::new(Wire::OpenAi, [note, Reply::text("Noted.")]).await;
    scene.settings.temperature = Some(0.2);
    scene.model.strict(Strict::default().refusing("temperature"));
    let played = scene.play().await;
    assert_eq!(played.outcome.stop, Stop::EndTurn);
    assert_eq!(played.retried, [ErrorKind::Dialect]);
    assert_eq!(played.waited, SignedDuration::ZERO);
    scene.model.finish().unwrap();
    let requests = scene.model.requests();
    let asked: Vec<bool> =
        requests.iter().map(|one| one.body.get("temperature").is_some()).collect();
    assert_eq!(asked, [true, false, false]);
}
