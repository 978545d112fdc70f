//! Random histories, as runs and a careless store could leave them, through every stage.

use std::time::{Duration, Instant};

use foundry_llm::{Reasoning, StopReason, ToolCall};
use pretty_assertions::assert_eq;
use proptest::collection::vec;
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::entry::{CallResult, Settled, UserInput};
use crate::scenes::reply;
use crate::view::View;

/// What a summariser does.
#[derive(Clone, Copy, Debug)]
enum Summariser {
    FillsIn,
    Rambles,
    IsCutOff,
    Fails,
}

fn text() -> impl Strategy<Value = String> {
    let bytes = prop_oneof![3 => 0..60_usize, 2 => 0..1_500_usize, 1 => 0..9_000_usize];
    (bytes, "[ -~é]{0,3}").prop_map(|(bytes, start)| format!("{start}{}", "w".repeat(bytes)))
}

fn some_calls() -> impl Strategy<Value = Vec<ToolCall>> {
    let arguments = prop_oneof![
        Just("{}".to_owned()),
        Just(r#"{"path":"src/a.rs"}"#.to_owned()),
        Just(r#"{"path":"src/"#.to_owned()),
        text().prop_map(|text| serde_json::json!({ "content": text }).to_string()),
    ];
    let call = ("[a-d]{0,2}", arguments).prop_map(|(id, arguments)| ToolCall {
        id,
        name: "write".into(),
        arguments,
    });
    vec(call, 0..4)
}

fn settled() -> impl Strategy<Value = Settled> {
    prop_oneof![
        4 => text().prop_map(Settled::output),
        1 => text().prop_map(Settled::failed),
        1 => Just(Settled::unknown("the pod went away")),
    ]
}

/// Answers to these calls.
fn answers(calls: Vec<ToolCall>) -> impl Strategy<Value = Entry> {
    let count = calls.len();
    vec(settled(), count).prop_map(move |settled| Entry::Results {
        results: std::iter::zip(&calls, settled)
            .map(|(call, settled)| CallResult {
                call_id: call.id.clone(),
                name: if call.id.starts_with('a') {
                    "load_skill".into()
                } else {
                    call.name.clone()
                },
                settled,
            })
            .collect(),
    })
}

/// One reply, and what became of its calls.
fn step() -> impl Strategy<Value = Vec<Entry>> {
    let thought = Reasoning::Thinking { text: "hm".into(), signature: "s1gn3d==".into() };
    let said = (proptest::option::of(text()), vec(Just(thought), 0..2), some_calls());
    said.prop_flat_map(|(text, reasoning, calls)| {
        let said = Reply { reasoning, ..reply(text.as_deref(), calls.clone()) };
        answers(calls.clone()).prop_map(move |results| {
            let mut entries = vec![Entry::Assistant { reply: said.clone() }];
            entries.extend((!calls.is_empty()).then_some(results));
            entries
        })
    })
}

fn steps(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Entry>> {
    let steered = (step(), proptest::option::weighted(0.2, text())).prop_map(|(mut step, text)| {
        step.extend(text.map(|text| Entry::User { input: UserInput::from(format!("now {text}")) }));
        step
    });
    vec(steered, count).prop_map(|steps| steps.concat())
}

/// A history that lost entries here and there.
fn damaged() -> impl Strategy<Value = Vec<Entry>> {
    steps(0..12).prop_flat_map(|entries| {
        vec(proptest::bool::weighted(0.85), entries.len()).prop_map(move |kept| {
            let mut log = vec![user("long ago")];
            let left = std::iter::zip(&entries, kept).filter(|(_, kept)| *kept);
            log.extend(left.map(|(entry, _)| entry.clone()));
            log
        })
    })
}

fn summariser() -> impl Strategy<Value = Summariser> {
    prop_oneof![
        3 => Just(Summariser::FillsIn),
        1 => Just(Summariser::Rambles),
        1 => Just(Summariser::IsCutOff),
        1 => Just(Summariser::Fails),
    ]
}

fn answer(summariser: Summariser) -> Result<Reply, LlmError> {
    match summariser {
        Summariser::FillsIn => Ok(says(FORM)),
        Summariser::Rambles => Ok(says("We did a lot.")),
        Summariser::IsCutOff => Ok(Reply { stop: StopReason::MaxTokens, ..says(FORM) }),
        Summariser::Fails => Err(error(ErrorKind::Overflow)),
    }
}

const GOAL: &str = "the goal of this run: ship the parser";

fn seen(log: &[Entry], began: usize) -> Conversation<'_> {
    let stays: &dyn Fn(&str) -> bool = &|name| name == "load_skill";
    Conversation { began, thinking_from: began, stays, ..conversation(log) }
}

/// What every view must be: legal, with the goal in it.
fn assert_whole(log: &[Entry], began: usize) -> View {
    let view = view_of(&seen(log, began));
    assert_eq!(violations(&view), [], "{:?}", view.messages);
    assert!(view.starts_with_user() && tells(&view, GOAL));
    view
}

/// Prepares until the request fits or cannot; every stage must leave less than there was.
fn through_the_stages(fit: &mut Fit, log: &mut Vec<Entry>, began: usize, by: Summariser) {
    for _ in 0..5 {
        let before = fit.tokens(&seen(log, began));
        let entry = match fit.prepare(&seen(log, began)) {
            Prepared::Fits | Prepared::TooSmall { .. } => return,
            Prepared::Append(entry) => Some(entry),
            Prepared::Summarise { covers, messages } => {
                let request = View { messages, repaired: Vec::new() };
                assert_eq!(violations(&request), [], "{:?}", request.messages);
                fit.summarised(covers, answer(by).as_ref(), &seen(log, began))
            }
        };
        if let Some(entry) = entry {
            log.push(entry);
            assert_whole(log, began);
            let after = fit.tokens(&seen(log, began));
            assert!(after <= before, "{after} after {before}");
        }
    }
    panic!("no end of stages");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Whatever was stored and whatever is said, each stage leaves a view that all rules
    /// accept, no larger than before, with the goal in it; and the stages end.
    #[test]
    fn every_stage_leaves_a_legal_smaller_view_that_keeps_the_goal(
        history in damaged(),
        run in vec(steps(0..8), 1..4),
        window in 2_500..12_000_u64,
        refusals in vec(any::<bool>(), 4),
        by in summariser(),
    ) {
        let began = history.len();
        let mut log = history;
        log.push(user(GOAL));
        let mut fit = Fit::new(window);
        for (steps, refused) in std::iter::zip(run, refusals) {
            log.extend(steps);
            log.push(user("on"));
            through_the_stages(&mut fit, &mut log, began, by);
            if refused {
                fit.overflowed(&error(ErrorKind::Overflow));
                through_the_stages(&mut fit, &mut log, began, by);
            }
            let tokens = fit.tokens(&seen(&log, began));
            fit.replied(used(tokens * 3 / 2));
        }
    }

    /// Between two stages the view only grows at its end.
    #[test]
    fn a_longer_log_is_seen_as_the_shorter_one_and_more(
        history in damaged(),
        run in steps(1..6),
        covers in 0..20_usize,
    ) {
        let began = history.len();
        let mut log = history;
        log.push(user(GOAL));
        log.push(Entry::Stubs { covers });
        let before = assert_whole(&log, began).messages;
        log.extend(run);
        log.push(user("on"));
        let after = assert_whole(&log, began).messages;
        prop_assert!(after.starts_with(&before));
    }
}

const HOSTILE: usize = 100_000;

/// Calls of few ids with cut arguments, none answered: each needs a new id, which is slow
/// enough to make do with fewer.
fn dangling() -> Vec<Entry> {
    let id = |n: usize| if n.is_multiple_of(2) { "" } else { "same id" };
    (0..HOSTILE / 5).map(|n| call(id(n), "write", "{\"a\": ")).collect()
}

/// Results of calls that nobody made.
fn orphans() -> Vec<Entry> {
    (0..HOSTILE).map(|_| result("nobody", "write", "done")).collect()
}

/// One call, and what a person says between parts of its results.
fn intruders() -> Vec<Entry> {
    let said = |n: usize| if n.is_multiple_of(2) { user("on") } else { result("1", "write", "x") };
    std::iter::once(call("1", "write", "{}")).chain((0..HOSTILE).map(said)).collect()
}

/// One reply that calls as often, answered backwards.
fn one_reply_of_all() -> Vec<Entry> {
    let calls = (0..HOSTILE).map(|n| ToolCall {
        id: (n % 7).to_string(),
        name: "write".into(),
        arguments: "{}".into(),
    });
    let answers = (0..HOSTILE).rev().map(|n| CallResult {
        call_id: n.to_string(),
        name: "write".into(),
        settled: Settled::output("x".repeat(50)),
    });
    let calling = Entry::Assistant { reply: reply(None, calls.collect()) };
    vec![calling, Entry::Results { results: answers.collect() }]
}

/// A history as large and as wrong as a store can hold is made to fit: what is quadratic
/// in it would take hours.
#[rstest]
#[case::dangling(dangling())]
#[case::orphans(orphans())]
#[case::intruders(intruders())]
#[case::one_reply_of_all(one_reply_of_all())]
fn a_hostile_history_takes_linear_time(#[case] history: Vec<Entry>) {
    let start = Instant::now();
    let mut log = vec![user("long ago")];
    log.extend(history);
    let began = log.len();
    log.push(user(GOAL));
    let mut fit = Fit::new(8_000);
    let summarised = |fit: &mut Fit, covers, log: &[Entry]| {
        fit.summarised(covers, Ok(&says(FORM)), &seen(log, began))
    };
    loop {
        let entry = match fit.prepare(&seen(&log, began)) {
            Prepared::Fits => break,
            Prepared::Append(entry) => Some(entry),
            Prepared::Summarise { covers, .. } => summarised(&mut fit, covers, &log),
            Prepared::TooSmall { needed, window } => panic!("{needed} do not go into {window}"),
        };
        log.extend(entry);
    }
    assert_whole(&log, began);
    assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
}
