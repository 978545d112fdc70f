use pretty_assertions::assert_eq;

use super::*;

/// LOOP-04, LOOP-21, LOOP-23
#[tokio::test(start_paused = true)]
async fn each_tool_result_goes_back_to_the_model_and_each_step_is_told() {
    let harness = Harness::new(|number, request| match number {
        0 => calls(&[("remember", r#"{"text":"Invoice 7 is open."}"#)]),
        1 => calls(&[("recall", r#"{"query":"Invoice","limit":5}"#)]),
        _ => says(&format!("I found {}", last_result(request).unwrap_or("nothing"))),
    });
    harness.lives_for(1).await;
    assert_eq!(harness.broker.requests().len(), 3);
    assert_eq!(
        harness.lines("tool"),
        [
            "step 1: remember text=Invoice 7 is open.",
            "step 1: remember returned remembered at 1970-01-01T00:00:00Z: Invoice 7 is open.",
            "step 2: recall limit=5 query=Invoice",
            "step 2: recall returned 1 result",
        ]
    );
    let [done] = harness.lines("step").try_into().unwrap();
    assert!(done.starts_with("step 3: done, nothing further: I found"), "{done}");
    assert!(done.contains("Invoice 7 is open."), "{done}");
}

/// LOOP-10
#[tokio::test(start_paused = true)]
async fn the_next_cycle_is_told_what_the_last_one_looked_up_and_concluded() {
    let harness = Harness::new(|number, _| match number {
        0 => calls(&[("recall", r#"{"query":"Invoice"}"#)]),
        _ => says("No invoice is known."),
    });
    harness.lives_for(16).await;
    let requests = harness.broker.requests();
    let turn = user_turn(&requests[2]);
    assert!(turn.contains("- evaluation 1 of start 1 at 1970-01-01T00:00:00Z"), "{turn}");
    assert!(turn.contains("recall query=Invoice returned: {\"items\":[]}"), "{turn}");
    assert!(turn.contains("concluded: No invoice is known."), "{turn}");
}

/// LOOP-06
#[tokio::test(start_paused = true)]
async fn reaching_max_turns_warns_and_leaves_the_rest_to_the_next_cycle() {
    let harness = Harness::new(|_, _| calls(&[("recall", r#"{"query":"x"}"#)]));
    harness.lives_for(16).await;
    assert_eq!(harness.asked_at(), [[0; 10], [15; 10]].concat());
    let warnings = harness.lines("warning");
    assert_eq!(warnings, ["reached 10 turns; the rest is left to the next cycle"; 2]);
    assert_eq!(harness.api.state().runs[0].outcome, "max_turns");
}

/// LOOP-25
#[tokio::test(start_paused = true)]
async fn a_failing_tool_is_the_calls_result_and_the_cycle_goes_on() {
    let harness = Harness::new(|number, _| match number {
        0 => calls(&[("recall", r#"{"query":"x"}"#), ("unknown", "{}")]),
        _ => says("I will try later."),
    });
    harness.api.fail("recall", 500, "disk full");
    harness.lives_for(1).await;
    let request = &harness.broker.requests()[1];
    let Some(Message::ToolResults { results }) = request.messages.last() else {
        panic!("results follow the calls: {request:?}");
    };
    assert!(results.iter().all(|result| result.is_error), "{results:?}");
    assert_eq!(results[0].content, "api recall failed: HTTP 500: disk full");
    let told = harness.lines("tool");
    assert!(
        told.contains(&"step 1: recall failed: api recall failed: HTTP 500: disk full".to_owned()),
        "{told:?}"
    );
    assert_eq!(harness.api.state().runs[0].outcome, "end_turn");
}

/// LOOP-24
#[tokio::test(start_paused = true)]
async fn a_failed_model_call_names_service_status_and_words_on_output_and_log() {
    let harness = Harness::new(|_, _| fails(ErrorKind::BadRequest, 400, "unknown model"));
    harness.lives_for(1).await;
    let line = "broker relay failed: HTTP 400: unknown model";
    assert_eq!(harness.lines("error"), [line]);
    assert!(harness.output.events().iter().any(|event| event.message == line));
    assert_eq!(harness.api.state().runs[0].outcome, "failed");
}

/// LOOP-24
#[tokio::test(start_paused = true)]
async fn a_bad_gateway_is_retried_within_the_cycle_and_each_failure_is_told() {
    let harness = Harness::new(|number, _| match number {
        0 => fails(ErrorKind::Server, 502, "bad gateway"),
        _ => says("Nothing is due."),
    });
    harness.lives_for(10).await;
    let [line] = harness.lines("error").try_into().unwrap();
    assert!(line.starts_with("broker relay failed: HTTP 502: bad gateway; retry 1 at"), "{line}");
    assert_eq!(harness.api.state().runs[0].outcome, "end_turn");
}

/// LOOP-28
#[tokio::test(start_paused = true)]
async fn an_evaluation_leaves_a_record_of_tokens_and_reason() {
    let harness = Harness::new(|number, _| match number {
        0 => calls(&[("recall", r#"{"query":"x"}"#)]),
        _ => says("Nothing is due."),
    });
    harness.lives_for(1).await;
    let run = harness.api.state().runs[0].clone();
    assert_eq!(
        (run.reason.as_str(), run.turns, run.input_tokens, run.output_tokens, run.wake_id),
        ("evaluation", 2, 1800, 200, None)
    );
}

/// LOOP-28
#[tokio::test(start_paused = true)]
async fn a_record_that_could_not_be_stored_is_stored_after_the_next_evaluation() {
    let harness = Harness::idle();
    harness.api.fail("record run", 503, "starting");
    harness
        .lives(async {
            sleep(Duration::from_secs(10)).await;
            harness.api.heal("record run");
            sleep(Duration::from_secs(6)).await;
        })
        .await;
    assert_eq!(harness.api.state().runs.len(), 2);
}

/// LOOP-07
#[tokio::test(start_paused = true)]
async fn a_result_over_six_kilobytes_reaches_the_model_as_whole_json_that_says_so() {
    let harness = Harness::new(|number, _| match number {
        0 => calls(&[("recall", r#"{"query":"Invoice"}"#)]),
        _ => says("Too much."),
    });
    let long = foundry_client::Memory {
        id: Uuid::nil(),
        text: "Invoice \"7\" ".repeat(2_000),
        tier: foundry_client::Tier::Core,
        author_kind: foundry_client::AuthorKind::Person,
        author: "someone@example.com".to_owned(),
        created_at: Timestamp::UNIX_EPOCH,
        reviewed_at: None,
        superseded: false,
    };
    harness.api.state().memories.push(long);
    harness.lives_for(1).await;
    let requests = harness.broker.requests();
    let result = last_result(&requests[1]).unwrap();
    assert!(result.len() <= 6 * 1024, "{} bytes", result.len());
    let result: serde_json::Value = serde_json::from_str(result).unwrap();
    assert_eq!(result["truncated"], json!(true));
    assert!(result["preview"].as_str().unwrap().contains("Invoice"));
}
