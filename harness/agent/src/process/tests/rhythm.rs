use pretty_assertions::assert_eq;

use super::*;

/// A person changes the instructions, and the operator raises the start number.
fn edit(harness: &Harness) {
    let mut state = harness.api.state();
    state.agent.generation = 2;
    state.agent.instructions = "Watch the deliveries.".to_owned();
}

/// LOOP-02
#[tokio::test(start_paused = true)]
async fn the_first_event_is_harness_started_and_a_heartbeat_follows_at_once() {
    let harness = Harness::idle();
    harness.lives_for(95).await;
    let printed = harness.output.events();
    let first = printed.iter().take(2).map(|event| event.message.as_str()).collect::<Vec<_>>();
    assert_eq!(first, ["harness started", "alive"]);
    assert_eq!(harness.called_at("send heartbeat"), [0, 30, 60, 90]);
    assert_eq!(harness.api.messages()[0], "harness started");
}

/// LOOP-02
#[tokio::test(start_paused = true)]
async fn heartbeats_are_no_log_lines() {
    let harness = Harness::idle();
    harness.lives_for(95).await;
    assert_eq!(harness.lines("heartbeat"), [] as [&str; 0]);
}

/// LOOP-03
#[tokio::test(start_paused = true)]
async fn an_always_on_agent_evaluates_every_fifteen_seconds_and_reads_itself_each_time() {
    let harness = Harness::idle();
    harness.lives_for(46).await;
    assert_eq!(harness.asked_at(), [0, 15, 30, 45]);
    assert_eq!(harness.called_at("get agent"), [0, 15, 30, 45]);
    let request = &harness.broker.requests()[0];
    assert_eq!(request.model, "auto");
    assert!(request.system.contains("Watch the invoices."), "{}", request.system);
    let tools = request.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>();
    assert_eq!(tools, ["recall", "remember"]);
}

/// LOOP-03
#[tokio::test(start_paused = true)]
async fn a_slow_evaluation_is_not_made_up_for() {
    let harness = Harness::new(|_, _| {
        Answer::After(Duration::from_secs(40), Ok(reply(Some("Nothing is due."), &[])))
    });
    harness.lives_for(100).await;
    assert_eq!(harness.asked_at(), [0, 45, 90]);
}

/// LOOP-03
#[tokio::test(start_paused = true)]
async fn a_model_that_was_made_together_with_its_agent_is_waited_for_a_moment() {
    let harness = Harness::idle();
    let models = std::mem::take(&mut harness.api.state().models);
    harness
        .lives(async {
            sleep(Duration::from_millis(600)).await;
            harness.api.state().models = models;
            sleep(Duration::from_secs(1)).await;
        })
        .await;
    let (asked, _) = harness.broker.asked()[0];
    assert_eq!(asked - harness.began, Duration::from_millis(750));
}

/// LOOP-03
#[tokio::test(start_paused = true)]
async fn an_unknown_model_is_asked_for_all_the_same_so_that_the_relay_says_what_is_missing() {
    let harness = Harness::idle();
    harness.api.state().models.clear();
    harness.lives_for(16).await;
    assert_eq!(harness.asked_at().len(), 1);
}

/// LOOP-12
#[tokio::test(start_paused = true)]
async fn cycles_with_nothing_changed_send_the_same_system_prompt_and_tools() {
    let harness = Harness::idle();
    harness.lives_for(31).await;
    let requests = harness.broker.requests();
    assert_eq!(requests[0].system, requests[1].system);
    assert_eq!(requests[0].tools, requests[1].tools);
    assert_ne!(requests[0].messages, requests[1].messages, "the user turn tells the time");
}

/// LOOP-15, LOOP-16
#[tokio::test(start_paused = true)]
async fn an_edit_shows_as_a_new_start_in_the_same_process() {
    let harness = Harness::idle();
    harness
        .lives(async {
            sleep(Duration::from_secs(20)).await;
            edit(&harness);
            sleep(Duration::from_secs(15)).await;
        })
        .await;
    let requests = harness.broker.requests();
    let turns = requests.iter().map(user_turn).collect::<Vec<_>>();
    assert!(turns[1].contains("start number 1. Evaluations done in it: 1."), "{}", turns[1]);
    assert!(turns[2].contains("start number 2. Evaluations done in it: 0."), "{}", turns[2]);
    assert!(turns[2].contains("This start began at 1970-01-01T00:00:30Z."), "{}", turns[2]);
    assert!(requests[2].system.contains("Watch the deliveries."));

    let beats = harness.api.state().beats.clone();
    let last = beats.last().unwrap();
    assert_eq!(last.process_id, beats[0].process_id, "the process was not replaced");
    assert_eq!(harness.lines("start"), ["start 2 begins in this process"]);
}

/// LOOP-02
#[tokio::test(start_paused = true)]
async fn a_heartbeat_tells_the_start_number_and_how_full_the_context_is() {
    let harness = Harness::idle();
    harness.api.state().models[0].max_context_tokens = Some(20_000);
    harness.lives_for(31).await;
    let beat = *harness.api.state().beats.last().unwrap();
    assert_eq!(beat.generation, 1);
    // 900 tokens went in and 100 came out, the provider said.
    assert!(matches!(beat.context_percent, Some(4 | 5)), "{beat:?}");
}

/// LOOP-01
#[tokio::test(start_paused = true)]
async fn the_last_line_is_told_before_the_process_ends() {
    let harness = Harness::idle();
    harness.lives_for(1).await;
    assert_eq!(harness.api.messages().last().unwrap(), "harness stopped");
}

/// LOOP-28
#[tokio::test(start_paused = true)]
async fn a_stop_calls_off_the_run_in_flight_and_leaves_its_record() {
    let harness = Harness::new(|_, _| {
        Answer::After(Duration::from_mins(5), Ok(reply(Some("Too late."), &[])))
    });
    harness.lives_for(20).await;
    assert!(harness.began.elapsed() < Duration::from_secs(21), "nobody waits for the model");
    let runs = harness.api.state().runs.clone();
    assert_eq!(runs.iter().map(|run| run.outcome.as_str()).collect::<Vec<_>>(), ["aborted"]);
}

/// LOOP-03: no more at a time than the client keeps connections for.
#[tokio::test(start_paused = true)]
async fn what_a_cycle_reads_is_read_two_at_a_time() {
    let harness = Harness::idle();
    harness.api.state().slow.insert("read thoughts", Duration::from_secs(2));
    harness.lives_for(5).await;
    for (call, at) in [("list models", 0), ("list tools", 2), ("get harness", 2)] {
        assert_eq!(harness.called_at(call), [at], "{call}");
    }
    assert_eq!(harness.asked_at(), [2]);
}

/// LOOP-03
#[tokio::test(start_paused = true)]
async fn the_rhythm_does_not_drift_however_long_evaluations_take() {
    let harness = Harness::new(|number, _| {
        let took = Duration::from_micros(1_000_700 * (number as u64 % 20));
        Answer::After(took, Ok(reply(Some("Nothing is due."), &[])))
    });
    harness.lives_for(15 * 400).await;
    let late = |at: &Instant| (*at - harness.began).as_micros() % 15_000_000;
    let asked = harness.broker.asked();
    let worst = asked.iter().map(|(at, _)| late(at)).max().unwrap();
    assert!(worst < 5_000, "{worst} µs off the rhythm after {} evaluations", asked.len());
}
