//! What a run does when all goes well.

use fakes::model::{Reply, Stop as ScriptedStop};
use foundry_kernel::{Entry, Settled, Stop};
use foundry_llm::Wire;
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;

use crate::scene::Scene;

/// KERN-01, KERN-09
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn a_run_takes_notes_until_the_model_is_done(#[case] wire: Wire) {
    let scene = Scene::new(
        wire,
        [
            Reply::call("note", json!({"text": "high at 4"})),
            Reply::call("note", json!({"text": "low at 10"}))
                .and_call("note", json!({"text": "high at 16"})),
            Reply::text("Three notes are kept."),
        ],
    )
    .await;
    let outcome = scene.play().await.outcome;
    assert_eq!((outcome.stop.clone(), outcome.turns), (Stop::EndTurn, 3));
    assert_eq!(outcome.text(), Some("Three notes are kept."));
    assert_eq!(scene.noted(), 3);
    assert!(outcome.usage.total() > 0);
    scene.model.finish().unwrap();
}

/// LOOP-13's cache stays warm: each request begins with the messages of the one before.
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn each_request_begins_with_the_one_before(#[case] wire: Wire) {
    let turn = |n: usize| {
        Reply::text(format!("turn {n}"))
            .and_call("note", json!({"text": format!("tide {n}")}))
            .and_raw_call("note", "{\"text\": \"ha")
    };
    let script = (0..6).map(turn).chain([Reply::text("done")]);
    let scene = Scene::new(wire, script).await;
    assert_eq!(scene.play().await.outcome.stop, Stop::EndTurn);
    scene.model.finish().unwrap();
    let sent = scene.sent();
    assert_eq!(sent.len(), 7);
    for pair in sent.windows(2) {
        let [before, after] = pair else { panic!("a window of two") };
        assert_eq!(after[..before.len()], before[..]);
    }
}

/// LOOP-25
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn calls_that_fail_or_cannot_run_are_told_to_the_model(#[case] wire: Wire) {
    let scene = Scene::new(
        wire,
        [
            Reply::call("note", json!({"text": ""}))
                .and_call("forget", json!({}))
                .and_call("note", json!({"text": 4}))
                .and_raw_call("note", "not json"),
            Reply::text("Sorry."),
        ],
    )
    .await;
    assert_eq!(scene.play().await.outcome.stop, Stop::EndTurn);
    scene.model.finish().unwrap();
    let told: Vec<String> =
        scene.model.requests()[1].tool_results().into_iter().map(|told| told.content).collect();
    let expected = [
        "a note needs a text",
        "not executed: there is no tool \"forget\". There are: note",
        "not executed: the arguments do not fit the schema of note: text must be string",
        "not executed: the arguments are not a complete JSON object",
    ];
    assert_eq!(told.len(), expected.len());
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.starts_with(expected), "{told}");
    }
    assert_eq!(scene.noted(), 1);
}

#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn calls_of_a_reply_cut_by_the_output_limit_are_never_run(#[case] wire: Wire) {
    let cut = Reply::call("note", json!({"text": "whole"}))
        .and_raw_call("note", "{\"text\": \"cut of")
        .with_stop(ScriptedStop::Length);
    let scene = Scene::new(wire, [cut, Reply::text("Shorter, then.")]).await;
    let outcome = scene.play().await.outcome;
    assert_eq!(outcome.stop, Stop::EndTurn);
    assert_eq!(scene.noted(), 0);
    let Entry::Results { results } = &outcome.entries[2] else { panic!("results") };
    assert!(results.iter().all(|result| matches!(result.settled, Settled::NotRun { .. })));
    scene.model.finish().unwrap();
}

/// KERN-40
#[tokio::test]
async fn thinking_goes_back_unchanged_within_its_run_and_not_into_the_next() {
    let thought = Reply::thinking("The table is on page 4.");
    let script = [
        thought.and_call("note", json!({"text": "page 4"})),
        Reply::text("Noted."),
        Reply::text("Still noted."),
    ];
    let scene = Scene::new(Wire::Anthropic, script).await;
    let first = scene.play().await.outcome;
    let second = scene.play_after(first.entries).await.outcome;
    assert_eq!(second.stop, Stop::EndTurn);
    scene.model.finish().unwrap();
    let thinking = |request: usize| {
        let messages = scene.model.requests()[request].messages();
        messages.into_iter().flat_map(|message| message.thinking).collect::<Vec<_>>()
    };
    let back = thinking(1);
    assert_eq!(back.len(), 1);
    assert_eq!(back[0].0, "The table is on page 4.");
    assert!(!back[0].1.is_empty(), "with its signature");
    assert_eq!(thinking(2), []);
}
