//! A conversation that outgrows its model's window comes to a finished turn (KERN-05).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use fakes::model::{Captured, Lineage, ModelServer, Overflow, Reply, When, Window};
use foundry_kernel::{Effect, Entry, Execute, Failure, Limits, Settings, Stage, Stop, ToolError};
use foundry_llm::Wire;
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::{Map, Value, json};

use crate::scene::{Scene, tool};

const SUMMARY: &str = "## Standing goal\nNote what the table says.\n\n## Rules in force\nnone\n\n\
    ## Done\nThe first pages are read.\n\n## In progress\nThe table.\n\n## Exact next action\n\
    Read the next page.\n\n## Files\nnone\n\n## Decisions\nnone\n\n## Failed checks\nnone\n";

/// Gives the next page of the table, each as long as this.
struct Pages {
    given: AtomicUsize,
    all: usize,
    length: usize,
}

#[async_trait]
impl Execute for Pages {
    async fn execute(&self, _: Map<String, Value>) -> Result<String, ToolError> {
        let page = self.given.fetch_add(1, Ordering::SeqCst) + 1;
        let end = if page == self.all { " The table ends here." } else { "" };
        let tides = format!("high at {page}; ").repeat(self.length / 12);
        Ok(format!("Page {page}. {tides}{end}"))
    }
}

/// A model that reads the table to its end, saying so much at each page.
async fn reading(wire: Wire, all: usize, length: usize, says: &str) -> Scene {
    let mut scene = Scene::new(wire, []).await;
    let pages = Pages { given: AtomicUsize::new(0), all, length };
    scene.tools.push(Arc::new(tool("next_page", Effect::Write, pages)));
    scene.settings.limits = Limits { max_turns: 100, ..Limits::default() };
    scene.settings.max_output_tokens = 500;
    let next = Reply::call("next_page", json!({}));
    let next =
        if says.is_empty() { next } else { Reply::text(says).and_call("next_page", json!({})) };
    scene.model.on((When::any().last_user("Fill in this form"), Reply::text(SUMMARY)));
    scene
        .model
        .on((When::any().result_contains("The table ends here"), Reply::text("All is noted.")));
    scene.model.on((When::any(), next));
    scene
}

fn summaries(model: &ModelServer) -> Vec<Captured> {
    let is_summary = |request: &Captured| request.last_user_text().contains("Fill in this form");
    model.requests().into_iter().filter(is_summary).collect()
}

/// KERN-05, KERN-07: whatever the provider's words, an overflow in the middle of a run is
/// answered by a smaller request, no retry is spent, and nothing of the run is lost.
#[rstest]
#[tokio::test]
async fn a_run_ends_its_turn_after_an_overflow_in_any_wording(
    #[values(Wire::Anthropic, Wire::OpenAi)] wire: Wire,
) {
    for wording in Overflow::ALL {
        let mut scene = reading(wire, 10, 3000, "").await;
        scene.settings.ladder.retries = 0;
        scene.model.window(Window::new(6_000).says(wording));
        let played = scene.play().await;
        assert_eq!(played.outcome.stop, Stop::EndTurn, "{wording:?}");
        assert_eq!(played.outcome.text(), Some("All is noted."), "{wording:?}");
        assert_eq!(played.retried, [], "{wording:?}");
        assert!(!played.compacted.is_empty(), "{wording:?}");
        let pages = format!("{:?}", played.outcome.entries);
        assert!((1..=10).all(|page| pages.contains(&format!("Page {page}. "))), "{wording:?}");
        scene.model.finish().unwrap();
    }
}

/// KERN-05, CODE-39: by its own measure, before the provider has anything to refuse.
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn a_run_that_knows_its_window_never_overflows_it(#[case] wire: Wire) {
    let mut scene = reading(wire, 24, 3000, "").await;
    scene.settings.context_window = 16_000;
    scene.model.window(Window::new(16_000));
    let played = scene.play().await;
    assert_eq!(played.outcome.stop, Stop::EndTurn);
    assert_eq!(played.compacted.first(), Some(&Stage::Micro));
    let refused = scene.model.requests().len() - summaries(&scene.model).len();
    assert_eq!(refused, 24 + 1, "one request a turn and none refused");
    scene.model.finish().unwrap();
}

/// KERN-04, KERN-05: what the model itself said cannot be stubbed, so it sums it up: by a
/// one-shot call, with the same tools and system prompt.
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn a_summary_is_a_one_shot_call_and_turns_are_streams(#[case] wire: Wire) {
    let said = "I have read this page with care. ".repeat(120);
    let mut scene = reading(wire, 16, 100, &said).await;
    scene.settings.context_window = 10_000;
    scene.model.window(Window::new(10_000));
    let played = scene.play().await;
    assert_eq!(played.outcome.stop, Stop::EndTurn);
    assert!(played.compacted.contains(&Stage::Summary), "{:?}", played.compacted);
    let summaries = summaries(&scene.model);
    assert!(!summaries.is_empty());
    let requests = scene.model.requests();
    for request in &requests {
        let is_summary = request.last_user_text().contains("Fill in this form");
        assert_eq!(request.streams(), !is_summary);
        assert_eq!(request.tools(), requests[0].tools());
        assert_eq!(request.system(), requests[0].system());
    }
    let folded = requests.iter().any(|request| request.lineage == Lineage::Folded);
    assert!(folded, "the model went on from the summary");
    let folds = played.outcome.entries.iter().filter(|entry| matches!(entry, Entry::Fold { .. }));
    assert!(folds.count() > 0);
    scene.model.finish().unwrap();
}

/// A prompt that is cut without a word shows in the nothing that comes of it.
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn an_overflow_that_nobody_speaks_of_is_seen_by_its_empty_reply(#[case] wire: Wire) {
    let mut scene = reading(wire, 24, 3000, "").await;
    scene.settings.context_window = 18_000;
    scene.model.window(Window::new(15_500).empty_with_length());
    let played = scene.play().await;
    assert_eq!(played.outcome.stop, Stop::EndTurn);
    assert_eq!(played.outcome.text(), Some("All is noted."));
    assert!(!played.compacted.is_empty());
    scene.model.finish().unwrap();
}

/// KERN-05: a typed end with sizes, when nothing helps.
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn a_window_that_is_too_small_for_the_task_ends_the_run_with_the_sizes(#[case] wire: Wire) {
    let mut scene = Scene::new(wire, []).await;
    let system = "Keep to the rules of the harbour. ".repeat(400);
    scene.settings = Settings { system, ..scene.settings };
    scene.model.window(Window::new(2_000));
    let played = scene.play().await;
    let Stop::Failed(Failure::ContextTooSmall { needed, window }) = played.outcome.stop else {
        panic!("too small: {:?}", played.outcome.stop)
    };
    assert!(needed > window && window <= 2_000, "{needed} of {window}");
    assert!(scene.model.requests().len() <= 3, "it does not try without end");
    scene.model.finish().unwrap();
}
