use foundry_client::{DesiredState, Failure, SkillRef, Status};
use foundry_platform::fake;
use pretty_assertions::assert_eq;

use super::*;

/// Grants a tool that the catalog has and this harness cannot run.
fn grant_search(harness: &Harness) {
    let mut state = harness.api.state();
    state.tools.push(fake::tool("search"));
    state.harness.tools.push("search".to_owned());
    state.agent.tools.push("search".to_owned());
}

/// LOOP-29, LOOP-30, LOOP-31
#[tokio::test(start_paused = true)]
async fn a_tool_without_executor_stops_the_cycle_before_the_model_and_is_told_once() {
    let harness = Harness::idle();
    grant_search(&harness);
    harness.lives_for(620).await;
    assert_eq!(harness.asked_at(), [] as [u64; 0]);
    assert_eq!(harness.called_at("list tools"), [0, 300, 600], "looked at every five minutes");
    let [line] = harness.lines("error").try_into().unwrap();
    assert!(line.starts_with("tool search is selected, but this harness has no exec"), "{line}");
}

/// LOOP-03
#[tokio::test(start_paused = true)]
async fn what_an_agent_asks_for_and_does_not_get_is_told_once() {
    let harness = Harness::idle();
    {
        let mut state = harness.api.state();
        state.agent.tools = vec!["search".to_owned()];
        state.agent.skills = vec![SkillRef { name: "billing".to_owned(), version: None }];
    }
    harness.lives_for(46).await;
    assert_eq!(harness.asked_at(), [0, 15, 30, 45]);
    assert_eq!(
        harness.lines("warning"),
        [
            "tools are granted that the harness does not permit: search",
            "skills are attached that this harness cannot read: billing",
        ]
    );
}

/// LOOP-30
#[tokio::test(start_paused = true)]
async fn a_changed_agent_passes_the_gate_at_once() {
    let harness = Harness::idle();
    grant_search(&harness);
    harness
        .lives(async {
            sleep(Duration::from_secs(20)).await;
            harness.api.state().agent.tools.clear();
            sleep(Duration::from_secs(15)).await;
        })
        .await;
    assert_eq!(harness.asked_at(), [30]);
}

/// LOOP-29, LOOP-30
#[tokio::test(start_paused = true)]
async fn a_catalog_that_cannot_be_loaded_stops_the_cycle_before_the_model() {
    let harness = Harness::idle();
    harness.api.fail("list tools", 500, "no such table");
    harness.lives_for(100).await;
    assert_eq!(harness.asked_at(), [] as [u64; 0]);
    assert_eq!(harness.called_at("list tools"), [0]);
    let [line] = harness.lines("error").try_into().unwrap();
    assert!(line.starts_with("api list tools failed: HTTP 500: no such table"), "{line}");
}

/// LOOP-30
#[tokio::test(start_paused = true)]
async fn a_catalog_that_cannot_be_understood_is_not_read_again_in_each_cycle() {
    let harness = Harness::idle();
    let unreadable = Failure::Unreadable("missing field `items`".to_owned());
    harness.api.state().failing.insert("list tools", unreadable);
    harness.lives_for(310).await;
    assert_eq!(harness.called_at("list tools"), [0, 300]);
    let [line] = harness.lines("error").try_into().unwrap();
    assert!(line.starts_with("api list tools failed: unreadable answer: missing"), "{line}");
    assert!(line.ends_with("no cycle for 300 s unless it changes"), "{line}");
}

/// LOOP-32
#[tokio::test(start_paused = true)]
async fn a_stopped_agent_rests_whatever_is_pending_and_its_heart_goes_on() {
    let harness = Harness::idle();
    grant_search(&harness);
    harness
        .lives(async {
            sleep(Duration::from_secs(20)).await;
            harness.api.state().agent.desired_state = DesiredState::Completed;
            sleep(Duration::from_mins(10)).await;
        })
        .await;
    assert_eq!(harness.lines("rest"), ["does not think: the agent is stopped"]);
    assert_eq!(harness.called_at("list tools"), [0]);
    assert_eq!(harness.called_at("send heartbeat").len(), 21);
}

/// LOOP-03
#[tokio::test(start_paused = true)]
async fn an_agent_that_runs_again_thinks_again() {
    let harness = Harness::idle();
    harness.api.state().agent.status = Status::Expired;
    harness
        .lives(async {
            sleep(Duration::from_secs(20)).await;
            harness.api.state().agent.status = Status::Active;
            sleep(Duration::from_secs(20)).await;
        })
        .await;
    assert_eq!(harness.asked_at(), [30]);
    assert_eq!(harness.lines("rest"), ["does not think: the agent is expired", "thinks again"]);
}

/// LOOP-24
#[tokio::test(start_paused = true)]
async fn an_agent_it_may_not_read_is_asked_for_again_ever_more_slowly_and_told_once() {
    let harness = Harness::idle();
    harness.api.fail("get agent", 403, "not yours");
    harness
        .lives(async {
            sleep(Duration::from_secs(200)).await;
            harness.api.heal("get agent");
            sleep(Duration::from_mins(1)).await;
        })
        .await;
    assert_eq!(harness.called_at("get agent")[..6], [0, 15, 45, 105, 165, 225]);
    assert_eq!(harness.lines("error"), ["api get agent failed: HTTP 403: not yours"]);
    assert_eq!(harness.lines("api"), ["the api answers again"]);
    assert_eq!(harness.asked_at()[0], 225);
}

/// LOOP-03
#[tokio::test(start_paused = true)]
async fn a_long_pacing_of_the_provider_delays_the_next_cycle() {
    let harness = Harness::new(|number, _| match number {
        0 => Answer::Now(Err(LlmError {
            kind: ErrorKind::Limited,
            status: Some(429),
            message: "HTTP 429: usage limit reached".to_owned(),
            retry_after: Some(Duration::from_secs(100)),
        })),
        _ => says("Nothing is due."),
    });
    harness.lives_for(106).await;
    assert_eq!(harness.asked_at(), [0, 105]);
}

/// LOOP-03
#[tokio::test(start_paused = true)]
async fn a_wake_that_began_before_does_not_end_a_providers_pacing() {
    let harness = Harness::new(|number, _| match number {
        1 => Answer::Now(Err(LlmError {
            kind: ErrorKind::Limited,
            status: Some(429),
            message: "HTTP 429: usage limit reached".to_owned(),
            retry_after: Some(Duration::from_secs(100)),
        })),
        _ => says("Nothing is due."),
    });
    harness
        .lives(async {
            sleep(Duration::from_secs(14)).await;
            // The wake is past the gate when the evaluation at 15 hears of the pacing.
            harness.api.state().slow.insert("read thoughts", Duration::from_secs(3));
            harness.api.wake("hello");
            sleep(Duration::from_millis(500)).await;
            harness.api.state().slow.clear();
            sleep(Duration::from_secs(107)).await;
        })
        .await;
    assert_eq!(harness.asked_at(), [0, 15, 17, 120]);
}

/// LOOP-24
#[tokio::test(start_paused = true)]
async fn a_pacing_of_nothing_holds_up_no_cycle_and_is_not_told() {
    let harness = Harness::new(|_, _| {
        Answer::Now(Err(LlmError {
            kind: ErrorKind::BadRequest,
            status: Some(400),
            message: "HTTP 400: no".to_owned(),
            retry_after: Some(Duration::ZERO),
        }))
    });
    harness.lives_for(16).await;
    assert_eq!(harness.lines("error"), ["broker relay failed: HTTP 400: no"; 2]);
}
