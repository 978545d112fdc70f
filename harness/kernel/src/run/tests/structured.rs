//! A run that is to end with a value (KERN-28).

use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::OutputSchema;

const SUBMIT: &str = "structured_output";

fn wanting() -> Run {
    let schema = json!({
        "type": "object",
        "properties": {"due": {"type": "integer"}},
        "required": ["due"],
        "additionalProperties": false,
    });
    let output = Some(OutputSchema::new(schema).unwrap());
    run_with(Settings { output, ..settings() }, vec![echo()])
}

/// KERN-28
#[test]
fn a_submission_ends_the_run_with_the_value() {
    let mut run = wanting();
    let tools = model_call(&mut run).request.tools;
    let submit = tools.iter().find(|tool| tool.name == SUBMIT).unwrap();
    assert_eq!(submit.input_schema["properties"], json!({"due": {"type": "integer"}}));

    run.replied(Ok(calls([("a", SUBMIT, r#"{"due": 3}"#)])));
    let outcome = outcome(&mut run);
    assert_eq!((outcome.stop.clone(), outcome.turns), (Stop::EndTurn, 1));
    assert_eq!(outcome.output, Some(json!({"due": 3})));
    assert_eq!(outcome.answer(), r#"{"due":3}"#);
    assert!(!last_results(&run)[0].settled.is_error());
}

/// KERN-28
#[test]
fn a_submission_that_does_not_fit_is_its_calls_error_and_may_be_made_again() {
    let mut run = wanting();
    model_call(&mut run);
    run.replied(Ok(calls([("a", SUBMIT, r#"{"due": "soon"}"#)])));
    let messages = model_call(&mut run).request.messages;
    let Some(Message::ToolResults { results }) = messages.last() else { panic!("results") };
    assert!(results[0].is_error && results[0].content.contains("due"), "{results:?}");
    run.replied(Ok(calls([("b", SUBMIT, r#"{"due": 4}"#)])));
    assert_eq!(outcome(&mut run).output, Some(json!({"due": 4})));
}

/// KERN-28
#[test]
fn a_model_that_ends_without_submitting_is_nudged_once_and_then_the_run_fails() {
    let mut run = wanting();
    model_call(&mut run);
    run.replied(Ok(says("three are due")));
    let messages = model_call(&mut run).request.messages;
    let nudge = Message::User { content: crate::policy::structured::nudge().content };
    assert_eq!(messages.last(), Some(&nudge));
    assert!(format!("{nudge:?}").contains(SUBMIT), "{nudge:?}");
    run.replied(Ok(says("as I said, three")));
    let outcome = outcome(&mut run);
    assert_eq!(outcome.stop, Stop::Failed(Failure::NoOutput));
    assert_eq!(outcome.output, None);
    assert!(
        outcome.answer().starts_with("as I said, three\n\nThe run could not go on"),
        "{}",
        outcome.answer()
    );
}

/// KERN-28
#[test]
fn a_nudged_model_that_submits_ends_the_run_well() {
    let mut run = wanting();
    model_call(&mut run);
    run.replied(Ok(says("three are due")));
    model_call(&mut run);
    run.replied(Ok(calls([("a", SUBMIT, r#"{"due": 3}"#)])));
    assert_eq!(outcome(&mut run).output, Some(json!({"due": 3})));
}

#[test]
fn calls_before_a_submission_are_run_first_and_those_behind_it_never() {
    let mut run = wanting();
    model_call(&mut run);
    run.replied(Ok(calls([
        ("a", "echo", "{}"),
        ("b", SUBMIT, r#"{"due": 3}"#),
        ("c", "echo", "{}"),
        ("d", SUBMIT, r#"{"due": 9}"#),
    ])));
    let ids: Vec<String> = batch(&mut run).calls.iter().map(|one| one.call.id.clone()).collect();
    assert_eq!(ids, ["a"]);
    run.ran(vec![Settled::output("{}")]);
    let outcome = outcome(&mut run);
    assert_eq!((outcome.stop, outcome.output), (Stop::EndTurn, Some(json!({"due": 3}))));
    let errors: Vec<bool> = last_results(&run).iter().map(|one| one.settled.is_error()).collect();
    assert_eq!(errors, [false, false, true, true]);
}

#[test]
fn a_submission_does_not_stand_when_a_call_before_it_was_not_carried_through() {
    for (settled, stands) in [
        (Settled::failed("no disk"), true),
        (Settled::unknown("cut off"), false),
        (Settled::not_run("a person said no"), false),
    ] {
        let mut run = wanting();
        model_call(&mut run);
        run.replied(Ok(calls([("a", "echo", "{}"), ("b", SUBMIT, r#"{"due": 3}"#)])));
        batch(&mut run);
        run.ran(vec![settled.clone()]);
        assert_eq!(matches!(run.step(NOW), Step::Done(_)), stands, "{settled:?}");
        assert_eq!(run.state.output.is_some(), stands, "{settled:?}");
    }
}

/// KERN-24, KERN-27: a signal undoes a submission whose reply was not settled yet.
#[test]
fn an_interrupt_before_the_calls_are_settled_leaves_no_value() {
    let mut run = wanting();
    model_call(&mut run);
    run.replied(Ok(calls([("a", "echo", "{}"), ("b", SUBMIT, r#"{"due": 3}"#)])));
    batch(&mut run);
    run.interrupt();
    let outcome = outcome(&mut run);
    assert_eq!((outcome.stop, outcome.output), (Stop::Interrupted, None));
}

#[test]
fn a_run_that_reaches_its_limit_is_not_nudged() {
    let mut run = wanting();
    run.state.settings.limits.max_turns = 1;
    model_call(&mut run);
    run.replied(Ok(says("three are due")));
    let outcome = outcome(&mut run);
    assert_eq!((outcome.stop, outcome.entries.len()), (Stop::MaxTurns, 2));
}
