//! A run, stepped by hand: no model, no time, no task.

mod adversaries;
mod deferred;
mod endings;
mod fallback;
mod fitting;
mod random;
mod signals;
mod structured;

use foundry_llm::{ErrorKind, Message, StopReason};
use jiff::SignedDuration;
use pretty_assertions::assert_eq;

use super::*;
use crate::entry::{CallResult, Settled};
use crate::outcome::Failure;
use crate::policy::ladder::Ladder;
use crate::policy::limits::Limits;
use crate::scenes::{
    Does, NOW, batch, calls, echo, error, model_call, outcome, run_with, says, settings, tool,
};
use crate::tool::Effect;

fn run() -> Run {
    run_with(settings(), vec![echo()])
}

fn limited(limits: Limits) -> Run {
    run_with(Settings { limits, ..settings() }, vec![echo()])
}

/// Feeds a reply that calls echo once, and its result.
fn one_round(run: &mut Run, id: &str) {
    model_call(run);
    run.replied(Ok(calls([(id, "echo", r#"{"n":1}"#)])));
    batch(run);
    run.ran(vec![Settled::output("1")]);
}

/// What became of the calls of the last batch.
fn last_results(run: &Run) -> Vec<CallResult> {
    match run.log().iter().rev().find(|entry| matches!(entry, Entry::Results { .. })) {
        Some(Entry::Results { results }) => results.clone(),
        _ => panic!("no results in {:?}", run.log()),
    }
}

/// KERN-01
#[test]
fn a_run_calls_model_and_tools_until_a_reply_without_calls_and_ends_its_turn() {
    let mut run = run();
    assert_eq!(model_call(&mut run).turn, 1);
    run.replied(Ok(calls([("a", "echo", r#"{"n":1}"#)])));
    let dispatched = batch(&mut run);
    assert_eq!(dispatched.turn, 1);
    assert_eq!(dispatched.calls[0].arguments["n"], 1);
    run.ran(vec![Settled::output("1")]);
    assert_eq!(model_call(&mut run).turn, 2);
    run.replied(Ok(says("it is 1")));

    let outcome = outcome(&mut run);
    assert_eq!(outcome.stop, Stop::EndTurn);
    assert_eq!(outcome.turns, 2);
    assert_eq!(outcome.text(), Some("it is 1"));
    assert_eq!((outcome.usage.input_tokens, outcome.usage.output_tokens), (20, 2));
    let kinds: Vec<_> = outcome.entries.iter().map(std::mem::discriminant).collect();
    let expected: Vec<_> = run.log().iter().map(std::mem::discriminant).collect();
    assert_eq!((kinds.len(), kinds), (4, expected));
}

/// KERN-01, LOOP-06: the calls of the last turn are run, and the rest is another run's.
#[test]
fn a_run_ends_at_its_turn_limit_with_the_last_calls_answered() {
    let mut run = limited(Limits { max_turns: 2, ..Limits::default() });
    one_round(&mut run, "a");
    one_round(&mut run, "b");
    let outcome = outcome(&mut run);
    assert_eq!((outcome.stop, outcome.turns), (Stop::MaxTurns, 2));
    assert!(matches!(outcome.entries.last(), Some(Entry::Results { .. })));
}

/// KERN-01
#[test]
fn a_run_ends_when_its_tokens_are_spent() {
    let mut run = limited(Limits { budget_tokens: Some(20), ..Limits::default() });
    one_round(&mut run, "a");
    one_round(&mut run, "b");
    let reason = "the run has used 22 of its 20 tokens".to_owned();
    assert_eq!(outcome(&mut run).stop, Stop::Budget { reason });
}

/// KERN-01
#[test]
fn the_relays_refusal_over_a_budget_ends_a_run_as_budget() {
    let mut run = run();
    model_call(&mut run);
    run.replied(Err(error(ErrorKind::Budget)));
    let reason = "Budget, as it was".to_owned();
    assert_eq!(outcome(&mut run).stop, Stop::Budget { reason });
}

/// KERN-01, KERN-24
#[test]
fn an_aborted_run_ends_with_its_batch_closed() {
    let mut run = run();
    model_call(&mut run);
    run.replied(Ok(calls([("a", "echo", "{}"), ("b", "none", "{}")])));
    batch(&mut run);
    run.abort();
    assert_eq!(outcome(&mut run).stop, Stop::Aborted);
    let results = last_results(&run);
    assert!(matches!(results[0].settled, Settled::Unknown { .. }), "{results:?}");
    assert!(matches!(results[1].settled, Settled::NotRun { .. }), "{results:?}");
}

/// KERN-02, KERN-06
#[test]
fn the_system_prompt_stands_beside_the_messages_and_never_among_them() {
    let mut run = run();
    one_round(&mut run, "a");
    let request = model_call(&mut run).request;
    assert_eq!(request.system, "you are the system prompt");
    assert!(!format!("{:?}", request.messages).contains("system prompt"));
    assert!(!format!("{:?}", run.log()).contains("system prompt"));
}

/// KERN-12
#[test]
fn the_output_cap_is_8192_tokens_unless_set() {
    assert_eq!(model_call(&mut run()).request.max_output_tokens, 8192);
    let mut set = run_with(Settings { max_output_tokens: 512, ..settings() }, Vec::new());
    assert_eq!(model_call(&mut set).request.max_output_tokens, 512);
}

#[test]
fn a_step_gives_the_same_answer_until_its_result_is_fed() {
    let mut run = run();
    assert_eq!(model_call(&mut run), model_call(&mut run));
    run.replied(Err(error(ErrorKind::Server)));
    let retry = model_call(&mut run);
    let Step::CallModel(later) = run.step(NOW + SignedDuration::from_hours(1)) else {
        panic!("still a retry")
    };
    assert_eq!(retry, later);
    run.replied(Ok(calls([("a", "echo", "{}")])));
    assert_eq!(format!("{:?}", batch(&mut run)), format!("{:?}", batch(&mut run)));
    run.abort();
    assert_eq!(outcome(&mut run), outcome(&mut run));
}

/// KERN-18
#[test]
fn a_failed_call_is_made_again_after_a_wait_and_then_given_up() {
    let mut run = run_with(Settings { ladder: Ladder::agent(), ..settings() }, Vec::new());
    let first = model_call(&mut run);
    assert_eq!((first.attempt, first.not_before, first.after), (0, None, None));
    for attempt in 1..=2 {
        run.replied(Err(error(ErrorKind::Overloaded)));
        let retry = model_call(&mut run);
        assert_eq!((retry.attempt, retry.turn), (attempt, 1));
        assert!(retry.not_before > Some(NOW), "{:?}", retry.not_before);
        assert_eq!(retry.after, Some(error(ErrorKind::Overloaded)));
        assert_eq!(retry.request, first.request);
    }
    run.replied(Err(error(ErrorKind::Overloaded)));
    let failure = Failure::Model(error(ErrorKind::Overloaded));
    assert_eq!(failure.to_string(), "Overloaded, as it was");
    let outcome = outcome(&mut run);
    assert_eq!((outcome.stop, outcome.turns), (Stop::Failed(failure), 0));
}

#[test]
fn a_reply_gives_the_next_turn_all_its_retries_back() {
    let mut run = run();
    model_call(&mut run);
    run.replied(Err(error(ErrorKind::Server)));
    one_round(&mut run, "a");
    let next = model_call(&mut run);
    assert_eq!((next.turn, next.attempt, next.not_before), (2, 0, None));
}

/// KERN-19
#[test]
fn a_bad_request_is_not_made_again() {
    let mut run = run();
    model_call(&mut run);
    run.replied(Err(error(ErrorKind::BadRequest)));
    let failure = Failure::Model(error(ErrorKind::BadRequest));
    assert_eq!(outcome(&mut run).stop, Stop::Failed(failure));
}

#[test]
fn a_refusal_ends_the_run_and_leaves_none_of_its_calls_open() {
    let mut run = run();
    model_call(&mut run);
    let mut refused = calls([("a", "echo", "{}")]);
    refused.stop = StopReason::Refusal;
    refused.text = Some("I will not".to_owned());
    run.replied(Ok(refused));
    let failure = Failure::Refused("I will not".to_owned());
    assert_eq!(outcome(&mut run).stop, Stop::Failed(failure));
    assert!(matches!(last_results(&run)[0].settled, Settled::NotRun { .. }));
}

#[test]
fn a_reply_cut_by_the_output_limit_runs_no_call_and_the_model_is_told_and_asked_again() {
    let mut run = run();
    model_call(&mut run);
    let mut cut = calls([("a", "echo", "{}"), ("b", "echo", r#"{"text":"half"#)]);
    cut.stop = StopReason::MaxTokens;
    run.replied(Ok(cut));
    let next = model_call(&mut run);
    assert_eq!(next.turn, 2);
    let Some(Message::ToolResults { results }) = next.request.messages.last() else {
        panic!("results come last")
    };
    for result in results {
        assert!(result.is_error && result.content.contains("output limit"), "{result:?}");
    }
    assert_eq!(results.len(), 2);
}

#[test]
fn a_call_that_cannot_run_is_answered_while_the_others_run() {
    let mut run = run();
    model_call(&mut run);
    run.replied(Ok(calls([("a", "missing", "{}"), ("b", "echo", "{broken"), ("c", "echo", "")])));
    let dispatched = batch(&mut run);
    let positions: Vec<usize> = dispatched.calls.iter().map(|call| call.position).collect();
    assert_eq!(positions, [2]);
    run.ran(vec![Settled::output("{}")]);

    let texts: Vec<String> = last_results(&run).iter().map(|r| r.settled.text()).collect();
    assert!(texts[0].contains("there is no tool \"missing\". There are: echo"), "{}", texts[0]);
    assert!(texts[1].contains("{broken"), "{}", texts[1]);
    assert_eq!(texts[2], "{}");
    let request = model_call(&mut run).request;
    let Message::Assistant { calls, text: None, .. } = &request.messages[1] else {
        panic!("an assistant message that only calls has no text")
    };
    assert!(calls.iter().all(|call| call.arguments == "{}"), "{calls:?}");
}

/// LOOP-25
#[test]
fn a_failing_tool_is_its_calls_result_and_the_run_goes_on() {
    let mut run = run();
    model_call(&mut run);
    run.replied(Ok(calls([("a", "echo", "{}")])));
    batch(&mut run);
    run.ran(vec![Settled::failed("no such memory")]);
    let request = model_call(&mut run).request;
    let Some(Message::ToolResults { results }) = request.messages.last() else {
        panic!("results come last")
    };
    assert_eq!((results[0].content.as_str(), results[0].is_error), ("no such memory", true));
}

#[test]
fn a_result_over_its_tools_limit_takes_the_tools_form() {
    let mut brief = (*echo()).clone();
    brief.limit_bytes = 10;
    brief.form = |content, limit| format!("{} over {limit}", content.len());
    let mut run = run_with(settings(), vec![Arc::new(brief)]);
    model_call(&mut run);
    run.replied(Ok(calls([("a", "echo", "{}")])));
    batch(&mut run);
    run.ran(vec![Settled::output("x".repeat(99))]);
    assert_eq!(last_results(&run)[0].settled, Settled::output("99 over 10"));
}

#[test]
fn a_call_that_nothing_is_reported_of_is_unknown_and_surplus_reports_are_ignored() {
    let mut run = run();
    model_call(&mut run);
    run.replied(Ok(calls([("a", "echo", "{}"), ("b", "echo", "{}")])));
    batch(&mut run);
    run.ran(vec![Settled::output("1")]);
    assert!(matches!(last_results(&run)[1].settled, Settled::Unknown { .. }));

    run.replied(Ok(calls([("c", "echo", "{}")])));
    model_call(&mut run);
    run.replied(Ok(calls([("c", "echo", "{}")])));
    batch(&mut run);
    run.ran(vec![Settled::output("2"), Settled::output("3")]);
    assert_eq!(last_results(&run).len(), 1);
}

/// CHAT-11
#[test]
fn input_that_comes_during_a_turn_is_taken_up_at_the_next_boundary() {
    let mut run = run();
    model_call(&mut run);
    run.replied(Ok(calls([("a", "echo", "{}")])));
    batch(&mut run);
    run.steer(UserInput::from("and hurry"));
    run.ran(vec![Settled::output("1")]);
    let messages = model_call(&mut run).request.messages;
    assert!(matches!(messages[2], Message::ToolResults { .. }));
    assert_eq!(messages[3], said("and hurry"));

    run.steer(UserInput::from("one more thing"));
    run.replied(Ok(says("done")));
    let messages = model_call(&mut run).request.messages;
    assert_eq!(messages.last(), Some(&said("one more thing")));
}

#[test]
fn input_that_no_model_call_can_take_up_is_left_over_for_the_next_run() {
    let mut run = limited(Limits { max_turns: 1, ..Limits::default() });
    model_call(&mut run);
    run.steer(UserInput::from("too late"));
    run.steer(UserInput::from("   "));
    run.replied(Ok(says("done")));
    let outcome = outcome(&mut run);
    assert_eq!(outcome.stop, Stop::MaxTurns);
    assert_eq!(outcome.left_over, [UserInput::from("too late")]);
    assert!(!format!("{:?}", outcome.entries).contains("too late"));
}

fn said(text: &str) -> Message {
    Message::User { content: UserInput::from(text).content }
}

#[test]
fn a_run_that_is_over_stays_as_it_ended() {
    let mut run = run();
    model_call(&mut run);
    run.replied(Ok(says("done")));
    let ended = outcome(&mut run);
    run.abort();
    run.interrupt();
    run.ran(vec![Settled::output("late")]);
    assert_eq!(outcome(&mut run), ended);
}

/// A run whose reply reads and then writes; whether the calls were handed out.
fn stored_with_calls(handed_out: bool) -> RunState {
    let mut run = run_with(settings(), vec![echo(), write()]);
    model_call(&mut run);
    run.replied(Ok(calls([("a", "echo", "{}"), ("b", "write", "{}")])));
    if handed_out {
        batch(&mut run);
    }
    run.state().clone()
}

fn write() -> Arc<Tool> {
    tool("write", Effect::Write, Does(|_| Ok(String::new())))
}

/// KERN-26: what was never handed out was not run, and of the rest nobody knows.
#[test]
fn a_stored_run_whose_tool_is_gone_answers_its_call() {
    for handed_out in [false, true] {
        let mut resumed = Run::resume(stored_with_calls(handed_out), vec![]).unwrap();
        assert_eq!(model_call(&mut resumed).turn, 2);
        for result in last_results(&resumed) {
            assert_eq!(matches!(result.settled, Settled::Unknown { .. }), handed_out);
            assert_eq!(matches!(result.settled, Settled::NotRun { .. }), !handed_out);
        }
    }
}

/// KERN-26: a write that was out when the run was stored may have taken effect.
#[test]
fn a_stored_run_reads_again_what_was_out_and_never_writes_it_again() {
    for handed_out in [false, true] {
        let tools = vec![echo(), write()];
        let mut resumed = Run::resume(stored_with_calls(handed_out), tools).unwrap();
        let out = batch(&mut resumed).calls;
        assert_eq!(out.len(), if handed_out { 1 } else { 2 });
        assert_eq!(out[0].call.id, "a");
        resumed.ran(vec![Settled::output("{}"), Settled::output("written")]);
        let unknown = matches!(last_results(&resumed)[1].settled, Settled::Unknown { .. });
        assert_eq!(unknown, handed_out);
    }
}

#[test]
fn an_empty_input_is_not_sent() {
    let input = UserInput::from(" \n");
    let options = RunOptions { settings: settings(), history: Vec::new(), input, tools: vec![] };
    assert_eq!(Run::new(options).err(), Some(AssembleError::EmptyInput));
}

/// LOOP-14
#[test]
fn a_history_that_starts_with_the_model_is_not_sent() {
    let input = UserInput::from("go");
    let history = vec![Entry::Assistant { reply: says("hello") }];
    let options = RunOptions { settings: settings(), history, input, tools: vec![] };
    assert_eq!(Run::new(options).err(), Some(AssembleError::HistoryStart));
}

/// KERN-07
#[test]
fn an_outcome_holds_what_this_run_produced_and_not_the_history() {
    let history = vec![
        Entry::User { input: UserInput::from("before") },
        Entry::Assistant { reply: says("yes") },
    ];
    let input = UserInput::from("go");
    let options = RunOptions { settings: settings(), history, input, tools: vec![] };
    let mut run = Run::new(options).unwrap();
    assert_eq!(model_call(&mut run).request.messages.len(), 3);
    assert_eq!(run.take_new_entries().len(), 1);
    run.replied(Ok(says("done")));
    assert_eq!(outcome(&mut run).entries, run.log()[2..]);
    assert_eq!(run.take_new_entries(), run.log()[3..]);
    assert_eq!(run.take_new_entries(), []);
}
