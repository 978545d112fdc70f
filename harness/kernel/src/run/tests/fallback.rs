//! Another model takes over (KERN-42).

use foundry_llm::{ErrorKind, Reasoning, Reply};
use jiff::SignedDuration;
use pretty_assertions::assert_eq;

use super::*;

fn with_fallback(retries: u32) -> Run {
    let settings = Settings {
        model: "plan-a".to_owned(),
        fallback_model: Some("plan-b".to_owned()),
        ladder: Ladder { retries, ..Ladder::coding() },
        reasoning_effort: Some("high".to_owned()),
        thinking_budget: Some(2048),
        ..settings()
    };
    run_with(settings, vec![echo()])
}

fn down(run: &mut Run) {
    model_call(run);
    run.replied(Err(error(ErrorKind::Overloaded)));
}

/// KERN-42
#[test]
fn a_fallback_model_takes_over_when_the_retries_are_spent_and_is_told() {
    let mut run = with_fallback(1);
    down(&mut run);
    down(&mut run);
    let call = model_call(&mut run);
    assert_eq!((call.request.model.as_str(), call.turn, call.attempt), ("plan-b", 1, 0));
    assert_eq!((call.not_before, call.after), (None, None), "it is asked at once");
    let (from, to) = ("plan-a".to_owned(), "plan-b".to_owned());
    let notes = run.take_notes();
    assert_eq!(notes[0], Note::Fallback { from, to, error: error(ErrorKind::Overloaded) });

    // For the rest of the run, and with retries of its own.
    down(&mut run);
    assert_eq!(model_call(&mut run).attempt, 1);
    one_round(&mut run, "a");
    assert_eq!(model_call(&mut run).request.model, "plan-b");
}

/// KERN-21, KERN-42: a run that would wait for capacity without limit asks the other model
/// after its counted retries, and waits without limit for that one, which has no other.
#[test]
fn an_unattended_run_waits_without_limit_only_for_its_last_model() {
    let mut run = with_fallback(0);
    run.state.settings.ladder = Ladder::unattended();
    for attempt in 0..=6 {
        let call = model_call(&mut run);
        assert_eq!((call.request.model.as_str(), call.attempt), ("plan-a", attempt));
        run.replied(Err(error(ErrorKind::Limited)));
    }
    for attempt in 0..50 {
        let call = model_call(&mut run);
        assert_eq!((call.request.model.as_str(), call.attempt), ("plan-b", attempt));
        run.replied(Err(error(ErrorKind::Limited)));
    }
}

/// KERN-42: once.
#[test]
fn a_fallback_model_that_fails_too_ends_the_run() {
    let mut run = with_fallback(0);
    down(&mut run);
    down(&mut run);
    let failure = Failure::Model(error(ErrorKind::Overloaded));
    assert_eq!(outcome(&mut run).stop, Stop::Failed(failure));
}

/// KERN-42: a request that is wrong, or a budget that is spent, is so for any model.
#[test]
fn what_would_fail_with_any_model_does_not_change_it() {
    for kind in [ErrorKind::BadRequest, ErrorKind::Auth, ErrorKind::Refused] {
        let mut run = with_fallback(3);
        model_call(&mut run);
        run.replied(Err(error(kind)));
        assert_eq!(outcome(&mut run).stop, Stop::Failed(Failure::Model(error(kind))));
    }
    let mut run = with_fallback(3);
    model_call(&mut run);
    run.replied(Err(error(ErrorKind::Budget)));
    assert!(matches!(outcome(&mut run).stop, Stop::Budget { .. }));
}

fn thought(id: &str) -> Reply {
    let thinking = Reasoning::Thinking { text: "so".to_owned(), signature: "by-a".to_owned() };
    Reply { reasoning: vec![thinking], ..calls([(id, "echo", "{}")]) }
}

fn signed(messages: &[Message]) -> usize {
    let reasoning = |message: &Message| match message {
        Message::Assistant { reasoning, .. } => reasoning.len(),
        Message::User { .. } | Message::ToolResults { .. } => 0,
    };
    messages.iter().map(reasoning).sum()
}

/// KERN-40, KERN-42: signatures are the model's that made them, and so are level and budget.
#[test]
fn a_fallback_model_gets_neither_the_thinking_nor_the_effort_of_the_one_before() {
    let mut run = with_fallback(0);
    model_call(&mut run);
    run.replied(Ok(thought("a")));
    batch(&mut run);
    run.ran(vec![Settled::output("{}")]);
    let before = model_call(&mut run).request;
    assert_eq!(signed(&before.messages), 1);
    assert_eq!(
        (before.reasoning_effort.as_deref(), before.thinking_budget),
        (Some("high"), Some(2048))
    );

    run.replied(Err(error(ErrorKind::Server)));
    let after = model_call(&mut run).request;
    assert_eq!(signed(&after.messages), 0);
    assert_eq!((after.reasoning_effort, after.thinking_budget), (None, None));

    // Its own thinking goes back to it.
    run.replied(Ok(thought("b")));
    batch(&mut run);
    run.ran(vec![Settled::output("{}")]);
    assert_eq!(signed(&model_call(&mut run).request.messages), 1);
}

/// KERN-42: the clock is the turn's, whoever is asked.
#[test]
fn a_fallback_model_has_the_same_clock() {
    let mut run = with_fallback(9);
    run.state.settings.ladder.patience = Some(std::time::Duration::from_mins(1));
    down(&mut run);
    let late = NOW + SignedDuration::from_mins(2);
    model_call(&mut run);
    run.replied(Err(error(ErrorKind::Overloaded)));
    let Step::CallModel(call) = run.step(late) else { panic!("the fallback is asked") };
    assert_eq!(call.request.model, "plan-b");
    run.replied(Err(error(ErrorKind::Overloaded)));
    assert!(matches!(run.step(late), Step::Done(_)), "no retry is left of the turn's minute");
}

/// The clock is the turn's, whatever its request looks like by then.
#[test]
fn an_overflow_between_does_not_turn_the_clock_back() {
    let mut run = with_fallback(9);
    run.state.settings.fallback_model = None;
    run.state.settings.ladder.patience = Some(std::time::Duration::from_mins(1));
    for number in 0..6 {
        model_call(&mut run);
        run.replied(Ok(calls([("a", "echo", &format!(r#"{{"n":{number}}}"#))])));
        batch(&mut run);
        run.ran(vec![Settled::output("word ".repeat(600))]);
    }
    down(&mut run);
    model_call(&mut run);
    run.replied(Err(error(ErrorKind::Overflow)));
    let late = NOW + SignedDuration::from_mins(2);
    let Step::CallModel(_) = run.step(late) else { panic!("another request is made") };
    run.replied(Err(error(ErrorKind::Overloaded)));
    while let Step::CallModel(call) = run.step(late) {
        assert_eq!(call.attempt, 0, "no retry is left of the turn's minute");
        run.replied(Err(error(ErrorKind::Overloaded)));
    }
}

/// CODE-43: a retry after no completion goes without a level, and the next turn has it again.
#[test]
fn a_retry_without_effort_is_one_until_the_turn_has_its_reply() {
    let mut run = with_fallback(6);
    let effort = |run: &mut Run| model_call(run).request.reasoning_effort;
    assert_eq!(effort(&mut run).as_deref(), Some("high"));
    run.replied(Err(error(ErrorKind::NoCompletion)));
    assert_eq!(effort(&mut run), None);
    run.replied(Err(error(ErrorKind::Server)));
    assert_eq!(effort(&mut run), None);
    one_round(&mut run, "a");
    assert_eq!(effort(&mut run).as_deref(), Some("high"));
}
