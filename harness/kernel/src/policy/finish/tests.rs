use foundry_llm::ToolCall;
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;
use crate::entry::UserInput;
use crate::scenes::{Does, calls, error, reply, says, tool};
use crate::tool::{Effect, Tool};

const NEW: Told = Told { nudged: false, asked_again: false };
const NUDGED: Told = Told { nudged: true, asked_again: false };
const ASKED: Told = Told { nudged: false, asked_again: true };
const ENDS: Wants = Wants::Text(EmptyReply::Ends);
const ASKS: Wants = Wants::Text(EmptyReply::AskOnce);

fn ended() -> Next {
    Next::End(Stop::EndTurn)
}

fn failed(failure: Failure) -> Next {
    Next::End(Stop::Failed(failure))
}

fn tools() -> Toolbox {
    let post = tool("post", Effect::Write, Does(|_| Ok(String::new())));
    let post = std::sync::Arc::new(Tool::clone(&post).delivering());
    Toolbox::assemble(vec![post, crate::scenes::echo()], None).unwrap()
}

/// LOOP-06, KERN-28
#[rstest]
#[case(ENDS, NEW, "done", ended())]
#[case(ASKS, NEW, "done", ended())]
#[case(ASKS, ASKED, "done", ended())]
#[case(ENDS, NEW, "", ended())]
#[case(ASKS, NEW, " ", Next::AskAgain)]
#[case(ASKS, ASKED, "", failed(Failure::Empty))]
#[case(ASKS, NUDGED, "", Next::AskAgain)]
#[case(Wants::Value, NEW, "done", Next::Nudge)]
#[case(Wants::Value, NEW, "", Next::Nudge)]
#[case(Wants::Value, NUDGED, "done", failed(Failure::NoOutput))]
#[case(Wants::Value, NUDGED, "", failed(Failure::NoOutput))]
fn a_reply_without_calls_ends_the_run_unless_it_lacks_what_the_run_is_for(
    #[case] wants: Wants,
    #[case] told: Told,
    #[case] text: &str,
    #[case] expected: Next,
) {
    let log =
        [Entry::User { input: UserInput::from("go") }, Entry::Assistant { reply: says(text) }];
    assert_eq!(check(&log, wants, told, &tools()), expected);
}

#[rstest]
#[case(vec![])]
#[case(vec![Entry::User { input: UserInput::from("go") }])]
#[case(vec![Entry::Assistant { reply: calls([("a", "echo", "{}")]) }])]
#[case(vec![Entry::Results { results: Vec::new() }])]
#[case(vec![Entry::Stubs { covers: 0 }])]
fn whatever_else_comes_last_the_model_is_asked_on(#[case] log: Vec<Entry>) {
    assert_eq!(check(&log, ENDS, NEW, &tools()), Next::GoOn);
}

/// An answer that was posted needs no word after it; one that failed to be posted does,
/// and so does a call that posted nothing.
#[rstest]
#[case("post", Settled::output("posted"), ended())]
#[case("post", Settled::failed("no such channel"), Next::AskAgain)]
#[case("echo", Settled::output("{}"), Next::AskAgain)]
fn an_empty_reply_is_a_rightful_end_after_a_delivery(
    #[case] name: &str,
    #[case] settled: Settled,
    #[case] expected: Next,
) {
    let call = ToolCall { id: "a".into(), name: name.into(), arguments: String::new() };
    let result = CallResult { call_id: "a".into(), name: name.into(), settled };
    let log = [
        Entry::User { input: UserInput::from("go") },
        Entry::Assistant { reply: reply(None, vec![call]) },
        Entry::Results { results: vec![result] },
        Entry::Stubs { covers: 2 },
        Entry::Assistant { reply: says("") },
    ];
    assert_eq!(check(&log, ASKS, NEW, &tools()), expected);
}

#[test]
fn a_budget_error_is_a_budget_and_every_other_error_a_failure() {
    let budget = error(ErrorKind::Budget);
    assert_eq!(after_error(&budget), Stop::Budget { reason: budget.message });
    let dialect = error(ErrorKind::Dialect);
    assert_eq!(after_error(&dialect), Stop::Failed(Failure::Model(dialect)));
}
