use foundry_client::DesiredState;
use pretty_assertions::assert_eq;

use super::*;

fn is_wake(request: &Request) -> bool {
    user_turn(request).contains("You were woken at")
}

/// LOOP-26, LOOP-28
#[tokio::test(start_paused = true)]
async fn a_wake_is_handled_beside_an_evaluation_that_takes_long() {
    let harness = Harness::new(|_, request| {
        if is_wake(request) {
            return says("I told her.");
        }
        Answer::After(Duration::from_mins(5), Ok(reply(Some("Nothing is due."), &[])))
    });
    let mut wake = None;
    harness
        .lives(async {
            sleep(Duration::from_secs(5)).await;
            wake = Some(harness.api.wake("Is invoice 7 paid?"));
            sleep(Duration::from_secs(5)).await;
        })
        .await;
    let requests = harness.broker.requests();
    let woken = requests.iter().find(|request| is_wake(request)).unwrap();
    assert!(user_turn(woken).contains("Is invoice 7 paid?"));
    let state = harness.api.state();
    let run = state.runs.iter().find(|run| run.reason == "wake").unwrap();
    assert_eq!((run.wake_id, run.outcome.as_str()), (wake, "end_turn"));
    let record = serde_json::to_string(run).unwrap();
    assert!(!record.contains("invoice"), "no prompt text in a run record: {record}");
}

/// LOOP-28
#[tokio::test(start_paused = true)]
async fn a_wake_stays_pending_while_the_model_is_down_and_is_handled_once_it_is_back() {
    let harness = Harness::new(|number, request| {
        if is_wake(request) && number < 8 {
            return fails(ErrorKind::Server, 502, "bad gateway");
        }
        says("Done.")
    });
    harness.api.wake("hello");
    harness.lives_for(120).await;
    let state = harness.api.state();
    let handled = state.runs.iter().filter(|run| run.wake_id.is_some()).count();
    assert_eq!(handled, 1);
    assert!(state.runs.iter().any(|run| run.reason == "wake" && run.outcome == "failed"));
    assert!(state.wakes.is_empty());
}

/// LOOP-28
#[tokio::test(start_paused = true)]
async fn a_wake_that_the_model_can_never_take_does_not_come_back_for_ever() {
    let harness = Harness::new(|_, request| {
        if is_wake(request) {
            return fails(ErrorKind::BadRequest, 400, "content is not allowed");
        }
        says("Nothing is due.")
    });
    harness.api.wake("hello");
    harness.lives_for(60).await;
    let woken = harness.broker.requests().iter().filter(|request| is_wake(request)).count();
    assert_eq!(woken, 5, "a model set up wrongly has time to be mended");
    assert!(harness.api.state().wakes.is_empty());
    let given_up = harness.lines("error").into_iter().filter(|line| line.starts_with("gave up"));
    assert_eq!(given_up.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_agent_does_not_take_its_wakes() {
    let harness = Harness::idle();
    harness.api.state().agent.desired_state = DesiredState::Stopped;
    harness.api.wake("hello");
    harness.lives_for(60).await;
    assert_eq!(harness.called_at("poll inbox"), [] as [u64; 0]);
    assert_eq!(harness.api.state().wakes.len(), 1);
}

/// LOOP-28
#[tokio::test(start_paused = true)]
async fn a_stop_calls_off_the_wake_in_flight_leaves_its_record_and_the_wake_pending() {
    let harness = Harness::new(|_, request| {
        if is_wake(request) {
            return Answer::After(Duration::from_mins(5), Ok(reply(Some("Too late."), &[])));
        }
        says("Nothing is due.")
    });
    harness.api.wake("hello");
    harness.lives_for(10).await;
    assert!(harness.began.elapsed() < Duration::from_secs(11), "nobody waits for the model");
    let state = harness.api.state();
    let run = state.runs.iter().find(|run| run.reason == "wake").unwrap();
    assert_eq!((run.wake_id, run.outcome.as_str()), (None, "aborted"));
    assert_eq!(state.wakes.len(), 1);
}

/// LOOP-31
#[tokio::test(start_paused = true)]
async fn a_wake_that_waits_for_a_blocker_to_go_is_told_when_it_is_handled() {
    let harness = Harness::idle();
    harness.api.fail("list tools", 500, "no such table");
    harness.api.wake("hello");
    harness
        .lives(async {
            sleep(Duration::from_mins(2)).await;
            assert!(harness.called_at("poll inbox").len() > 60, "it is handed out again and again");
            harness.api.heal("list tools");
            sleep(Duration::from_mins(5)).await;
        })
        .await;
    assert_eq!(harness.lines("wake"), ["wake by person, recorded at 1970-01-01T00:00:00Z"]);
    assert!(harness.api.state().wakes.is_empty());
}
