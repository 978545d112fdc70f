use foundry_kernel::UserInput;
use foundry_llm::{StopReason, Usage};
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::task::ledger::Ledger;

fn says(text: Option<&str>, calls: &[(&str, &str)]) -> Entry {
    let call = |(number, (name, path)): (usize, &(&str, &str))| ToolCall {
        id: format!("call-{number}"),
        name: (*name).to_owned(),
        arguments: serde_json::json!({ "path": path }).to_string(),
    };
    Entry::Assistant {
        reply: Reply {
            text: text.map(str::to_owned),
            reasoning: Vec::new(),
            calls: calls.iter().enumerate().map(call).collect(),
            stop: StopReason::ToolUse,
            usage: Usage::default(),
            model: "scripted".to_owned(),
        },
    }
}

fn results(settled: &[Settled]) -> Entry {
    let result = |settled: &Settled| CallResult {
        call_id: String::new(),
        name: String::new(),
        settled: settled.clone(),
    };
    Entry::Results { results: settled.iter().map(result).collect() }
}

/// CODE-25
#[test]
fn the_next_attempt_is_given_files_decisions_and_failed_checks() {
    let mut known = Known::default();
    known.hear(&[
        Entry::User { input: UserInput::from("Fix the greeting.") },
        says(
            Some("The bug is in greet.go,\nI will keep its signature."),
            &[("read_file", "greet.go"), ("edit_file", "greet.go"), ("edit_file", "none.go")],
        ),
        results(&[Settled::output("1"), Settled::output("ok"), Settled::failed("no such file")]),
    ]);
    let ledger = Ledger::default();
    ledger.answered("Which language?", "English");
    ledger.add_todo("Add a test").unwrap();
    ledger.checked("go test ./...", false, "--- FAIL: TestGreet\nexit status 1");
    ledger.checked("go vet ./...", true, "");
    assert_eq!(
        known.render(&ledger.notes()).unwrap(),
        "Files edited so far:\n- greet.go\n\n\
         Files read so far:\n- greet.go\n\n\
         Decisions and remarks so far:\n- Asked: Which language? Answered: English\n\
         - The bug is in greet.go, I will keep its signature.\n\n\
         Your task list:\n- [open] Add a test\n\n\
         Checks whose newest run failed:\n- go test ./..., which ended with:\n  \
         --- FAIL: TestGreet\n  exit status 1"
    );
}

/// CODE-25
#[test]
fn a_first_attempt_is_given_nothing() {
    assert_eq!(Known::default().render(&Ledger::default().notes()), None);
}

/// CODE-25
#[test]
fn later_attempts_are_given_what_all_before_them_learnt() {
    let mut known = Known::default();
    for path in ["a.go", "b.go", "a.go"] {
        known.hear(&[says(None, &[("write_file", path)]), results(&[Settled::output("ok")])]);
    }
    let told = known.render(&Ledger::default().notes()).unwrap();
    assert_eq!(told, "Files edited so far:\n- b.go\n- a.go");
}

proptest! {
    /// CODE-25
    #[test]
    fn what_is_carried_over_is_bounded_whatever_was_said(
        text in "\\PC{0,2000}", said in "\\PC{0,5000}", many in 1_usize..120
    ) {
        let mut known = Known::default();
        let ledger = Ledger::default();
        for number in 0..many {
            let path = format!("{number}.go");
            known.hear(&[says(Some(&text), &[("read_file", &path)]), results(&[Settled::output("")])]);
            ledger.checked(&path, false, &said);
        }
        let told = known.render(&ledger.notes()).unwrap();
        prop_assert!(told.len() < 40_000, "{} bytes", told.len());
    }
}
