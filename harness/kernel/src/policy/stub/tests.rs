use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;
use crate::entry::Settled;
use crate::policy::fit::scenes::{call, conversation, reads, result, texts, user};
use crate::view::{Marks, view_of};

/// What the model sees of a result that is covered by stubs.
fn stubbed(arguments: &str, settled: Settled) -> String {
    let mut log = vec![user("go"), call("1", "read_file", arguments)];
    let result = crate::CallResult { call_id: "1".into(), name: "read_file".into(), settled };
    log.push(Entry::Results { results: vec![result] });
    log.push(Entry::Stubs { covers: 3 });
    texts(&view_of(&conversation(&log)).messages).pop().unwrap()
}

#[rstest]
#[case::of_a_file(
    r#"{"start": 1, "path": "src/a.rs"}"#,
    r#"[left out to save space: read_file src/a.rs returned 5013 bytes: "use std::fmt;"]"#
)]
#[case::of_a_command(
    r#"{"command": "cargo test\n  -p kernel"}"#,
    r#"[left out to save space: read_file cargo test   -p kernel returned 5013 bytes: "use std::fmt;"]"#
)]
#[case::of_nothing_known(
    "{}",
    r#"[left out to save space: read_file returned 5013 bytes: "use std::fmt;"]"#
)]
#[case::of_cut_arguments(
    r#"{"path": "src/a"#,
    r#"[left out to save space: read_file returned 5013 bytes: "use std::fmt;"]"#
)]
fn a_stub_says_in_one_line_what_was_there(#[case] arguments: &str, #[case] expected: &str) {
    let content = format!("use std::fmt;{}", "\n".repeat(5_000));
    assert_eq!(stubbed(arguments, Settled::output(content)), expected);
}

#[test]
fn a_stub_of_an_error_says_so_and_stays_an_error() {
    let mut log = vec![user("go"), call("1", "run", r#"{"command":"make"}"#)];
    let settled = Settled::failed(format!("exit 2\n{}", "e".repeat(900)));
    let failed = crate::CallResult { call_id: "1".into(), name: "run".into(), settled };
    log.extend([Entry::Results { results: vec![failed] }, Entry::Stubs { covers: 3 }]);
    let seen = view_of(&conversation(&log));
    let Some(foundry_llm::Message::ToolResults { results }) = seen.messages.last() else {
        panic!("no results: {seen:?}")
    };
    assert!(results[0].is_error);
    assert_eq!(
        results[0].content,
        r#"[left out to save space: run make failed with 907 bytes: "exit 2"]"#
    );
}

#[test]
fn a_result_shorter_than_its_stub_stays() {
    assert_eq!(stubbed(r#"{"path":"a"}"#, Settled::output("fn main() {}")), "fn main() {}");
}

#[test]
fn long_targets_and_first_lines_are_clipped_at_a_character() {
    let path = "é".repeat(500);
    let stub = stubbed(&format!(r#"{{"path":"{path}"}}"#), Settled::output("ü".repeat(5_000)));
    assert!(stub.len() < 400 && stub.contains("é…") && stub.contains("ü…"), "{stub}");
}

#[test]
fn entries_behind_the_mark_stay_whole_and_the_log_keeps_everything() {
    let mut log = vec![user("go")];
    log.extend(reads(2, 500));
    log.push(Entry::Stubs { covers: 3 });
    let seen = texts(&view_of(&conversation(&log)).messages);
    assert!(seen[2].starts_with("[left out to save space: read_file src/part0.rs"), "{seen:?}");
    assert!(seen[4].starts_with("// part 1\nxxx"), "{seen:?}");
    assert!(matches!(&log[2], Entry::Results { results } if results[0].settled.text().len() > 500));
}

#[test]
fn what_was_once_a_stub_stays_one_and_a_mark_covers_nothing_after_it() {
    let mut log = vec![user("go")];
    log.extend(reads(2, 500));
    log.push(Entry::Stubs { covers: 99 });
    log.extend([call("z", "read_file", "{}"), result("z", "read_file", &"z".repeat(500))]);
    log.push(Entry::Stubs { covers: 1 });
    assert_eq!(Marks::of(&log), Marks { fold: None, stubs: 5 });
    let seen = texts(&view_of(&conversation(&log)).messages);
    assert!(seen[2].starts_with("[left out") && seen[4].starts_with("[left out"), "{seen:?}");
    assert_eq!(seen[6], "z".repeat(500));
}

#[test]
fn the_newest_results_stay_whole_within_their_share() {
    let mut log = vec![user("go")];
    log.extend(reads(6, 1_000)); // results at 2, 4, 6, 8, 10, 12
    assert_eq!(covers(&log, 0, 2_500), Some(7), "two beside the very newest fit");
    assert_eq!(covers(&log, 0, 0), Some(11), "the very newest stays in any case");
    assert_eq!(covers(&log, 0, 100_000), None);
    assert_eq!(covers(&log, 12, 0), None, "folded entries are no matter of stubs");
}

#[test]
fn a_target_is_a_file_before_anything_else() {
    let target =
        Target::of(r#"{"query":"x","content":"long","file_path":"b","path":"a","path":7}"#);
    assert_eq!(target, Target { file: Some("a".into()), other: Some("x".into()) });
    assert_eq!(Target::of("[1]"), Target::default());
    assert_eq!(Target::of(r#"{"path": " "}"#), Target::default());
}
