//! How a turn is told, line by line: first the arguments, then the outcome (LOOP-21).

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::text::cut;

/// Bytes of one argument's value in a line.
const ARGUMENT_BYTES: usize = 160;
/// Bytes of all arguments in a line.
const ARGUMENTS_BYTES: usize = 600;
/// Bytes of an outcome or a reason in a line.
const OUTCOME_BYTES: usize = 300;

/// A tool and its arguments: `search limit=20 q=open billing problems`.
pub fn call(tool: &str, arguments: &str) -> String {
    let arguments = match serde_json::from_str::<serde_json::Map<String, Value>>(arguments) {
        Ok(arguments) => {
            let mut told = arguments
                .iter()
                .map(|(name, value)| format!("{name}={}", argument(value)))
                .collect::<Vec<_>>();
            told.sort(); // the same call reads the same, whatever order a model chose
            told.join(" ")
        }
        Err(_) => arguments.to_owned(),
    };
    if arguments.is_empty() {
        return tool.to_owned();
    }
    format!("{tool} {}", cut(&one_line(&arguments), ARGUMENTS_BYTES))
}

/// `step 1: search limit=20 q=open billing problems`.
pub fn called(step: u32, call: &str) -> String {
    format!("step {step}: {call}")
}

/// `step 1: search returned 12 results`.
pub fn returned(step: u32, tool: &str, result: &str) -> String {
    format!("step {step}: {tool} returned {}", outcome(result))
}

/// `step 1: search failed: HTTP 500: …` (LOOP-25).
pub fn failed(step: u32, tool: &str, error: &str) -> String {
    format!("step {step}: {tool} failed: {}", cut(&one_line(error), OUTCOME_BYTES))
}

/// `step 1: done, nothing further: no invoice is due` (LOOP-23).
pub fn done(step: u32, reason: Option<&str>) -> String {
    match reason.map(one_line).filter(|reason| !reason.is_empty()) {
        Some(reason) => {
            format!("step {step}: done, nothing further: {}", cut(&reason, OUTCOME_BYTES))
        }
        None => format!("step {step}: done, nothing further"),
    }
}

fn argument(value: &Value) -> String {
    match value {
        Value::String(text) => cut(text, ARGUMENT_BYTES),
        other => cut(&other.to_string(), ARGUMENT_BYTES),
    }
}

/// A count where the result is a list, else how it begins.
fn outcome(result: &str) -> String {
    match count(result) {
        Some(1) => "1 result".to_owned(),
        Some(count) => format!("{count} results"),
        None if result.trim().is_empty() => "nothing".to_owned(),
        None => cut(&one_line(result), OUTCOME_BYTES),
    }
}

/// How many items a result lists. Counted without building them: a result may be
/// megabytes long.
fn count(result: &str) -> Option<usize> {
    #[derive(Deserialize)]
    struct Lists<'a> {
        #[serde(borrow)]
        items: Option<&'a RawValue>,
        #[serde(borrow)]
        results: Option<&'a RawValue>,
    }
    let length = |json: &str| Some(serde_json::from_str::<Vec<IgnoredAny>>(json).ok()?.len());
    length(result).or_else(|| {
        let Lists { items, results } = serde_json::from_str(result).ok()?;
        [items, results].into_iter().flatten().find_map(|list| length(list.get()))
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use rstest::rstest;

    use super::*;

    /// LOOP-21
    #[test]
    fn a_line_names_the_arguments_and_the_next_one_the_outcome() {
        let call = call("search", r#"{"q":"open billing problems","limit":20}"#);
        assert_eq!(called(1, &call), "step 1: search limit=20 q=open billing problems");
        let found = serde_json::json!({ "items": vec!["hit"; 12] }).to_string();
        assert_eq!(returned(1, "search", &found), "step 1: search returned 12 results");
    }

    /// LOOP-21
    #[rstest]
    #[case("", "nothing")]
    #[case("[]", "0 results")]
    #[case(r#"["a"]"#, "1 result")]
    #[case(r#"{"results":[1,2]}"#, "2 results")]
    #[case("Remembered:\nInvoice 7.", "Remembered: Invoice 7.")]
    #[case(r#"{"id":"ann"}"#, r#"{"id":"ann"}"#)]
    #[case(r#"{"items":"none","results":[[1,2],{"a":[3]}]}"#, "2 results")]
    #[case(r#"{"unchanged":true,"items":[]}"#, "0 results")]
    #[case("[1,2", "[1,2")]
    #[case("7", "7")]
    fn an_outcome_is_a_count_or_how_the_result_begins(#[case] result: &str, #[case] told: &str) {
        assert_eq!(outcome(result), told);
    }

    /// LOOP-21
    #[rstest]
    #[case("", "recall")]
    #[case("{}", "recall")]
    #[case(r#"{"query":"a"#, r#"recall {"query":"a"#)]
    fn arguments_that_are_none_or_broken_are_told_as_they_came(
        #[case] arguments: &str,
        #[case] told: &str,
    ) {
        assert_eq!(call("recall", arguments), told);
    }

    /// LOOP-21
    #[test]
    fn a_long_argument_cannot_fill_the_log() {
        let arguments = serde_json::json!({ "text": "x".repeat(10_000) }).to_string();
        assert!(call("remember", &arguments).len() < 200);
    }

    /// LOOP-23
    #[test]
    fn an_idle_cycle_says_that_it_is_done_and_why() {
        assert_eq!(
            done(1, Some("No invoice\nis due.")),
            "step 1: done, nothing further: No invoice is due."
        );
        assert_eq!(done(1, None), "step 1: done, nothing further");
    }
}
