//! A model that is gone for good, and another that takes over.

use fakes::model::{Captured, Pacing, Reply, When, Wire};
use pretty_assertions::assert_eq;

use super::place::{Place, commit, edit, finish, plan};

/// Away, and in no hurry to say when it is back: so that the test is not either.
fn away() -> Reply {
    Reply::overloaded(529).paced(Pacing::Milliseconds(1))
}

fn asked<'a>(requests: &'a [Captured], model: &str) -> Vec<&'a Captured> {
    requests.iter().filter(|request| request.body["model"] == model).collect()
}

/// KERN-18, KERN-42
#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_goes_away_in_the_middle_is_asked_six_times_more_and_another_takes_over() {
    let place = Place::new().await;
    let of = |model| When::any().model(model);
    // The first thinks and signs it, which the other must never see.
    let edit = Reply::thinking("It says too little.").and_call(
        "edit_file",
        serde_json::json!({"path": "README.md", "old_text": "Notes.", "new_text": "Many notes."}),
    );
    place.model.script_for(of("first"), [plan(), edit]);
    place.model.on((of("first"), away()));
    place.model.script_for(of("second"), [commit(), finish()]);
    let url = place.model.url();
    let ran = place
        .run(&[
            "--model",
            "anthropic/first",
            "--fallback-model",
            "openai/second",
            "--fallback-base-url",
            &url,
        ])
        .await;
    assert_eq!(ran.status, Some(0), "{}", ran.said);
    place.model.finish().unwrap();

    let requests = place.model.requests();
    let (first, second) = (asked(&requests, "first"), asked(&requests, "second"));
    assert_eq!((first.len(), second.len()), (2 + 7, 2));
    assert!(second.iter().all(|request| request.wire == Wire::OpenAi));
    assert!(second.iter().all(|request| !request.raw.contains("It says too little.")));
    assert!(requests[requests.len() - 2..].iter().all(|request| request.body["model"] == "second"));
    let told = "model second takes over from first: broker relay failed: HTTP 529: ";
    assert_eq!(ran.said.matches(told).count(), 1, "{}", ran.said);
    assert!(ran.said.contains("Overloaded"), "{}", ran.said);
}

/// KERN-19
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_the_request_itself_is_neither_repeated_nor_handed_to_another_model() {
    let place = Place::new().await;
    let words = "tool_choice: unknown value";
    place.model.script([Reply::failure(400, "invalid_request_error", words)]);
    let arguments = ["--model", "openai/first", "--fallback-model", "openai/second"];
    let url = place.model.url();
    let ran = place.run(&[&arguments[..], &["--fallback-base-url", &url]].concat()).await;
    assert_eq!(ran.status, Some(1), "{}", ran.said);
    assert!(ran.said.contains(words), "{}", ran.said);
    assert_eq!(place.model.requests().len(), 1);
}

/// KERN-42
#[tokio::test(flavor = "multi_thread")]
async fn without_another_model_the_run_ends_with_the_words_of_the_one() {
    let place = Place::new().await;
    place.model.on((When::any(), away()));
    let ran = place.run(&["--model", "openai/first"]).await;
    assert_eq!(ran.status, Some(1), "{}", ran.said);
    for part in ["HTTP 529", "Overloaded", "first"] {
        assert!(ran.said.contains(part), "{part} is not in {}", ran.said);
    }
    assert_eq!(place.model.requests().len(), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_needs_no_other_model_does_not_ask_it() {
    let place = Place::new().await;
    place.model.script_for(When::any().model("first"), [plan(), edit(), commit(), finish()]);
    let url = place.model.url();
    let arguments = ["--model", "anthropic/first", "--fallback-model", "openai/second"];
    let ran = place.run(&[&arguments[..], &["--fallback-base-url", &url]].concat()).await;
    assert_eq!(ran.status, Some(0), "{}", ran.said);
    place.model.finish().unwrap();
    assert!(!ran.said.contains("takes over"), "{}", ran.said);
}
