//! How a cycle uses its model, and what an agent does that has none.

use foundry_client::{ModelView, Provider as Listed};
use foundry_platform::fake;
use pretty_assertions::assert_eq;

use super::*;

const MISSING: &str = "there is no Model for auto; create a Model with provider openai";

fn without_model(_: usize, _: &Request) -> Answer {
    fails(ErrorKind::BadRequest, 404, MISSING)
}

/// BIND-10
#[tokio::test(start_paused = true)]
async fn an_agent_without_a_model_has_that_reason_as_its_answer_and_says_it_once() {
    let harness = Harness::new(without_model);
    harness.api.state().models.clear();
    harness.lives_for(400).await;
    // The first look for a model that may be on its way takes a moment.
    let asked = harness.asked_at();
    assert_eq!(asked.len(), 2, "asked again after five minutes: {asked:?}");
    let [line] = harness.lines("error").try_into().unwrap();
    assert!(line.starts_with(&format!("broker relay failed: HTTP 404: {MISSING}")), "{line}");
    assert!(line.ends_with("no cycle for 300 s unless the agent or its model changes"), "{line}");
    let outcomes: Vec<String> =
        harness.api.state().runs.iter().map(|run| run.outcome.clone()).collect();
    assert_eq!(outcomes, ["no_usable_model"; 2]);
    let turn = harness.broker.requests().pop().unwrap();
    let concluded = format!("concluded: The run could not go on: HTTP 404: {MISSING}");
    assert!(user_turn(&turn).contains(&concluded), "{}", user_turn(&turn));
}

/// BIND-10
#[tokio::test(start_paused = true)]
async fn a_model_that_comes_is_used_in_the_next_cycle() {
    let harness = Harness::new(|number, request| match number {
        0 => without_model(number, request),
        _ => says("Nothing is due."),
    });
    harness.api.state().models.clear();
    harness
        .lives(async {
            sleep(Duration::from_secs(50)).await;
            harness.api.state().models = vec![fake::model("gpt-5-mini", Listed::OpenAi)];
            sleep(Duration::from_secs(30)).await;
        })
        .await;
    assert_eq!(harness.asked_at().len(), 3, "{:?}", harness.asked_at());
    assert_eq!(harness.lines("error").len(), 1);
}

/// BIND-10
#[tokio::test(start_paused = true)]
async fn a_wake_waits_for_a_model_that_can_be_used() {
    let harness = Harness::new(|number, request| match number {
        0 => without_model(number, request),
        _ => says("Done."),
    });
    harness.api.state().models.clear();
    harness.api.wake("hello");
    harness
        .lives(async {
            sleep(Duration::from_mins(2)).await;
            assert_eq!(harness.api.state().wakes.len(), 1, "nobody wants it lost");
            harness.api.state().models = vec![fake::model("gpt-5-mini", Listed::OpenAi)];
            sleep(Duration::from_mins(1)).await;
        })
        .await;
    assert!(harness.api.state().wakes.is_empty());
}

/// CODE-41, CODE-42
#[tokio::test(start_paused = true)]
async fn an_effort_is_sent_where_the_models_row_lists_it_and_told_once_where_it_does_not() {
    let mut harness = Harness::idle();
    harness.model.reasoning_effort = Some("high".to_owned());
    harness
        .lives(async {
            sleep(Duration::from_secs(16)).await;
            let model = fake::model("gpt-5-mini", Listed::OpenAi);
            let reasoning_efforts = vec!["low".to_owned(), "high".to_owned()];
            harness.api.state().models = vec![ModelView { reasoning_efforts, ..model }];
            sleep(Duration::from_secs(15)).await;
        })
        .await;
    let sent: Vec<_> =
        harness.broker.requests().into_iter().map(|request| request.reasoning_effort).collect();
    assert_eq!(sent, [None, None, Some("high".to_owned())]);
    let [line] = harness.lines("model").try_into().unwrap();
    assert!(line.starts_with("reasoning effort high is not sent"), "{line}");
}

/// CODE-39, CODE-40
#[tokio::test(start_paused = true)]
async fn the_gauge_is_told_at_each_change_and_by_the_heartbeat() {
    let mut harness = Harness::idle();
    harness.model.context_tokens = Some(8_000);
    harness.lives_for(46).await;
    assert_eq!(harness.asked_at(), [0, 15, 30, 45]);
    let told = harness.lines("context");
    assert!(told.windows(2).all(|pair| pair[0] != pair[1]), "{told:?}");
    let beat = harness.api.state().beats.last().copied().unwrap();
    let percent = beat.context_percent.unwrap();
    // Some 1,000 tokens of 8,000, as the provider counted.
    assert!((8..30).contains(&percent), "{percent} %");
    assert!(told.contains(&format!("{percent} % of the model's window is used")), "{told:?}");
}
