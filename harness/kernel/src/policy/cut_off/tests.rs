use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;

use super::*;

fn judged(stop: &StopReason, raw: &str) -> Result<Value, String> {
    let call = ToolCall { id: "1".into(), name: "write".into(), arguments: raw.into() };
    arguments(stop, &call).map(Value::Object)
}

#[rstest]
#[case("", json!({}))]
#[case("  \n", json!({}))]
#[case("{}", json!({}))]
#[case(r#"{"path":"a","n":1}"#, json!({"path": "a", "n": 1}))]
fn whole_arguments_are_taken_and_none_mean_none(#[case] raw: &str, #[case] expected: Value) {
    assert_eq!(judged(&StopReason::ToolUse, raw), Ok(expected));
}

/// A router may rename the label, so completeness is found by parsing.
#[rstest]
#[case(r#"{"path":"a","text":"half of"#, "EOF while parsing")]
#[case(r#"{"path":"a"}{"path":"b"}"#, "trailing characters")]
#[case("[1,2]", "no object")]
#[case("\"text\"", "no object")]
#[case("null", "no object")]
fn arguments_that_are_not_whole_are_refused_with_the_cause(#[case] raw: &str, #[case] cause: &str) {
    for stop in [StopReason::ToolUse, StopReason::EndTurn, StopReason::Other("eos".into())] {
        let reason = judged(&stop, raw).unwrap_err();
        assert!(reason.contains(cause) && reason.contains(raw), "{reason}");
    }
}

#[test]
fn a_reply_cut_by_the_output_limit_runs_not_even_its_whole_calls() {
    let reason = judged(&StopReason::MaxTokens, "{}").unwrap_err();
    assert!(reason.contains("cut off by the output limit"), "{reason}");
}

#[test]
fn long_unreadable_arguments_are_shown_in_part() {
    let reason = judged(&StopReason::ToolUse, &"é".repeat(10_000)).unwrap_err();
    assert!(reason.len() < 2 * SHOWN_BYTES, "{} bytes", reason.len());
}
