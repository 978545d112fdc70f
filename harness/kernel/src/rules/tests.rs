//! Each rule as a table of what is broken and how it is mended, then all of them over
//! random conversations.

mod random;

use foundry_llm::{Content, Message, Reasoning, ToolCall, ToolResult};
use pretty_assertions::assert_eq;

use super::*;

/// A conversation in shorthand: `u:text`, `a:text` (`a:` alone has no text), `c:id,id`
/// for an assistant that only calls, `r:id,id` for results.
fn shown<const N: usize>(lines: [&str; N]) -> Vec<Shown> {
    lines.map(|line| Shown { message: message(line), own: true }).to_vec()
}

fn message(line: &str) -> Message {
    let (kind, rest) = line.split_once(':').unwrap();
    let ids = || rest.split(',').map(str::to_owned);
    match kind {
        "u" => Message::User { content: vec![Content::Text { text: rest.to_owned() }] },
        "a" => Message::Assistant {
            text: (!rest.is_empty()).then(|| rest.to_owned()),
            reasoning: Vec::new(),
            calls: Vec::new(),
        },
        "c" => Message::Assistant {
            text: None,
            reasoning: Vec::new(),
            calls: ids().map(|id| call(&id, "{}")).collect(),
        },
        "r" => Message::ToolResults { results: ids().map(|id| result(&id, "done")).collect() },
        other => panic!("no such shorthand: {other}"),
    }
}

fn call(id: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: "echo".to_owned(), arguments: arguments.to_owned() }
}

fn result(id: &str, content: &str) -> ToolResult {
    ToolResult {
        call_id: id.to_owned(),
        name: "echo".to_owned(),
        content: content.to_owned(),
        is_error: false,
    }
}

/// The shorthand back, with a star on results that were made up.
fn lines(shown: &[Shown]) -> Vec<String> {
    let line = |shown: &Shown| match &shown.message {
        Message::User { content } => {
            let parts = content.iter().map(|Content::Text { text }| text.clone());
            format!("u:{}", parts.collect::<String>())
        }
        Message::Assistant { text, calls, .. } if calls.is_empty() => {
            format!("a:{}", text.as_deref().unwrap_or_default())
        }
        Message::Assistant { calls, .. } => {
            format!("c:{}", joined(calls.iter().map(|c| c.id.clone())))
        }
        Message::ToolResults { results } => {
            let id = |r: &ToolResult| format!("{}{}", r.call_id, if r.is_error { "*" } else { "" });
            format!("r:{}", joined(results.iter().map(id)))
        }
    };
    shown.iter().map(line).collect()
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(",")
}

#[track_caller]
fn assert_mended<const N: usize, const M: usize>(rule: &str, before: [&str; N], after: [&str; M]) {
    let mut mended = shown(before);
    let violations = enforce(&mut mended);
    assert!(violations.iter().any(|v| v.rule == rule), "{rule} is not among {violations:?}");
    assert_eq!(lines(&mended), after);
    assert_eq!(check(&mended), []);
}

/// KERN-23
#[test]
fn a_dangling_call_gets_a_made_result() {
    assert_mended("answered", ["u:go", "c:1", "u:on"], ["u:go", "c:1", "r:1*", "u:on"]);
    assert_mended("answered", ["u:go", "c:1,2", "r:2"], ["u:go", "c:1,2", "r:1*,2"]);
    assert_mended("answered", ["u:go", "c:1"], ["u:go", "c:1", "r:1*"]);
}

/// KERN-23
#[test]
fn a_made_result_says_that_the_outcome_is_unknown() {
    let mut mended = shown(["u:go", "c:1", "u:on"]);
    enforce(&mut mended);
    let Message::ToolResults { results } = &mended[2].message else { panic!("results") };
    assert!(results[0].content.starts_with("outcome unknown: "), "{}", results[0].content);
}

/// KERN-23
#[test]
fn a_result_without_its_call_is_dropped() {
    assert_mended("no_orphan", ["u:go", "r:9", "u:on"], ["u:go", "u:on"]);
    assert_mended("no_orphan", ["u:go", "c:1", "r:1,9"], ["u:go", "c:1", "r:1"]);
    assert_mended("no_orphan", ["u:go", "a:done", "r:1", "u:on"], ["u:go", "a:done", "u:on"]);
}

#[test]
fn results_stand_in_call_order_and_once() {
    assert_mended("answered", ["u:go", "c:1,2,3", "r:3,1,2"], ["u:go", "c:1,2,3", "r:1,2,3"]);
    assert_mended("answered", ["u:go", "c:1", "r:1,1"], ["u:go", "c:1", "r:1"]);
}

#[test]
fn an_intruder_between_calls_and_results_moves_behind_them() {
    assert_mended("one_group", ["u:go", "c:1", "u:wait", "r:1"], ["u:go", "c:1", "r:1", "u:wait"]);
    assert_mended(
        "one_group",
        ["u:go", "c:1,2", "r:1", "u:wait", "r:2"],
        ["u:go", "c:1,2", "r:1,2", "u:wait"],
    );
}

#[test]
fn an_id_used_twice_is_renamed_at_both_ends() {
    let mut mended = shown(["u:go", "c:1", "r:1", "c:1", "r:1"]);
    enforce(&mut mended);
    let renamed = lines(&mended);
    assert_eq!(renamed[..3], ["u:go", "c:1", "r:1"]);
    assert_eq!(renamed[3][2..], renamed[4][2..]);
    assert_ne!(renamed[3], "c:1");
    assert_eq!(check(&mended), []);
}

#[test]
fn a_missing_or_illegal_id_is_renamed_at_both_ends() {
    for id in ["", "call 1", "call:1", &"x".repeat(41)] {
        let mut mended = shown(["u:go"]);
        mended.extend([
            Shown {
                message: Message::Assistant {
                    text: None,
                    reasoning: Vec::new(),
                    calls: vec![call(id, "{}"), call(id, "{}")],
                },
                own: true,
            },
            Shown {
                message: Message::ToolResults { results: vec![result(id, "a"), result(id, "b")] },
                own: true,
            },
        ]);
        enforce(&mut mended);
        assert_eq!(check(&mended), []);
        let Message::ToolResults { results } = &mended[2].message else { panic!("results") };
        let contents: Vec<&str> = results.iter().map(|result| result.content.as_str()).collect();
        assert_eq!(contents, ["a", "b"], "matched by position");
    }
}

#[test]
fn a_new_name_does_not_change_when_the_conversation_grows() {
    let mut short = shown(["u:go", "c:1,1", "r:1,1"]);
    let mut long = shown(["u:go", "c:1,1", "r:1,1", "c:1", "r:1", "u:on"]);
    enforce(&mut short);
    enforce(&mut long);
    assert_eq!(short[..], long[..3]);
}

#[test]
fn arguments_that_are_no_object_are_shown_as_an_empty_one() {
    for (raw, expected) in
        [("", "{}"), ("{\"a\":", "{}"), ("[1]", "{}"), ("{ \"a\": 1 }", "{ \"a\": 1 }")]
    {
        let mut mended = shown(["u:go", "c:1", "r:1"]);
        let Message::Assistant { calls, .. } = &mut mended[1].message else { panic!("calls") };
        raw.clone_into(&mut calls[0].arguments);
        enforce(&mut mended);
        let Message::Assistant { calls, .. } = &mended[1].message else { panic!("calls") };
        assert_eq!(calls[0].arguments, expected);
    }
}

#[test]
fn what_is_empty_is_dropped_or_named() {
    assert_mended("never_empty", ["u:go", "u: ", "a:ok", "u:on"], ["u:go", "a:ok", "u:on"]);
    assert_mended("never_empty", ["u:go", "a:", "u:on"], ["u:go", "u:on"]);

    let mut silent = shown(["u:go", "c:1", "r:1"]);
    silent[2].message = Message::ToolResults { results: vec![result("1", "")] };
    enforce(&mut silent);
    let Message::ToolResults { results } = &silent[2].message else { panic!("results") };
    assert_eq!(results[0].content, "(no output)");
}

#[test]
fn an_empty_reply_does_not_part_calls_and_results() {
    assert_mended("never_empty", ["u:go", "c:1", "a:", "r:1"], ["u:go", "c:1", "r:1"]);
}

/// KERN-40
#[test]
fn reasoning_of_another_run_is_left_out() {
    let thought = vec![Reasoning::Redacted { data: "x".into() }];
    let thinking = |own| Shown {
        message: Message::Assistant {
            text: Some("so".into()),
            reasoning: thought.clone(),
            calls: Vec::new(),
        },
        own,
    };
    let mut mended = vec![shown(["u:go"]).remove(0), thinking(false), thinking(true)];
    mended.extend(shown(["u:on"]));
    let violations = enforce(&mut mended);
    assert_eq!(violations.len(), 1, "{violations:?}");
    let of = |shown: &Shown| match &shown.message {
        Message::Assistant { reasoning, .. } => reasoning.clone(),
        Message::User { .. } | Message::ToolResults { .. } => Vec::new(),
    };
    assert_eq!(of(&mended[1]), []);
    assert_eq!(of(&mended[2]), thought);
}

/// LOOP-14
#[test]
fn a_conversation_that_starts_or_ends_with_the_model_is_a_bug_that_nothing_repairs() {
    let mut wrong = shown(["a:hello", "u:go", "a:done"]);
    let violations = enforce(&mut wrong);
    assert_eq!(violations, check(&wrong));
    let rules: Vec<(&str, usize)> = violations.iter().map(|v| (v.rule, v.at)).collect();
    assert_eq!(rules, [("ends_open", 0), ("ends_open", 2)]);
}
