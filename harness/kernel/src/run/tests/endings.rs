//! How a run ends of itself, and what it says first.

use pretty_assertions::assert_eq;

use super::*;
use crate::policy::empty::EmptyReply;
use crate::policy::repeat::Repeat;
use crate::tool::Tool;

fn run_that_finishes(limits: Limits) -> Run {
    let plain = tool("finish", Effect::Write, Does(|_| Ok("done".to_owned())));
    let finish = Arc::new(Tool::clone(&plain).ending_the_run());
    run_with(Settings { limits, ..settings() }, vec![finish, echo()])
}

/// KERN-01
#[test]
fn a_call_that_succeeded_of_a_tool_that_ends_runs_ends_the_turn_without_another_reply() {
    let mut run = run_that_finishes(Limits { max_turns: 1, ..Limits::default() });
    model_call(&mut run);
    run.replied(Ok(calls([("a", "finish", "{}"), ("b", "none", "{}")])));
    batch(&mut run);
    run.ran(vec![Settled::output("done")]);
    let outcome = outcome(&mut run);
    // The last turn of its limit, and yet it ended of itself.
    assert_eq!((outcome.stop, outcome.turns), (Stop::EndTurn, 1));
    assert_eq!(last_results(&run)[0].settled, Settled::output("done"));
    assert!(matches!(last_results(&run)[1].settled, Settled::NotRun { .. }), "{run:?}");
}

/// KERN-01
#[test]
fn a_refused_or_unknown_call_of_a_tool_that_ends_runs_ends_nothing() {
    for settled in [Settled::failed("no check passed"), Settled::unknown("cut off")] {
        let mut run = run_that_finishes(Limits::default());
        model_call(&mut run);
        run.replied(Ok(calls([("a", "finish", "{}")])));
        batch(&mut run);
        run.ran(vec![settled]);
        assert_eq!(model_call(&mut run).turn, 2);
    }
}

/// KERN-01, KERN-27: what is queued when the run has what it was for is the next run's.
#[test]
fn neither_queued_input_nor_a_signal_undoes_the_end_of_a_run() {
    let mut run = run_that_finishes(Limits::default());
    model_call(&mut run);
    run.replied(Ok(calls([("a", "finish", "{}")])));
    batch(&mut run);
    run.ran(vec![Settled::output("done")]);
    run.steer(UserInput::from("and also this"));
    run.interrupt();
    run.abort();
    let outcome = outcome(&mut run);
    assert_eq!(outcome.stop, Stop::EndTurn);
    assert_eq!(outcome.left_over, [UserInput::from("and also this")]);
}

fn asking() -> Run {
    run_with(Settings { empty: EmptyReply::AskOnce, ..settings() }, vec![echo()])
}

/// LOOP-06: an agent whose model has nothing to say has ended its cycle.
#[test]
fn an_empty_reply_ends_an_agents_run() {
    let mut run = run();
    model_call(&mut run);
    run.replied(Ok(says("")));
    assert_eq!(outcome(&mut run).stop, Stop::EndTurn);
}

#[test]
fn an_empty_reply_is_asked_about_once_and_then_fails_the_run() {
    let mut run = asking();
    model_call(&mut run);
    run.replied(Ok(says(" ")));
    let messages = model_call(&mut run).request.messages;
    assert_eq!(
        messages.last(),
        Some(&Message::User { content: crate::policy::empty::question().content })
    );
    run.replied(Ok(says("")));
    let outcome = outcome(&mut run);
    assert_eq!((outcome.stop, outcome.turns), (Stop::Failed(Failure::Empty), 2));
}

#[test]
fn an_empty_reply_that_is_made_up_for_is_forgotten() {
    let mut run = asking();
    for id in ["a", "b"] {
        model_call(&mut run);
        run.replied(Ok(says("")));
        one_round(&mut run, id);
    }
    model_call(&mut run);
    run.replied(Ok(says("done")));
    assert_eq!(outcome(&mut run).stop, Stop::EndTurn);
}

/// What a person says meanwhile is better than our own question.
#[test]
fn input_that_waits_takes_the_place_of_the_question() {
    let mut run = asking();
    model_call(&mut run);
    run.steer(UserInput::from("never mind, do that"));
    run.replied(Ok(says("")));
    let messages = model_call(&mut run).request.messages;
    assert_eq!(messages.last(), Some(&said("never mind, do that")));
    assert_eq!(
        messages.iter().filter(|message| matches!(message, Message::User { .. })).count(),
        2
    );
}

fn circling(repeat: Repeat) -> Run {
    let limits = Limits { max_turns: 50, ..Limits::default() };
    run_with(Settings { limits, repeat, ..settings() }, vec![echo()])
}

#[test]
fn a_model_in_a_circle_is_told_and_then_the_run_fails() {
    let mut run = circling(Repeat { hint_after: 2, halt_after: 3 });
    one_round(&mut run, "a");
    one_round(&mut run, "b");
    let hint = format!("{:?}", model_call(&mut run).request.messages.last());
    assert!(hint.contains("round in a circle") && hint.contains("echo("), "{hint}");
    one_round(&mut run, "c");
    let outcome = outcome(&mut run);
    let Stop::Failed(Failure::Repeating { what }) = &outcome.stop else {
        panic!("a failure: {:?}", outcome.stop)
    };
    assert!(what.contains("3 times"), "{what}");
    assert!(
        matches!(outcome.entries.last(), Some(Entry::Results { .. })),
        "its calls are answered"
    );
}

#[test]
fn a_model_that_takes_the_hint_goes_on() {
    let mut run = circling(Repeat { hint_after: 2, halt_after: 3 });
    one_round(&mut run, "a");
    one_round(&mut run, "b");
    model_call(&mut run);
    run.replied(Ok(calls([("c", "echo", r#"{"n":2}"#)])));
    batch(&mut run);
    run.ran(vec![Settled::output("2")]);
    one_round(&mut run, "d");
    model_call(&mut run);
    run.replied(Ok(says("done")));
    assert_eq!(outcome(&mut run).stop, Stop::EndTurn);
}

#[test]
fn what_a_person_says_begins_the_count_anew() {
    let mut run = circling(Repeat { hint_after: 0, halt_after: 3 });
    for id in ["a", "b"] {
        one_round(&mut run, id);
    }
    run.steer(UserInput::from("look again, please"));
    for id in ["c", "d"] {
        one_round(&mut run, id);
    }
    model_call(&mut run);
}

/// KERN-30: what tools spend on models of their own counts.
#[test]
fn what_tools_spent_counts_into_usage_and_limits() {
    let mut run = limited(Limits { budget_tokens: Some(100), ..Limits::default() });
    model_call(&mut run);
    run.replied(Ok(calls([("a", "echo", "{}")])));
    assert_eq!(batch(&mut run).remaining_tokens, Some(89));
    run.spent(foundry_llm::Usage { output_tokens: 90, ..foundry_llm::Usage::default() });
    run.ran(vec![Settled::output("{}")]);
    let outcome = outcome(&mut run);
    let reason = "the run has used 101 of its 100 tokens".to_owned();
    assert_eq!((outcome.stop, outcome.usage.total()), (Stop::Budget { reason }, 101));
}
