//! A conversation that outgrows the window comes to a finished turn (KERN-05 to KERN-07).

use foundry_llm::{ErrorKind, LlmError, Reply, ToolChoice, Usage};
use pretty_assertions::assert_eq;

use super::random::WHOLE_SUMMARY;
use super::*;
use crate::policy::fit::Stage;
use crate::step::{ModelCall, Purpose};

/// About 16,000 bytes, of which a tenth stays free.
const WINDOW: u64 = 4_000;

fn narrow() -> Run {
    let limits = Limits { max_turns: 100, ..Limits::default() };
    let settings =
        Settings { context_window: WINDOW, max_output_tokens: 300, limits, ..settings() };
    run_with(settings, vec![echo()])
}

/// What is under the narrow window, and nobody says how many tokens it was.
fn unmeasured(reply: Reply) -> Reply {
    Reply { usage: Usage::default(), ..reply }
}

/// One round: the model says so much, calls echo, and gets so much back.
fn round(run: &mut Run, number: usize, said: usize, returned: usize) {
    let arguments = format!(r#"{{"n":{number}}}"#);
    let mut reply = unmeasured(calls([(&format!("c{number}"), "echo", &arguments)]));
    reply.text = Some(format!("step {number}: {}", "said ".repeat(said / 5)));
    run.replied(Ok(reply));
    batch(run);
    run.ran(vec![Settled::output(format!("{number}: {}", "word ".repeat(returned / 5)))]);
}

/// Rounds until the run asks for something else than a turn, or shortens what it shows.
fn until_shortened(run: &mut Run, said: usize, returned: usize) -> ModelCall {
    for number in 0..60 {
        let call = model_call(run);
        if call.purpose == Purpose::Summary || !stages(run).is_empty() {
            return call;
        }
        round(run, number, said, returned);
    }
    panic!("nothing was shortened: {:#?}", run.log())
}

/// How the log was shortened so far.
fn stages(run: &Run) -> Vec<Stage> {
    let notes = run.state.news.notes.iter();
    notes
        .filter_map(|note| match note {
            Note::Compacted { stage, before_tokens, after_tokens } => {
                assert!(after_tokens < before_tokens, "{note:?}");
                Some(*stage)
            }
            Note::Fallback { .. } | Note::Context { .. } => None,
        })
        .collect()
}

fn finish(run: &mut Run) -> crate::Outcome {
    model_call(run);
    run.replied(Ok(says("it is done")));
    let outcome = outcome(run);
    assert_eq!(outcome.stop, Stop::EndTurn);
    assert_eq!(outcome.entries, run.log(), "all that was produced is returned");
    outcome
}

fn bytes(call: &ModelCall) -> usize {
    format!("{:?}", call.request.messages).len()
}

fn overflow(words: &str) -> LlmError {
    LlmError { status: Some(400), message: words.to_owned(), ..error(ErrorKind::Overflow) }
}

/// KERN-05, KERN-07
#[test]
fn older_results_become_stubs_first_and_every_entry_stays() {
    let mut run = narrow();
    let call = until_shortened(&mut run, 10, 1500);
    assert_eq!((call.purpose, stages(&run)), (Purpose::Turn, vec![Stage::Micro]));
    assert!(bytes(&call) < 15_000, "{} bytes", bytes(&call));
    let shown = format!("{:?}", call.request.messages);
    let oldest = format!("0: {}", "word ".repeat(200));
    assert!(!shown.contains(&oldest), "the oldest result is gone from sight");
    let outcome = finish(&mut run);
    let kept = format!("{:?}", outcome.entries);
    assert!(kept.contains(&oldest), "and it is still in the log");
    assert_eq!(outcome.entries.iter().filter(|e| matches!(e, Entry::Stubs { .. })).count(), 1);
}

/// KERN-04, KERN-05: what stubs cannot shorten is summed up by the model, with the same
/// system prompt and tools, so that the provider's cache holds.
#[test]
fn then_the_model_is_asked_for_a_summary_and_goes_on_from_it() {
    let mut run = narrow();
    let before = model_call(&mut run).request;
    let summary = until_shortened(&mut run, 1500, 10);
    assert_eq!((summary.purpose, summary.attempt), (Purpose::Summary, 0));
    assert_eq!((&summary.request.system, &summary.request.tools), (&before.system, &before.tools));
    assert_eq!(summary.request.tool_choice, ToolChoice::None);
    let turns = run.turns();
    run.replied(Ok(says(WHOLE_SUMMARY)));
    let call = model_call(&mut run);
    assert_eq!(stages(&run), [Stage::Summary]);
    assert_eq!((call.purpose, call.turn, run.turns()), (Purpose::Turn, turns + 1, turns));
    assert!(bytes(&call) < 8_000, "{} bytes", bytes(&call));
    let shown = format!("{:?}", call.request.messages);
    assert!(shown.contains("read page 4") && shown.contains("what is due?"), "{shown}");
    // 11 tokens for the summary and 11 for the end; the rounds are unmeasured.
    assert_eq!(finish(&mut run).usage.total(), 22);
}

/// KERN-05: a summary that cannot be had, or is none, leaves it to the rule.
#[test]
fn at_last_a_digest_is_made_by_rule() {
    for answer in [
        Ok(says("## Standing goal\nhalf a form")),
        Ok(says("")),
        Err(error(ErrorKind::BadRequest)),
        Err(overflow("prompt is too long")),
    ] {
        let mut run = narrow();
        until_shortened(&mut run, 1500, 10);
        run.replied(answer);
        let call = model_call(&mut run);
        assert_eq!(stages(&run), [Stage::Structural]);
        assert_eq!(call.purpose, Purpose::Turn);
        finish(&mut run);
    }
}

/// A summary's failures go up the one ladder there is.
#[test]
fn a_summary_that_fails_in_passing_is_asked_for_again() {
    let mut run = narrow();
    let first = until_shortened(&mut run, 1500, 10);
    run.replied(Err(error(ErrorKind::Server)));
    let again = model_call(&mut run);
    assert_eq!((again.purpose, again.attempt), (Purpose::Summary, 1));
    assert_eq!(again.request, first.request);
    assert!(again.not_before > Some(NOW));
    for _ in 0..6 {
        model_call(&mut run);
        run.replied(Err(error(ErrorKind::Server)));
    }
    assert_eq!(model_call(&mut run).purpose, Purpose::Turn);
    assert_eq!(stages(&run), [Stage::Structural]);
}

#[test]
fn a_budget_that_is_spent_by_a_summary_or_refused_to_it_ends_the_run() {
    let mut run = narrow();
    until_shortened(&mut run, 1500, 10);
    run.replied(Err(error(ErrorKind::Budget)));
    assert!(matches!(outcome(&mut run).stop, Stop::Budget { .. }));

    let mut run = narrow();
    run.state.settings.limits.budget_tokens = Some(100);
    until_shortened(&mut run, 1500, 10);
    let usage = Usage { input_tokens: 200, ..Usage::default() };
    run.replied(Ok(Reply { usage, ..says(WHOLE_SUMMARY) }));
    assert!(matches!(outcome(&mut run).stop, Stop::Budget { .. }));
}

/// KERN-25: an interrupted summary appends nothing, and is asked for again.
#[test]
fn an_interrupted_summary_leaves_the_conversation_as_it_was() {
    let mut run = narrow();
    until_shortened(&mut run, 1500, 10);
    let before = run.log().to_vec();
    run.steer(UserInput::from("rather page 5"));
    run.interrupt();
    run.replied(Ok(says(WHOLE_SUMMARY)));
    assert_eq!(run.log(), before);
    assert_eq!(model_call(&mut run).purpose, Purpose::Summary);
    run.replied(Ok(says(WHOLE_SUMMARY)));
    assert_eq!(model_call(&mut run).request.messages.last(), Some(&said("rather page 5")));
}

/// KERN-05: a provider's overflow enters at the next stage, in any wording, in the middle
/// of a run, and spends no retry.
#[test]
fn an_overflow_is_answered_by_compaction_and_not_by_a_retry() {
    let ladder = Ladder { retries: 0, ..Ladder::coding() };
    let settings = Settings { ladder, max_output_tokens: 300, ..settings() };
    let mut run = run_with(settings, vec![echo()]);
    for number in 0..6 {
        model_call(&mut run);
        round(&mut run, number, 10, 3000);
    }
    let refused = model_call(&mut run);
    run.replied(Err(overflow("prompt is too long: 5000 tokens > 4000 maximum")));
    let next = model_call(&mut run);
    assert_eq!((next.attempt, next.not_before, next.after.clone()), (0, None, None));
    assert_eq!(stages(&run), [Stage::Micro]);
    assert!(bytes(&next) < bytes(&refused), "{} of {}", bytes(&next), bytes(&refused));
    finish(&mut run);
}

/// Every overflow finds a smaller request or the end; none is answered by the same request.
#[test]
fn overflows_without_end_come_to_an_end_that_names_the_sizes() {
    let mut run = run();
    for number in 0..6 {
        model_call(&mut run);
        round(&mut run, number, 400, 3000);
    }
    let mut last = usize::MAX;
    for _ in 0..20 {
        match run.step(NOW) {
            Step::CallModel(call) if call.purpose == Purpose::Turn => {
                assert!(bytes(&call) < last, "a request that was refused is not made again");
                last = bytes(&call);
            }
            Step::CallModel(_) => {}
            Step::Done(outcome) => {
                let Stop::Failed(Failure::ContextTooSmall { needed, window }) = outcome.stop else {
                    panic!("too small: {:?}", outcome.stop)
                };
                assert!(needed > window, "{needed} of {window}");
                return;
            }
            Step::CallTools(_) => panic!("no calls are out"),
        }
        run.replied(Err(overflow("input is too long")));
    }
    panic!("no end: {:?}", stages(&run))
}

#[test]
fn a_system_prompt_that_fills_the_window_ends_the_run_before_anything_is_asked() {
    let system = "rule ".repeat(5_000);
    let settings = Settings { system, context_window: WINDOW, ..settings() };
    let mut run = run_with(settings, vec![echo()]);
    let stop = outcome(&mut run).stop;
    assert!(matches!(stop, Stop::Failed(Failure::ContextTooSmall { .. })), "{stop:?}");
    assert_eq!(run.log().len(), 1);
}

/// Some servers cut a prompt that is too long without a word: the nothing that comes of it
/// is no rightful end.
#[test]
fn an_empty_reply_to_a_full_prompt_is_taken_for_an_overflow_once() {
    let mut run = run_with(
        Settings { context_window: WINDOW, max_output_tokens: 300, ..settings() },
        vec![echo()],
    );
    for number in 0..8 {
        model_call(&mut run);
        round(&mut run, number, 10, 1400);
    }
    let full = model_call(&mut run);
    assert_eq!(stages(&run), [], "it is nearly full, and not over the measure");
    run.replied(Ok(unmeasured(says(""))));
    let next = model_call(&mut run);
    assert_eq!(stages(&run), [Stage::Micro]);
    assert!(bytes(&next) < bytes(&full));
    run.replied(Ok(unmeasured(says(""))));
    assert_eq!(outcome(&mut run).stop, Stop::EndTurn);
}

#[test]
fn an_empty_reply_that_no_room_can_be_made_for_is_believed_the_second_time() {
    let settings = Settings {
        system: "rule ".repeat(2_500),
        context_window: WINDOW,
        max_output_tokens: 300,
        ..settings()
    };
    let mut run = run_with(settings, vec![echo()]);
    for _ in 0..2 {
        model_call(&mut run);
        run.replied(Ok(unmeasured(says(""))));
    }
    let outcome = outcome(&mut run);
    assert_eq!((outcome.stop, outcome.turns), (Stop::EndTurn, 2));
}
