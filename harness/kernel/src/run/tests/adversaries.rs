//! Models and servers of the worst kind: each run ends, and after a bounded number of calls.

use foundry_llm::{ErrorKind, LlmError, Reasoning, Reply, Usage};
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::random::WHOLE_SUMMARY;
use super::*;
use crate::policy::empty::EmptyReply;
use crate::step::Purpose;

/// A window that ten results fill.
const WINDOW: u64 = 6_000;

/// Turns before the limit ends it, so that another brake is seen at work.
const MOST_TURNS: u32 = 60;

/// What a model answers at the n-th step.
type Model = fn(u32, Purpose) -> Result<Reply, LlmError>;

/// Runs it to its end: the model calls for turns and for summaries, and the end.
fn played(settings: Settings, model: Model) -> (u32, u32, Stop) {
    let hidden = tool("tide_table", Effect::Read, Does(|_| Ok(String::new())));
    let tools = vec![echo(), Arc::new(crate::Tool::clone(&hidden).deferred())];
    let mut run = run_with(settings, tools);
    let (mut turns, mut summaries) = (0, 0);
    for step in 0..1_000 {
        match run.step(NOW) {
            Step::Done(outcome) => return (turns, summaries, outcome.stop),
            Step::CallTools(batch) => {
                let settled = batch.calls.iter().map(|call| {
                    let length = call.arguments.get("length").and_then(serde_json::Value::as_u64);
                    let length = usize::try_from(length.unwrap_or(1)).unwrap();
                    Settled::output("word ".repeat(length.div_ceil(5)))
                });
                let settled = settled.collect();
                run.ran(settled);
            }
            Step::CallModel(call) => {
                match call.purpose {
                    Purpose::Turn => turns += 1,
                    Purpose::Summary => summaries += 1,
                }
                run.replied(model(step, call.purpose));
            }
        }
    }
    panic!("no end after {turns} turns and {summaries} summaries: {:#?}", run.state.phase)
}

fn narrow() -> Settings {
    let limits = Limits { max_turns: MOST_TURNS, ..Limits::default() };
    Settings { limits, context_window: WINDOW, max_output_tokens: 300, ..settings() }
}

fn overflow(words: &str) -> LlmError {
    LlmError { status: Some(400), message: words.to_owned(), ..error(ErrorKind::Overflow) }
}

/// A call whose arguments, and so whose fingerprint, no other has, and so long a result.
fn reads(number: u32, length: u32) -> Reply {
    let arguments = format!(r#"{{"n": {number}, "length": {length}}}"#);
    let reply = calls([(&format!("c{number}"), "echo", &arguments)]);
    Reply { usage: Usage::default(), ..reply }
}

/// A turn that says much, so that stubs do not help.
fn talks(number: u32) -> Reply {
    Reply { text: Some("much is to be said ".repeat(150)), ..reads(number, 10) }
}

fn summary_or(purpose: Purpose, summary: Reply, turn: Reply) -> Reply {
    match purpose {
        Purpose::Summary => summary,
        Purpose::Turn => turn,
    }
}

fn cut_off(number: u32) -> Reply {
    Reply { stop: StopReason::MaxTokens, ..reads(number, 1) }
}

fn using(usage: u64, number: u32) -> Reply {
    let usage = Usage { input_tokens: usage, cache_read_tokens: usage, ..Usage::default() };
    Reply { usage, ..reads(number, 900) }
}

/// What it is, how many calls for turns and for summaries it may take at most, and how it
/// ends.
#[rstest]
#[case::always_an_overflow(|_, _| Err(overflow("prompt is too long")), 4, 1, "ContextTooSmall")]
#[case::an_overflow_of_a_window_of_nothing(
    |_, _| Err(overflow("prompt is too long: 10 tokens > 0 maximum")), 4, 1, "ContextTooSmall"
)]
#[case::an_overflow_after_each_good_turn(
    |n, _| if n % 3 == 0 { Ok(reads(n, 900)) } else { Err(overflow("too many tokens")) },
    200, 60, "ContextTooSmall"
)]
#[case::overflow_and_outage_by_turns(
    |n, _| Err(if n % 4 == 3 { overflow("too long") } else { error(ErrorKind::Server) }),
    40, 20, ""
)]
#[case::always_empty(|_, _| Ok(says("")), 2, 0, "Empty")]
#[case::always_cut_off(|n, _| Ok(cut_off(n)), 10, 0, "Repeating")]
#[case::always_the_same_call(|_, _| Ok(reads(1, 1)), 10, 0, "Repeating")]
#[case::always_the_same_bad_arguments(
    |_, _| Ok(calls([("a", "echo", r#"{"n": "#)])), 10, 0, "Repeating"
)]
#[case::always_a_search(
    |_, _| Ok(calls([("a", "ToolSearch", r#"{"query": "tide"}"#)])), 10, 0, "Repeating"
)]
#[case::always_another_search(
    |n, _| Ok(calls([("a", "ToolSearch", &format!(r#"{{"query": "{n}"}}"#))])), 60, 0, "MaxTurns"
)]
#[case::always_down(|_, _| Err(error(ErrorKind::Overloaded)), 7, 0, "Overloaded")]
#[case::never_a_completion(|_, _| Err(error(ErrorKind::NoCompletion)), 3, 0, "NoCompletion")]
#[case::usage_of_nothing(|n, _| Ok(using(0, n)), 60, 20, "MaxTurns")]
#[case::usage_beyond_all_numbers(|n, _| Ok(using(u64::MAX, n)), 60, 60, "")]
#[case::summaries_that_say_nothing(
    |n, purpose| Ok(summary_or(purpose, says(""), talks(n))), 60, 60, "MaxTurns"
)]
#[case::summaries_that_are_refused(
    |n, purpose| Ok(summary_or(
        purpose, Reply { stop: StopReason::Refusal, ..says("I will not") }, talks(n)
    )),
    60, 60, "MaxTurns"
)]
#[case::summaries_larger_than_what_they_stand_for(
    |n, purpose| Ok(summary_or(
        purpose, says(&format!("{WHOLE_SUMMARY}{}", "and more ".repeat(5_000))), talks(n)
    )),
    60, 60, "MaxTurns"
)]
#[case::summaries_that_fail(
    |n, purpose| match purpose {
        Purpose::Summary => Err(error(ErrorKind::Server)),
        Purpose::Turn => Ok(talks(n)),
    },
    60, 300, "MaxTurns"
)]
fn the_worst_of_models_takes_a_bounded_number_of_calls(
    #[case] model: Model,
    #[case] most_turns: u32,
    #[case] most_summaries: u32,
    #[case] ends: &str,
) {
    let settings = Settings { empty: EmptyReply::AskOnce, ..narrow() };
    let (turns, summaries, stop) = played(settings, model);
    assert!(turns <= most_turns && summaries <= most_summaries, "{turns}, {summaries}: {stop:?}");
    assert!(format!("{stop:?}").contains(ends), "{stop:?}");
}

/// A budget holds against a number that no sum can hold.
#[test]
fn usage_beyond_all_numbers_spends_any_budget_once() {
    let mut settings = narrow();
    settings.limits.budget_tokens = Some(u64::MAX - 1);
    let (turns, _, stop) = played(settings, |n, _| Ok(using(u64::MAX, n)));
    assert_eq!(turns, 1);
    assert!(matches!(stop, Stop::Budget { .. }), "{stop:?}");
}

fn thinks(number: u32, reply: Reply) -> Reply {
    let thinking =
        Reasoning::Thinking { text: format!("so {number}"), signature: format!("s{number}") };
    Reply { reasoning: vec![thinking], ..reply }
}

/// What was thought in the tool loop that goes on, as far as the log tells: from the last
/// thing that was said to the model. A fold leaves all of it or nothing.
fn thoughts_of_the_loop(run: &Run) -> Vec<Vec<Reasoning>> {
    let log = run.log();
    let began = log.iter().rposition(|entry| matches!(entry, Entry::User { .. })).unwrap();
    let own = began.max(run.state.said.thinking_from);
    let thought = |entry: &Entry| match entry {
        Entry::Assistant { reply } => Some(reply.reasoning.clone()),
        _ => None,
    };
    log[own..].iter().filter_map(thought).collect()
}

/// KERN-40: whatever is shortened, the thinking of a tool loop goes back whole or the loop
/// is gone, with steers, folds, stubs, overflows and a change of model between.
#[test]
fn thinking_goes_back_whole_or_with_its_loop() {
    let ladder = Ladder { retries: 0, ..Ladder::coding() };
    let fallback_model = Some("plan-b".to_owned());
    let mut run = run_with(Settings { fallback_model, ladder, ..narrow() }, vec![echo()]);
    let (mut whole, mut folded) = (0, 0);
    for number in 0..50 {
        let call = model_call(&mut run);
        if call.purpose == Purpose::Summary {
            run.replied(Ok(says(WHOLE_SUMMARY)));
            continue;
        }
        let thoughts = thoughts_of_the_loop(&run);
        let shown: Vec<_> = call
            .request
            .messages
            .iter()
            .filter_map(|message| match message {
                Message::Assistant { reasoning, .. } => Some(reasoning.clone()),
                Message::User { .. } | Message::ToolResults { .. } => None,
            })
            .collect();
        if !thoughts.is_empty() {
            let last = shown.len().saturating_sub(thoughts.len());
            // What a fold took is gone with all that was before it in the loop.
            let is_whole = shown.get(last..) == Some(thoughts.as_slice());
            let fold = run.log().iter().rev().find_map(|entry| match entry {
                Entry::Fold { covers, .. } => Some(*covers),
                _ => None,
            });
            let behind = fold.map_or(0, |covers| {
                run.log()[covers..].iter().filter(|e| matches!(e, Entry::Assistant { .. })).count()
            });
            let is_folded = fold.is_some() && shown.len() == behind && thoughts.ends_with(&shown);
            assert!(is_whole || is_folded, "{shown:#?} of {thoughts:#?}");
            whole += u32::from(is_whole);
            folded += u32::from(is_folded && !is_whole);
        }
        match number % 17 {
            16 => {
                run.steer(UserInput::from("and also that"));
                run.replied(Ok(thinks(number, reads(number, 900))));
            }
            8 => {
                run.replied(Err(overflow("prompt is too long")));
                continue;
            }
            13 if number > 17 && !run.state.fell_back => {
                run.replied(Err(error(ErrorKind::Server)));
                continue;
            }
            _ => run.replied(Ok(thinks(number, reads(number, 900)))),
        }
        batch(&mut run);
        run.ran(vec![Settled::output("word ".repeat(180))]);
    }
    assert!(run.state.fell_back);
    assert!(whole > 10 && folded > 0, "{whole} whole, {folded} folded");
}
