//! What an interrupt and an abort leave (KERN-24 to KERN-27).

use foundry_llm::ErrorKind;
use pretty_assertions::{assert_eq, assert_ne};
use rstest::rstest;
use serde_json::json;

use super::random::{WHOLE_SUMMARY, assert_every_call_has_its_result};
use super::*;
use crate::{OutputSchema, Tool};

/// KERN-25, KERN-27
#[test]
fn an_interrupted_model_call_appends_nothing_and_with_nothing_queued_ends_the_run() {
    let mut run = run();
    model_call(&mut run);
    let before = run.log().to_vec();
    run.interrupt();
    assert_eq!(outcome(&mut run).stop, Stop::Interrupted);
    run.replied(Ok(says("too late")));
    assert_eq!(run.log(), before);
    assert_eq!(outcome(&mut run).stop, Stop::Interrupted);
}

/// KERN-27
#[test]
fn after_an_interrupt_queued_input_continues_the_turn_redirected() {
    let mut run = run();
    model_call(&mut run);
    run.steer(UserInput::from("do that instead"));
    run.interrupt();
    let redirected = model_call(&mut run);
    assert_eq!(redirected.request.messages.last(), Some(&said("do that instead")));
    run.replied(Ok(says("done instead")));
    assert_eq!(outcome(&mut run).stop, Stop::EndTurn);
}

/// KERN-25
#[test]
fn an_interrupted_retry_wait_is_over() {
    let mut run = run();
    model_call(&mut run);
    run.replied(Err(error(ErrorKind::Server)));
    assert_ne!(model_call(&mut run).not_before, None);
    run.steer(UserInput::from("never mind"));
    run.interrupt();
    let next = model_call(&mut run);
    assert_eq!((next.attempt, next.not_before), (0, None));
}

/// KERN-24
#[test]
fn an_interrupted_batch_is_closed() {
    let mut run = run();
    model_call(&mut run);
    run.replied(Ok(calls([("a", "echo", "{}")])));
    batch(&mut run);
    run.interrupt();
    assert_eq!(outcome(&mut run).stop, Stop::Interrupted);
    assert!(matches!(last_results(&run)[0].settled, Settled::Unknown { .. }));
}

/// KERN-26
#[test]
fn a_batch_that_was_never_handed_out_was_not_run() {
    let mut run = run();
    model_call(&mut run);
    run.replied(Ok(calls([("a", "echo", "{}")])));
    run.interrupt();
    assert_eq!(outcome(&mut run).stop, Stop::Interrupted);
    assert!(matches!(last_results(&run)[0].settled, Settled::NotRun { .. }));
}

/// A run with all there is: a narrow window, a fallback model, a value to submit, a tool
/// out of sight.
fn of_all_kinds() -> Run {
    let schema = json!({"type": "object", "properties": {"due": {"type": "integer"}}});
    let settings = Settings {
        model: "plan-a".to_owned(),
        fallback_model: Some("plan-b".to_owned()),
        ladder: Ladder { retries: 1, ..Ladder::coding() },
        limits: Limits { max_turns: 100, ..Limits::default() },
        output: Some(OutputSchema::new(schema).unwrap()),
        context_window: 4_000,
        max_output_tokens: 300,
        ..settings()
    };
    run_with(settings, tools_of_all_kinds())
}

fn tools_of_all_kinds() -> Vec<Arc<Tool>> {
    let hidden = tool("tide_table", Effect::Read, Does(|_| Ok(String::new())));
    vec![echo(), Arc::new(Tool::clone(&hidden).deferred())]
}

fn fails(run: &mut Run) {
    run.step(NOW);
    run.replied(Err(error(ErrorKind::Overloaded)));
}

/// Until the model is asked for a summary.
fn to_a_summary(run: &mut Run) {
    for number in 0..60 {
        if model_call(run).purpose == crate::Purpose::Summary {
            return;
        }
        let arguments = format!(r#"{{"n":{number}}}"#);
        let mut reply = calls([(&format!("c{number}"), "echo", &arguments)]);
        reply.text = Some("said ".repeat(300));
        reply.usage = foundry_llm::Usage::default();
        run.replied(Ok(reply));
        batch(run);
        run.ran(vec![Settled::output(format!("{number}"))]);
    }
    panic!("no summary was asked for")
}

fn to_a_batch(run: &mut Run) {
    model_call(run);
    run.replied(Ok(calls([
        ("a", "tide_table", "{}"),
        ("b", "ToolSearch", r#"{"query": "select:tide_table"}"#),
        ("c", "tide_table", "{}"),
        ("d", "structured_output", r#"{"due": 3}"#),
    ])));
}

fn to_the_fallback(run: &mut Run) {
    fails(run);
    fails(run);
    assert_eq!(model_call(run).request.model, "plan-b");
}

fn nudged(run: &mut Run) {
    model_call(run);
    run.replied(Ok(says("done")));
    model_call(run);
}

/// KERN-24 to KERN-27: at every place where a run can stand, a signal leaves no call open,
/// an interrupt goes on with what was queued, and what comes too late changes nothing. The
/// run is the same one when it was stored and taken up just before.
#[rstest]
#[case::before_the_first_step(|_: &mut Run| ())]
#[case::a_model_call(|run: &mut Run| drop(model_call(run)))]
#[case::a_failure_that_is_not_judged_yet(fails)]
#[case::a_retry_wait(|run: &mut Run| { fails(run); model_call(run); })]
#[case::a_summary(to_a_summary)]
#[case::a_summary_that_failed(|run: &mut Run| { to_a_summary(run); fails(run); })]
#[case::a_retry_wait_of_a_summary(|run: &mut Run| { to_a_summary(run); fails(run); model_call(run); })]
#[case::a_summary_that_was_just_taken(|run: &mut Run| {
    to_a_summary(run);
    run.replied(Ok(says(WHOLE_SUMMARY)));
})]
#[case::the_fallback_model(to_the_fallback)]
#[case::a_retry_wait_of_the_fallback_model(|run: &mut Run| {
    to_the_fallback(run);
    fails(run);
    model_call(run);
})]
#[case::an_overflow(|run: &mut Run| {
    model_call(run);
    run.replied(Err(error(ErrorKind::Overflow)));
})]
#[case::a_nudged_model(nudged)]
#[case::a_batch_that_is_not_out(to_a_batch)]
#[case::a_batch_that_is_out(|run: &mut Run| { to_a_batch(run); batch(run); })]
fn a_signal_ends_whatever_it_meets(
    #[case] reach: fn(&mut Run),
    #[values(false, true)] stored: bool,
    #[values("interrupt", "redirect", "abort")] signal: &str,
) {
    let mut run = of_all_kinds();
    reach(&mut run);
    let model = run.state.model().to_owned();
    if stored {
        let state = serde_json::to_string(run.state()).unwrap();
        let tools = tools_of_all_kinds();
        let resumed = Run::resume(serde_json::from_str(&state).unwrap(), tools).unwrap();
        assert_eq!(resumed.state, run.state);
        run = resumed;
    }
    match signal {
        "abort" => run.abort(),
        "interrupt" => run.interrupt(),
        _ => {
            run.steer(UserInput::from("rather that"));
            run.interrupt();
        }
    }
    run.replied(Ok(says("too late")));
    run.ran(vec![Settled::output("too late")]);
    assert_every_call_has_its_result(run.log());
    match signal {
        "abort" => assert_eq!(outcome(&mut run).stop, Stop::Aborted),
        "interrupt" => assert_eq!(outcome(&mut run).stop, Stop::Interrupted),
        _ => {
            let mut call = model_call(&mut run);
            if call.purpose == crate::Purpose::Summary {
                run.replied(Ok(says(WHOLE_SUMMARY)));
                call = model_call(&mut run);
            }
            assert_eq!((call.attempt, call.not_before), (0, None));
            assert_eq!(call.request.model, model, "an interrupt does not change the model");
            assert_eq!(call.request.messages.last(), Some(&said("rather that")));
        }
    }
    assert!(run.state.output.is_none());
    assert!(!format!("{:?}", run.log()).contains("too late"));
}

/// KERN-08: a tool that was found and is gone when the run is taken up is neither offered
/// nor run, and the run goes on.
#[test]
fn a_tool_that_was_found_and_is_gone_is_no_longer_offered() {
    let mut run = of_all_kinds();
    model_call(&mut run);
    run.replied(Ok(calls([("b", "ToolSearch", r#"{"query": "select:tide_table"}"#)])));
    assert!(model_call(&mut run).request.tools.iter().any(|tool| tool.name == "tide_table"));
    let mut run = Run::resume(run.state().clone(), vec![echo()]).unwrap();
    assert!(model_call(&mut run).request.tools.iter().all(|tool| tool.name != "tide_table"));
    run.replied(Ok(calls([("c", "tide_table", "{}")])));
    model_call(&mut run);
    let refused = last_results(&run)[0].settled.text();
    assert!(refused.contains("there is no tool \"tide_table\""), "{refused}");
}
