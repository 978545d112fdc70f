use foundry_llm::ErrorKind;
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::scenes::{calls, error, says};

fn ended(said: &[&str], stop: Stop) -> Outcome {
    let entries = said.iter().map(|text| Entry::Assistant { reply: says(text) }).collect();
    let usage = Usage::default();
    Outcome { entries, usage, turns: 1, stop, left_over: Vec::new(), output: None }
}

/// BIND-10: where the model never had a word, the reason is the answer.
#[rstest]
#[case(Stop::EndTurn, "The model ended its turn without a word.")]
#[case(Stop::MaxTurns, "The limit of model turns was reached before the end.")]
#[case(Stop::Budget { reason: "of the team".into() }, "A budget is spent: of the team.")]
#[case(Stop::Aborted, "The run was called off.")]
#[case(Stop::Interrupted, "The run was interrupted.")]
#[case(
    Stop::Failed(Failure::Model(error(ErrorKind::Auth))),
    "The run could not go on: Auth, as it was."
)]
#[case(Stop::Failed(Failure::Refused("no".into())), "The run could not go on: the model refused: no.")]
fn a_run_without_a_word_answers_with_its_reason(#[case] stop: Stop, #[case] answer: &str) {
    assert_eq!(ended(&[], stop.clone()).answer(), answer);
    assert_eq!(ended(&["", " \n"], stop).answer(), answer);
}

#[test]
fn a_run_that_ended_of_itself_answers_with_what_was_said_last() {
    assert_eq!(ended(&["I look.", " It is 3.\n"], Stop::EndTurn).answer(), "It is 3.");
    let mut outcome = ended(&["It is 3."], Stop::EndTurn);
    outcome.entries.push(Entry::Assistant { reply: calls([("a", "finish", "{}")]) });
    assert_eq!(outcome.answer(), "It is 3.");
}

#[test]
fn a_run_that_did_not_says_both() {
    let answer = ended(&["I look."], Stop::MaxTurns).answer();
    assert_eq!(answer, "I look.\n\nThe limit of model turns was reached before the end.");
}

#[test]
fn a_value_is_the_answer_whatever_was_said_beside_it() {
    for said in [&[] as &[&str], &["Now I submit it."]] {
        let outcome = Outcome { output: Some(json!([1, 2])), ..ended(said, Stop::EndTurn) };
        assert_eq!(outcome.answer(), "[1,2]");
    }
}

#[test]
fn a_refusal_is_said_once() {
    let stop = Stop::Failed(Failure::Refused("I will not".into()));
    let answer = ended(&["I will not"], stop).answer();
    assert_eq!(answer, "The run could not go on: the model refused: I will not.");
}

#[test]
fn a_window_that_is_too_small_is_told_with_its_sizes_and_what_to_do() {
    let words = Failure::ContextTooSmall { needed: 9000, window: 8000 }.to_string();
    for part in ["9000", "8000", "larger window"] {
        assert!(words.contains(part), "{words}");
    }
}
