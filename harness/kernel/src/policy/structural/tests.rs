use pretty_assertions::assert_eq;

use super::*;
use crate::policy::fit::scenes::{
    assistant, call, conversation, reads, result, tells, thoughtful_call, user,
};
use crate::view::{View, view_of, violations};

const BOUNDS: Bounds = Bounds { prompt: 40_400, room: 40_000 };

/// The log with the fold, and what is seen of it.
fn folded(mut log: Vec<Entry>) -> (Vec<Entry>, View) {
    let seen = conversation(&log);
    let entry = fold(&seen, &Look::at(&seen, Marks::of(&log)), BOUNDS).expect("a fold");
    log.push(entry);
    let view = view_of(&conversation(&log));
    assert_eq!(violations(&view), []);
    (log, view)
}

fn digest(log: &[Entry]) -> &str {
    let Some(Entry::Fold { digest, .. }) = log.last() else { panic!("no fold") };
    digest
}

fn long_log() -> Vec<Entry> {
    let mut log = vec![user("ship the parser, and mind the tests")];
    log.extend(reads(40, 1_500));
    log
}

#[test]
fn the_goal_what_was_called_the_files_and_the_newest_messages_stay() {
    let (log, view) = folded(long_log());
    let digest = digest(&log);
    assert!(digest.contains("word for word:\n\nship the parser, and mind the tests\n"));
    assert!(digest.contains("- read_file: 34 times, 0 without success"), "{digest}");
    assert!(digest.contains("the newest first\n\n- src/part33.rs\n- src/part32.rs\n"), "{digest}");
    assert!(digest.contains("result of read_file: // part 33"), "{digest}");
    assert!(tells(&view, &format!("// part 39\n{}", "x".repeat(1_500))), "whole");
    assert_eq!(view.messages.len(), 1 + 12);
}

#[test]
fn it_is_the_same_for_the_same_log() {
    assert_eq!(folded(long_log()).0, folded(long_log()).0);
}

#[test]
fn failures_are_counted_as_such() {
    let mut log = long_log();
    for n in 0..3 {
        let id = format!("m{n}");
        let settled = crate::Settled::failed("exit 2");
        let failed = crate::CallResult { call_id: id.clone(), name: "make".into(), settled };
        log.splice(1..1, [call(&id, "make", "{}"), Entry::Results { results: vec![failed] }]);
    }
    let (log, _) = folded(log);
    assert!(digest(&log).contains("- make: 3 times, 3 without success"));
}

/// aaif-goose/goose#1988: one result above the window ended every run on it.
#[test]
fn a_result_larger_than_the_window_is_cut_to_fit() {
    let mut log = vec![user("ship the parser"), call("1", "grep", r#"{"pattern":"fn"}"#)];
    log.push(result("1", "grep", &format!("first line\n{}last line", "x".repeat(12_000_000))));
    let (log, view) = folded(log);
    assert_eq!(view.messages.len(), 1);
    let digest = digest(&log);
    assert!(digest.len() < 20_000, "{}", digest.len());
    assert!(digest.contains("ship the parser") && digest.contains(r#"{"pattern":"fn"}"#));
    assert!(digest.contains("result of grep: first line\n"), "its beginning");
    assert!(digest.contains("of 12000020 bytes left out") && digest.contains("xlast line"));
}

#[test]
fn a_thinking_tool_loop_goes_whole_into_the_digest() {
    let mut log = vec![user("ship the parser")];
    for n in 0..30 {
        let id = format!("t{n}");
        log.push(thoughtful_call(&id, "read_file", r#"{"path":"src/a.rs"}"#));
        log.push(result(&id, "read_file", &"x".repeat(2_000)));
    }
    let (log, view) = folded(log);
    assert_eq!(view.messages.len(), 1);
    assert!(digest(&log).contains("- read_file: 30 times"));
}

#[test]
fn a_fold_of_a_fold_tells_all_of_it_and_grows_no_further() {
    let (mut log, _) = folded(long_log());
    let first = digest(&log).len();
    log.extend(reads(40, 1_500));
    let (log, view) = folded(log);
    assert!(tells(&view, "ship the parser, and mind the tests"));
    assert!(digest(&log).contains("- read_file: 74 times"), "{}", digest(&log));
    assert!(!digest(&log).contains("What was noted before"), "rules' words are not repeated");
    assert!(digest(&log).len() < first * 2);
}

#[test]
fn what_a_model_noted_before_is_carried_on() {
    let mut log = vec![user("ship the parser")];
    log.extend(reads(5, 1_500));
    log.push(Entry::Fold { covers: 5, digest: "In your own words: no backtracking.".into() });
    log.extend(reads(40, 1_500));
    let (log, _) = folded(log);
    let noted = "## What was noted before\n\nIn your own words: no backtracking.";
    assert!(digest(&log).contains(noted), "{}", digest(&log));
}

#[test]
fn what_a_person_asked_is_never_cut() {
    let ask = "word ".repeat(5_000); // 25,000 bytes, more than half of the room
    let mut log = vec![user(&ask)];
    log.extend(reads(10, 3_000));
    let seen = conversation(&log);
    assert_eq!(fold(&seen, &Look::at(&seen, Marks::default()), BOUNDS), None);
}

#[test]
fn nothing_is_folded_where_that_would_not_help() {
    let log = vec![user("hello"), assistant("hello"), user("on")];
    let seen = conversation(&log);
    let none = Bounds { prompt: 400, room: 0 };
    assert_eq!(fold(&seen, &Look::at(&seen, Marks::default()), none), None);
}
