use foundry_llm::{LlmError, ToolCall};
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;
use crate::policy::fit::scenes::{
    FORM, call, conversation, reads, result, texts, thoughtful_call, user,
};
use crate::policy::fit::{Fit, Stage};
use crate::rules;
use crate::scenes::{error, says};
use crate::view::{View, view_of, violations};

/// 100,000 bytes for a prompt, of which system prompt and tools take 400.
const BOUNDS: Bounds = Bounds { prompt: 100_000, room: 99_600 };

fn look<'a>(conversation: &Conversation<'a>) -> Look<'a> {
    Look::at(conversation, Marks::of(conversation.log))
}

fn asked(log: &[Entry]) -> Option<(usize, Vec<Message>)> {
    let seen = conversation(log);
    match ask(&seen, &look(&seen), BOUNDS)? {
        Prepared::Summarise { covers, messages } => Some((covers, messages)),
        other => panic!("not a summary: {other:?}"),
    }
}

fn long_log() -> Vec<Entry> {
    let mut log = vec![user("ship the parser")];
    log.extend(reads(40, 2_200));
    log
}

#[test]
fn the_form_as_asked_for_is_complete_once_it_is_filled_in() {
    assert!(is_complete(FORM));
    assert!(!is_complete(&form::instruction()), "the empty form");
}

#[rstest]
#[case::bold(&FORM.replace("## ", "**").replace("Done\n", "Done**\n"))]
#[case::numbered(&FORM.replace("## ", "3. "))]
#[case::with_colons(&FORM.replace("## Done\n", "DONE: "))]
#[case::with_words_around(&format!("Here it is.\n\n{FORM}\n\nThat is all."))]
#[case::with_a_part_named_in_a_list(&FORM.replace("- the lexer", "- Done: the lexer\n* Files: two"))]
fn marks_around_a_heading_do_not_matter(#[case] form: &str) {
    assert!(is_complete(form), "{form}");
}

#[test]
fn a_form_that_lacks_any_part_is_not_complete() {
    for title in [
        "Standing goal",
        "Rules in force",
        "Done",
        "In progress",
        "Exact next action",
        "Files",
        "Decisions",
        "Failed checks",
    ] {
        let without = FORM.replace(&format!("## {title}\n"), "");
        assert!(!is_complete(&without), "without {title}");
    }
    assert!(!is_complete(&FORM.replace("- the lexer", "")), "an empty part");
    assert!(!is_complete(&FORM.replace("ship the parser", "none")), "no goal");
    assert!(!is_complete(&FORM.replace("read src/grammar.rs from line 120", "None.")), "no action");
    assert!(!is_complete(""));
}

/// A prompt cache serves the summary's request as far as it begins like a turn's.
#[test]
fn a_summary_is_asked_for_on_top_of_the_messages_that_were_sent() {
    let log = long_log();
    let (covers, messages) = asked(&log).unwrap();
    let sent = view_of(&conversation(&log)).messages;
    let (instruction, before) = messages.split_last().unwrap();
    assert!(sent.starts_with(before));
    assert!(before.len() > 40 && covers < log.len(), "{} {covers}", before.len());
    assert_eq!(texts(std::slice::from_ref(instruction)), [form::instruction()]);
    assert_eq!(violations(&View { messages, repaired: Vec::new() }), []);
}

#[test]
fn what_is_too_large_for_the_request_itself_is_told_in_short() {
    let mut log = long_log();
    log.extend([call("big", "grep", "{}"), result("big", "grep", &"match\n".repeat(40_000))]);
    let (covers, messages) = asked(&log).unwrap();
    assert_eq!(covers, log.len(), "no room for the result in the tail");
    let bytes: usize = texts(&messages).iter().map(String::len).sum();
    assert!(bytes < 95_000, "{bytes}");
    let instruction = texts(&messages).pop().unwrap();
    assert!(instruction.starts_with("What followed, shortened:\n\n"), "{instruction}");
    assert!(
        instruction.contains("result of grep: match") && instruction.contains("bytes left out")
    );
}

#[test]
fn no_summary_is_asked_for_where_system_prompt_and_tools_take_the_window() {
    let log = vec![user("ship the parser"), call("1", "read_file", "{}"), result("1", "r", "x")];
    let seen = Conversation { fixed_bytes: 95_000, ..conversation(&log) };
    let bounds = Bounds { prompt: 100_000, room: 5_000 };
    assert_eq!(ask(&seen, &look(&seen), bounds), None);
}

/// A model is not asked for what could not be taken.
#[test]
fn no_summary_is_asked_for_where_the_goal_alone_takes_its_room() {
    let mut log = vec![user(&"word ".repeat(9_000))];
    log.extend(reads(25, 2_200));
    assert_eq!(asked(&log), None);
}

fn accepted(log: &[Entry], covers: usize, reply: &Reply) -> Option<Entry> {
    accept(covers, reply, &conversation(log), BOUNDS)
}

#[test]
fn a_complete_summary_becomes_a_fold_that_keeps_what_was_asked_word_for_word() {
    let log = long_log();
    let Some(Entry::Fold { covers: 61, digest }) = accepted(&log, 61, &says(FORM)) else {
        panic!("not taken")
    };
    assert!(digest.contains("What was asked, word for word:\n\nship the parser\n"), "{digest}");
    assert!(digest.contains(FORM));
}

#[test]
fn later_words_of_a_person_stand_in_the_digest_too() {
    let mut log = long_log();
    log.insert(3, user("and never touch src/part9.rs"));
    let Some(Entry::Fold { digest, .. }) = accepted(&log, 62, &says(FORM)) else {
        panic!("not taken")
    };
    assert!(
        digest.contains("What was said since:\n\n- and never touch src/part9.rs\n"),
        "{digest}"
    );
}

#[test]
fn a_goal_that_was_not_folded_is_not_repeated() {
    let mut log = vec![user("an older question")];
    log.extend(reads(40, 2_200));
    log.push(user("ship the parser"));
    let seen = Conversation { began: 81, ..conversation(&log) };
    let Some(Entry::Fold { digest, .. }) = accept(80, &says(FORM), &seen, BOUNDS) else {
        panic!("not taken")
    };
    assert!(!digest.contains("word for word"), "{digest}");
}

#[test]
fn a_summary_is_not_taken_when_it_is_incomplete_cut_off_silent_or_too_long() {
    let log = long_log();
    let taken = |reply: &Reply| accepted(&log, 61, reply).is_some();
    assert!(taken(&says(FORM)));
    assert!(!taken(&says("All is well.")));
    assert!(!taken(&Reply { stop: StopReason::MaxTokens, ..says(FORM) }));
    let rogue = ToolCall { id: "1".into(), name: "read_file".into(), arguments: "{}".into() };
    assert!(!taken(&Reply { text: None, calls: vec![rogue], ..says("") }));
    assert!(!taken(&says(&FORM.replace("the lexer", &"the lexer ".repeat(4_000)))), "too long");
}

#[test]
fn a_summary_that_fails_leads_on_to_the_digest_by_rule_and_is_asked_for_once() {
    let log = long_log();
    let seen = Conversation { max_output_tokens: 1_000, ..conversation(&log) };
    let answers: [Result<Reply, LlmError>; 2] =
        [Ok(says("All is well.")), Err(error(foundry_llm::ErrorKind::Overflow))];
    for answer in answers {
        let mut fit = Fit::new(20_000);
        let Prepared::Append(Entry::Stubs { covers }) = fit.prepare(&seen) else {
            panic!("no stubs")
        };
        // As if every tool's results stayed: the stubs freed nothing.
        let stays: &dyn Fn(&str) -> bool = &|_| true;
        let mut log = log.clone();
        log.push(Entry::Stubs { covers });
        log.extend(reads(20, 2_200));
        let seen = Conversation { stays, ..conversation(&log) };
        let Prepared::Summarise { covers, messages } = fit.prepare(&seen) else {
            panic!("no summary")
        };
        let again = Prepared::Summarise { covers, messages };
        assert_eq!(fit.prepare(&seen), again, "nobody answered yet");
        assert_eq!(fit.summarised(covers, answer.as_ref(), &seen), None);
        assert!(matches!(fit.prepare(&seen), Prepared::Append(Entry::Fold { .. })));
    }
    assert_eq!(serde_json::to_value(Stage::Summary).unwrap(), "summary");
}

#[test]
fn a_thinking_tool_loop_is_summarised_whole() {
    let mut log = vec![user("ship the parser")];
    for n in 0..40 {
        let id = format!("t{n}");
        log.push(thoughtful_call(&id, "read_file", "{}"));
        log.push(result(&id, "read_file", &"x".repeat(2_000)));
    }
    let (covers, messages) = asked(&log).unwrap();
    assert_eq!(covers, log.len());
    assert_eq!(violations(&View { messages, repaired: Vec::new() }), []);
    let mut folded = log.clone();
    folded.push(accepted(&log, covers, &says(FORM)).unwrap());
    let (shown, _) = crate::view::enforced(&conversation(&folded), Marks::of(&folded));
    assert_eq!(rules::check(&shown), []);
    assert_eq!(shown.len(), 1, "the digest alone");
}

#[test]
fn told_texts_keep_their_order_and_their_size() {
    let log = long_log();
    let seen = conversation(&log);
    let look = look(&seen);
    for weight in [Weight::Newest, Weight::Even] {
        let told = told(&look.shown, 10_000, weight);
        assert!(told.len() < 10_100, "{}", told.len());
        let newest = told.find("part 39").unwrap();
        assert!(told.find("part 38").is_some_and(|at| at < newest));
    }
    let even = told(&look.shown, 60_000, Weight::Even);
    assert!(even.starts_with("user: ship the parser\n"), "the oldest, too");
}
