//! The stages as a table of what leads to which, then all of them over random histories.

mod random;

use foundry_llm::ErrorKind;
use pretty_assertions::assert_eq;

use super::scenes::{
    FORM, assistant, call, conversation, reads, result, tells, texts, thoughtful_call, user,
};
use super::*;
use crate::scenes::{error, says};
use crate::view::{view_of, violations};

fn used(input_tokens: u64) -> Usage {
    Usage { input_tokens, output_tokens: 100, ..Usage::default() }
}

fn overflow(words: &str) -> LlmError {
    LlmError { message: words.to_owned(), ..error(ErrorKind::Overflow) }
}

/// Reads of 2,000 bytes each, which are about 500 tokens.
fn log_of_reads(count: usize) -> Vec<Entry> {
    let mut log = vec![user("ship the parser")];
    log.extend(reads(count, 1_930));
    log
}

/// What is done until the request fits, with a summariser that fills in the form.
fn compacted(fit: &mut Fit, log: &mut Vec<Entry>) -> Vec<Stage> {
    let mut stages = Vec::new();
    loop {
        assert!(stages.len() < 4, "no end of stages: {stages:?}");
        let seen = conversation(log);
        let (stage, entry) = match fit.prepare(&seen) {
            Prepared::Fits => return stages,
            Prepared::Append(entry @ Entry::Stubs { .. }) => (Stage::Micro, entry),
            Prepared::Append(entry) => (Stage::Structural, entry),
            Prepared::Summarise { covers, .. } => {
                let fold = fit.summarised(covers, Ok(&says(FORM)), &seen);
                (Stage::Summary, fold.expect("the form is complete"))
            }
            Prepared::TooSmall { needed, window } => panic!("{needed} do not go into {window}"),
        };
        stages.push(stage);
        log.push(entry);
        assert_eq!(violations(&view_of(&conversation(log))), []);
    }
}

/// KERN-05
#[test]
fn compaction_starts_at_90_per_cent_of_the_window_less_the_output_cap() {
    let log = log_of_reads(30);
    let seen = conversation(&log); // output cap 1,000
    let tokens = Fit::new(0).tokens(&seen);
    let window = |budget: u64| Fit::new(budget + 1_000).prepare(&seen);
    assert_eq!(window(tokens * 10 / 9 + 10), Prepared::Fits);
    assert_ne!(window(tokens * 10 / 9 - 10), Prepared::Fits);
}

/// KERN-05
#[test]
fn stubs_come_first_then_a_summary_then_a_digest_by_rule() {
    let mut fit = Fit::new(16_000);
    let mut log = log_of_reads(30);
    assert_eq!(compacted(&mut fit, &mut log), [Stage::Micro]);
    assert!(fit.tokens(&conversation(&log)) < 8_000);

    // Long words of the model itself are no results: stubs would not help.
    log.extend((0..30).flat_map(|_| [user("on"), assistant(&"word ".repeat(400))]));
    log.push(user("on"));
    assert_eq!(compacted(&mut fit, &mut log), [Stage::Summary]);
    assert!(tells(&view_of(&conversation(&log)), "ship the parser"));

    log.extend((0..30).flat_map(|_| [user("on"), assistant(&"word ".repeat(400))]));
    log.push(user("on"));
    assert_eq!(compacted(&mut fit, &mut log), [Stage::Structural], "no reply since");
    assert!(tells(&view_of(&conversation(&log)), "ship the parser"));
}

/// CODE-40
#[test]
fn an_entry_adds_to_the_percentage_what_the_next_look_finds_of_it() {
    let mut fit = Fit::new(16_000);
    let mut log = log_of_reads(8);
    assert_eq!(fit.prepare(&conversation(&log)), Prepared::Fits);
    let (before, entry) = (fit.percent_prepared(), assistant(&"word ".repeat(900)));
    let told = fit.percent_with(&entry);
    log.push(entry);
    assert_eq!(fit.prepare(&conversation(&log)), Prepared::Fits);
    assert_eq!(told, fit.percent_prepared());
    assert!(told > before, "{told} after {before}");
}

/// anomalyco/opencode#27924: compaction that fires again and again.
#[test]
fn each_stage_runs_once_until_a_reply_succeeds() {
    let mut fit = Fit::new(16_000);
    let mut log = log_of_reads(30);
    assert_eq!(compacted(&mut fit, &mut log), [Stage::Micro]);
    log.extend(reads(30, 1_930).into_iter().map(renamed));
    assert_eq!(compacted(&mut fit, &mut log), [Stage::Summary], "stubs were used");
    fit.replied(used(0));
    log.extend(reads(30, 1_930));
    assert_eq!(compacted(&mut fit, &mut log), [Stage::Micro], "free again");
}

/// The ids of a second batch of reads, so that no rule has to rename them.
fn renamed(mut entry: Entry) -> Entry {
    match &mut entry {
        Entry::Assistant { reply } => reply.calls[0].id.insert(0, 'b'),
        Entry::Results { results } => results[0].call_id.insert(0, 'b'),
        Entry::User { .. } | Entry::Fold { .. } | Entry::Stubs { .. } => {}
    }
    entry
}

#[test]
fn stubs_that_free_little_are_not_made() {
    let mut log = vec![user("ship the parser")];
    log.extend((0..30).flat_map(|_| [user("on"), assistant(&"word ".repeat(380))]));
    log.extend(reads(3, 1_000)); // a twentieth of it
    let mut fit = Fit::new(16_000);
    assert_eq!(compacted(&mut fit, &mut log), [Stage::Summary]);
}

/// KERN-05: a stage is judged by what it leaves.
#[test]
fn after_a_summary_the_messages_are_below_half_of_what_system_and_tools_leave() {
    let mut fit = Fit::new(16_000);
    let mut log = vec![user("ship the parser")];
    log.extend((0..40).flat_map(|_| [user("on"), assistant(&"word ".repeat(380))]));
    log.push(user("on"));
    assert_eq!(compacted(&mut fit, &mut log), [Stage::Summary]);
    assert!(fit.tokens(&conversation(&log)) < 100 + (15_000 - 100) / 2);
}

#[test]
fn a_refusal_as_too_long_enters_at_the_next_unused_stage_whatever_the_measure_says() {
    let mut fit = Fit::new(128_000);
    let mut log = log_of_reads(30);
    for stage in [Stage::Micro, Stage::Summary, Stage::Structural] {
        assert_eq!(fit.prepare(&conversation(&log)), Prepared::Fits);
        fit.overflowed(&overflow("HTTP 400: prompt is too long"));
        assert_eq!(compacted(&mut fit, &mut log), [stage]);
    }
    fit.overflowed(&overflow("HTTP 400: prompt is too long"));
    let Prepared::TooSmall { needed, window } = fit.prepare(&conversation(&log)) else {
        panic!("not too small")
    };
    assert!(needed > window, "{needed} > {window}");
}

#[test]
fn a_window_that_a_refusal_states_is_kept_to_from_then_on() {
    let mut fit = Fit::new(128_000);
    let mut log = log_of_reads(30); // 15,000 tokens
    assert_eq!(fit.prepare(&conversation(&log)), Prepared::Fits);
    fit.overflowed(&overflow("HTTP 400: This model's maximum context length is 8192 tokens."));
    assert_eq!(compacted(&mut fit, &mut log), [Stage::Micro]);
    fit.replied(used(0));
    log.extend(reads(14, 1_930).into_iter().map(renamed));
    assert_eq!(compacted(&mut fit, &mut log), [Stage::Micro], "by measure");
}

/// A size that was refused once is not sent again, though no window was stated.
#[test]
fn what_was_refused_is_too_large_from_then_on() {
    let mut fit = Fit::new(128_000);
    let mut log = log_of_reads(30);
    assert_eq!(fit.prepare(&conversation(&log)), Prepared::Fits);
    fit.overflowed(&overflow("HTTP 413: request_too_large"));
    assert_eq!(compacted(&mut fit, &mut log), [Stage::Micro]);
    fit.replied(used(0));
    log.extend(reads(28, 1_930).into_iter().map(renamed));
    assert_eq!(compacted(&mut fit, &mut log), [Stage::Micro]);
}

/// Some servers accept any prompt and cut it: their own count gives them away.
#[test]
fn a_usage_above_the_window_compacts_before_the_next_request() {
    let mut fit = Fit::new(20_000);
    let mut log = log_of_reads(30);
    assert_eq!(fit.prepare(&conversation(&log)), Prepared::Fits);
    fit.replied(used(23_000));
    log.push(assistant("so far so good"));
    log.push(user("on"));
    assert_eq!(compacted(&mut fit, &mut log), [Stage::Micro]);
}

#[test]
fn an_empty_reply_to_a_nearly_full_prompt_is_taken_for_an_overflow_once() {
    let empty = || Entry::Assistant { reply: Reply { text: None, ..says("") } };
    let answered = |window: u64, reply: Entry| {
        let mut fit = Fit::new(window);
        let mut log = log_of_reads(30); // 15,000 tokens
        assert_eq!(fit.prepare(&conversation(&log)), Prepared::Fits);
        fit.replied(used(0));
        log.extend([reply, user("go on")]);
        let stages = compacted(&mut fit, &mut log);
        fit.replied(used(0));
        log.extend([assistant("so"), user("on")]);
        assert_eq!(compacted(&mut fit, &mut log), [], "only once");
        stages
    };
    assert_eq!(answered(19_000, empty()), [Stage::Micro]);
    assert_eq!(answered(19_000, assistant("I am here")), []);
    assert_eq!(answered(128_000, empty()), [], "nothing was full");
}

/// An empty reply may have another cause: it never ends a run by itself.
#[test]
fn an_empty_reply_to_a_full_prompt_that_nothing_makes_smaller_does_not_end_the_run() {
    let mut log = vec![user(&"word ".repeat(2_400))]; // 3,000 tokens, and 100 of system prompt
    let mut fit = Fit::new(4_600);
    assert_eq!(fit.prepare(&conversation(&log)), Prepared::Fits);
    fit.replied(used(0));
    log.push(Entry::Assistant { reply: Reply { text: None, ..says("") } });
    log.push(user("go on"));
    assert!(fit.was_cut_silently(&conversation(&log)));
    assert_eq!(fit.prepare(&conversation(&log)), Prepared::Fits);
    assert!(!fit.was_cut_silently(&conversation(&log)), "heeded");
}

#[test]
fn a_request_over_90_per_cent_that_nothing_makes_smaller_is_sent_while_it_fits() {
    let ask = "word ".repeat(2_720); // 13,600 bytes: 3,400 tokens and 100 of system prompt
    let log = vec![user(&ask)];
    let prepared = |window: u64| Fit::new(window).prepare(&conversation(&log));
    assert_eq!(prepared(4_700), Prepared::Fits);
    assert_eq!(prepared(4_400), Prepared::TooSmall { needed: 4_504, window: 4_400 });
}

#[test]
fn a_system_prompt_that_fills_the_window_is_told_with_sizes() {
    let log = vec![user("ship the parser")];
    let seen = Conversation { fixed_bytes: 40_000, ..conversation(&log) };
    let expected = Prepared::TooSmall { needed: 11_007, window: 8_000 };
    assert_eq!(Fit::new(8_000).prepare(&seen), expected);
}

/// openai/codex#34095: a run goes on after many compactions, and still knows its goal.
#[test]
fn a_long_run_compacts_as_often_as_it_must_and_never_loses_its_goal() {
    let mut fit = Fit::new(16_000);
    let mut log = vec![user("ship the parser")];
    let mut stages = Vec::new();
    for turn in 0..150 {
        stages.extend(compacted(&mut fit, &mut log));
        let seen = conversation(&log);
        let view = view_of(&seen);
        assert!(tells(&view, "ship the parser"), "turn {turn}");
        assert!(fit.tokens(&seen) <= 13_500, "turn {turn}");
        fit.replied(used(fit.tokens(&seen)));
        let id = format!("n{turn}");
        log.push(thoughtful_call(&id, "read_file", r#"{"path":"src/a.rs"}"#));
        log.push(result(&id, "read_file", &format!("{turn} {}", "x".repeat(1_900))));
    }
    assert!(stages.contains(&Stage::Micro) && stages.contains(&Stage::Summary), "{stages:?}");
    assert!(stages.len() < 15, "{stages:?}");
}

#[test]
fn parallel_results_that_overflow_together_are_folded_and_the_run_goes_on() {
    let mut fit = Fit::new(16_000);
    let mut log = vec![user("ship the parser"), call("1", "look", "{}"), result("1", "look", "x")];
    let many = (0..10).map(|n| crate::CallResult {
        call_id: format!("p{n}"),
        name: "read_file".into(),
        settled: crate::Settled::output(format!("file {n}\n{}", "x".repeat(40_000))),
    });
    let calls = (0..10).map(|n| foundry_llm::ToolCall {
        id: format!("p{n}"),
        name: "read_file".into(),
        arguments: format!(r#"{{"path":"src/{n}.rs"}}"#),
    });
    log.push(Entry::Assistant { reply: crate::scenes::reply(None, calls.collect()) });
    log.push(Entry::Results { results: many.collect() });
    compacted(&mut fit, &mut log);
    let view = view_of(&conversation(&log));
    assert!(tells(&view, "ship the parser"));
    assert!(fit.tokens(&conversation(&log)) < 13_500, "{:?}", texts(&view.messages).len());
}

#[test]
fn what_a_run_knows_of_its_window_survives_being_stored() {
    let mut fit = Fit::new(16_000);
    let mut log = log_of_reads(30);
    compacted(&mut fit, &mut log);
    fit.overflowed(&overflow("HTTP 413: request_too_large"));
    fit.gauge.calibrate(60_000, used(17_111));
    let stored = serde_json::to_string(&fit).unwrap();
    assert_eq!(serde_json::from_str::<Fit>(&stored).unwrap(), fit);
}
