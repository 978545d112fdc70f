//! Each rule as a table of what is broken and how it is mended, then all of them over
//! random conversations.

mod random;

use std::borrow::Cow;

use foundry_llm::{Content, Reasoning, ToolCall};
use pretty_assertions::assert_eq;

use super::*;
use crate::view::Answer;

/// A conversation in shorthand: `u:text`, `a:text` (`a:` alone has no text), `c:id,id`
/// for an assistant that only calls, `t:id,id` for one that thinks first, `r:id,id` for
/// results.
fn shown<const N: usize>(lines: [&'static str; N]) -> Vec<Shown<'static>> {
    let shown = lines.iter().enumerate();
    shown.map(|(entry, line)| Shown { said: said(line), own: true, entry }).collect()
}

fn said(line: &'static str) -> Said<'static> {
    let (kind, rest) = line.split_once(':').unwrap();
    let ids = || rest.split(',');
    let calls = || ids().map(|id| call(id, "{}")).collect::<Vec<_>>();
    match kind {
        "u" => Said::user(rest),
        "a" => Said::Assistant {
            text: (!rest.is_empty()).then_some(rest),
            reasoning: &[],
            calls: Cow::Borrowed(&[]),
        },
        "c" => Said::Assistant { text: None, reasoning: &[], calls: Cow::Owned(calls()) },
        "t" => Said::Assistant { text: None, reasoning: signed(), calls: Cow::Owned(calls()) },
        "r" => Said::Results { results: ids().map(|id| answer(id, "done")).collect() },
        other => panic!("no such shorthand: {other}"),
    }
}

fn signed() -> &'static [Reasoning] {
    static SIGNED: std::sync::LazyLock<Vec<Reasoning>> = std::sync::LazyLock::new(|| {
        vec![Reasoning::Thinking { text: "hm".into(), signature: "s1gn3d==".into() }]
    });
    &SIGNED
}

fn call(id: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: "echo".to_owned(), arguments: arguments.to_owned() }
}

fn answer(call_id: &str, content: &str) -> Answer<'static> {
    Answer {
        call_id: Cow::Owned(call_id.to_owned()),
        name: Cow::Borrowed("echo"),
        content: Cow::Owned(content.to_owned()),
        is_error: false,
    }
}

/// The shorthand back, with a star on results that were made up.
fn lines(shown: &[Shown<'_>]) -> Vec<String> {
    let line = |shown: &Shown<'_>| match &shown.said {
        Said::User { content } => {
            let parts = content.iter().map(|Content::Text { text }| text.clone());
            format!("u:{}", parts.collect::<String>())
        }
        Said::Assistant { text, calls, .. } if calls.is_empty() => {
            format!("a:{}", text.unwrap_or_default())
        }
        Said::Assistant { calls, .. } => {
            format!("c:{}", joined(calls.iter().map(|c| c.id.clone())))
        }
        Said::Results { results } => {
            let id = |r: &Answer<'_>| format!("{}{}", r.call_id, if r.is_error { "*" } else { "" });
            format!("r:{}", joined(results.iter().map(id)))
        }
    };
    shown.iter().map(line).collect()
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(",")
}

fn results_at(shown: &[Shown<'_>], at: usize) -> Vec<String> {
    let Said::Results { results } = &shown[at].said else { panic!("no results at {at}") };
    results.iter().map(|result| result.content.clone().into_owned()).collect()
}

#[track_caller]
fn assert_mended<const N: usize, const M: usize>(
    rule: &str,
    before: [&'static str; N],
    after: [&str; M],
) {
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
    let results = results_at(&mended, 2);
    assert!(results[0].starts_with("outcome unknown: "), "{results:?}");
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
        let mut mended = shown(["u:go", "c:1", "r:1"]);
        mended[1].said = Said::Assistant {
            text: None,
            reasoning: &[],
            calls: Cow::Owned(vec![call(id, "{}"), call(id, "{}")]),
        };
        mended[2].said = Said::Results { results: vec![answer(id, "a"), answer(id, "b")] };
        enforce(&mut mended);
        assert_eq!(check(&mended), []);
        assert_eq!(results_at(&mended, 2), ["a", "b"], "matched by position");
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
        mended[1].said =
            Said::Assistant { text: None, reasoning: &[], calls: Cow::Owned(vec![call("1", raw)]) };
        enforce(&mut mended);
        assert_eq!(calls(&mended[1])[0].arguments, expected);
    }
}

#[test]
fn what_is_empty_is_dropped_or_named() {
    assert_mended("never_empty", ["u:go", "u: ", "a:ok", "u:on"], ["u:go", "a:ok", "u:on"]);
    assert_mended("never_empty", ["u:go", "a:", "u:on"], ["u:go", "u:on"]);

    let mut silent = shown(["u:go", "c:1", "r:1"]);
    silent[2].said = Said::Results { results: vec![answer("1", "")] };
    enforce(&mut silent);
    assert_eq!(results_at(&silent, 2), ["(no output)"]);
}

#[test]
fn an_empty_reply_does_not_part_calls_and_results() {
    assert_mended("never_empty", ["u:go", "c:1", "a:", "r:1"], ["u:go", "c:1", "r:1"]);
}

/// KERN-40
#[test]
fn reasoning_of_another_run_is_left_out() {
    let mut mended = shown(["u:go", "t:1", "r:1", "t:2", "r:2"]);
    mended[1].own = false;
    let violations = enforce(&mut mended);
    assert_eq!(violations.len(), 1, "{violations:?}");
    let reasoning = |at: usize| match &mended[at].said {
        Said::Assistant { reasoning, .. } => *reasoning,
        Said::User { .. } | Said::Results { .. } => panic!("not an assistant"),
    };
    assert_eq!(reasoning(1), []);
    assert_eq!(reasoning(3), signed());
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

/// Where the rules allow to cut, as the index of the message behind the cut.
fn cuts<const N: usize>(lines: [&'static str; N]) -> Vec<usize> {
    legal_cuts(&shown(lines), N).iter().map(|cut| cut.at).collect()
}

#[test]
fn a_cut_never_parts_a_call_from_its_results() {
    assert_eq!(cuts(["u:go", "c:1", "r:1", "a:done", "u:on"]), [1, 3, 4, 5]);
    assert_eq!(cuts(["u:go", "c:1", "r:1", "c:2", "r:2"]), [1, 3, 5]);
}

#[test]
fn a_thinking_tool_loop_is_folded_whole_or_not_at_all() {
    assert_eq!(cuts(["u:go", "t:1", "r:1", "t:2", "r:2", "a:done", "u:on"]), [1, 6, 7]);
    // The model thought once, at the start of its loop.
    assert_eq!(cuts(["u:go", "t:1", "r:1", "c:2", "r:2"]), [1, 5]);
    // What a person says ends a loop; what came before the first thought is none.
    assert_eq!(cuts(["u:go", "c:1", "r:1", "t:2", "r:2", "u:stop", "c:3", "r:3"]), [1, 3, 5, 6, 8]);
}

#[test]
fn a_cut_also_parts_the_log_in_two() {
    // As when an intruder was moved behind the results: it is older than they are.
    let mut moved = shown(["u:go", "c:1", "r:1", "u:wait", "a:done", "u:on"]);
    moved[2].entry = 3;
    moved[3].entry = 2;
    let cuts: Vec<(usize, usize)> =
        legal_cuts(&moved, 6).iter().map(|cut| (cut.at, cut.covers)).collect();
    assert_eq!(cuts, [(1, 1), (4, 4), (5, 5), (6, 6)]);
}

#[test]
fn what_is_not_shown_lies_before_a_cut() {
    let mut sparse = shown(["u:go", "a:done", "u:on"]);
    sparse[2].entry = 7;
    let covers: Vec<usize> = legal_cuts(&sparse, 9).iter().map(|cut| cut.covers).collect();
    assert_eq!(covers, [1, 7, 9]);
}

#[test]
fn only_a_break_in_the_order_of_calls_and_results_is_our_own() {
    let mut broken = shown(["u:go", "c:1", "u:on", "c:1,1", "r:1,1"]);
    let found = enforce(&mut broken);
    let ours: Vec<(&str, usize)> = found
        .iter()
        .filter(|violation| is_our_own(violation, 1))
        .map(|violation| (violation.rule, violation.entry))
        .collect();
    assert_eq!(ours, [("answered", 1)], "of {found:?}");
    assert!(!found.iter().any(|violation| is_our_own(violation, 2)), "of a stored entry");
}
