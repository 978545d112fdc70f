use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::Value;

use super::*;
use crate::entry::CallResult;
use crate::policy::schema;
use crate::scenes::echo;

fn log(outputs: &[Settled]) -> Vec<Entry> {
    let result = |settled: &Settled| CallResult {
        call_id: "c".to_owned(),
        name: "echo".to_owned(),
        settled: settled.clone(),
    };
    vec![Entry::Results { results: outputs.iter().map(result).collect() }]
}

fn checked(finding: &str, citations: &Value, log: &[Entry]) -> Result<(), Vec<String>> {
    let value = json!({"verdict": finding, "reasons": ["so"], "citations": citations});
    check(&serde_json::from_value(value).unwrap(), log, &[echo()])
}

#[test]
fn the_schema_of_a_verdict_can_be_used() {
    assert_eq!(schema::check(super::schema().as_value()), Ok(()));
}

/// KERN-31: spaces and line ends are not compared, everything else is.
#[rstest]
#[case("12: fn main() {\n13:     run()", None)]
#[case("12:fnmain(){13:run()", None)]
#[case("12: fn Main() {", Some("\"12: fn Main() {\" is in no output of echo"))]
#[case("run()", Some("\"run()\" is too short to be a quote of echo"))]
#[case(" \n ", Some("\" \\n \" is too short to be a quote of echo"))]
fn a_quote_is_looked_for_in_what_the_tool_returned(
    #[case] quote: &str,
    #[case] wrong: Option<&str>,
) {
    let log = log(&[Settled::output("12: fn main() {\n13:   run()\n14: }")]);
    let found = checked("refuted", &json!([{"tool": "echo", "quote": quote}]), &log);
    assert_eq!(found, wrong.map_or(Ok(()), |wrong| Err(vec![wrong.to_owned()])));
}

#[test]
fn a_short_output_may_be_quoted_whole() {
    let log = log(&[Settled::output("42\n")]);
    assert_eq!(checked("refuted", &json!([{"tool": "echo", "quote": "42"}]), &log), Ok(()));
    assert!(checked("refuted", &json!([{"tool": "echo", "quote": "4"}]), &log).is_err());
}

#[test]
fn what_a_call_failed_with_is_no_evidence() {
    let log = log(&[Settled::failed("the file is not there at all")]);
    let citation = json!([{"tool": "echo", "quote": "the file is not there"}]);
    let wrong = checked("refuted", &citation, &log);
    assert_eq!(wrong, Err(vec!["echo returned nothing in this run".to_owned()]));
}

#[test]
fn one_real_citation_does_not_cover_a_made_up_one() {
    let log = log(&[Settled::output("the harbour is closed")]);
    let citations = json!([
        {"tool": "echo", "quote": "harbour is closed"},
        {"tool": "echo", "quote": "the harbour is open"},
    ]);
    let wrong = checked("refuted", &citations, &log);
    assert_eq!(wrong, Err(vec!["\"the harbour is open\" is in no output of echo".to_owned()]));
}

#[test]
fn only_an_unclear_verdict_may_cite_nothing() {
    assert_eq!(checked("unclear", &json!([]), &[]), Ok(()));
    for finding in ["refuted", "not_refuted"] {
        let wrong = checked(finding, &json!([]), &[]);
        assert_eq!(wrong, Err(vec!["it cites nothing".to_owned()]));
    }
}
