use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::policy::permit::{Judged, judge};
use crate::scenes::{Does, batch, calls, echo, model_call, outcome, run_with, says, settings};
use crate::{Entry, Stop};

fn deferred(name: &str, description: &str) -> Arc<Tool> {
    let spec = ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: json!({"type": "object", "properties": {"marker_of_schema": {"type": "string"}}}),
    };
    let executor = Does(|_| Ok("done".to_owned()));
    Arc::new(Tool::new(spec, Effect::Read, Arc::new(executor)).deferred())
}

fn tools() -> Vec<Arc<Tool>> {
    vec![
        echo(),
        deferred("github__create_issue", "Opens an issue in a repository."),
        deferred("github__listIssues", "Lists the issues of a repository."),
        deferred("calendar__create_event", "Puts an event into a calendar."),
        deferred("mail__send", "Sends a message about an issue to somebody."),
    ]
}

fn toolbox() -> Toolbox {
    Toolbox::assemble(tools(), None).unwrap()
}

fn searched(query: &str) -> (Vec<String>, Settled) {
    let mut activated = Vec::new();
    let arguments = Map::from_iter([("query".to_owned(), json!(query))]);
    let settled = answer(&toolbox(), &mut activated, &arguments);
    (activated, settled)
}

/// KERN-08
#[rstest]
#[case("select:mail__send", &["mail__send"])]
#[case("select:mail__send, github__create_issue,mail__send", &["mail__send", "github__create_issue"])]
#[case(
    "create issue",
    &["github__create_issue", "calendar__create_event", "github__listIssues", "mail__send"]
)]
#[case("mail__send", &["mail__send"])]
#[case("list issues", &["github__listIssues"])]
#[case("Calendar", &["calendar__create_event"])]
#[case("repositor", &["github__create_issue", "github__listIssues"])]
fn a_search_brings_in_all_its_hits_best_first(#[case] query: &str, #[case] found: &[&str]) {
    let (activated, settled) = searched(query);
    assert_eq!(activated, found, "{}", settled.text());
    for name in found {
        assert!(settled.text().contains(&format!("- {name}: ")), "{}", settled.text());
    }
}

#[rstest]
#[case("quantum", "no tool was found for \"quantum\": try other words")]
#[case("select:mail__sent", "there is no tool \"mail__sent\"; near it are mail__send")]
#[case("select:zzz", "there is no tool \"zzz\"")]
#[case("select:echo", "echo could be called all along")]
#[case("select:ToolSearch", "ToolSearch could be called all along")]
#[case("select:", "no tool was found for \"select:\": try other words")]
#[case("-- ?", "no tool was found for \"-- ?\": try other words")]
fn a_search_without_a_hit_says_what_there_is(#[case] query: &str, #[case] said: &str) {
    assert_eq!(searched(query), (Vec::new(), Settled::failed(said)));
}

#[test]
fn one_wrong_name_does_not_keep_the_others_out() {
    let (activated, settled) = searched("select:mail__send,nope");
    assert_eq!(activated, ["mail__send"]);
    assert!(settled.text().ends_with("there is no tool \"nope\""), "{}", settled.text());
}

#[test]
fn a_search_brings_in_no_more_than_it_may() {
    let many: Vec<_> = (0..50).map(|n| deferred(&format!("s__t{n}"), "Does a thing.")).collect();
    let tools = Toolbox::assemble(many, None).unwrap();
    let hits = |arguments: Value| {
        let Value::Object(arguments) = arguments else { panic!("a case is an object") };
        let mut activated = Vec::new();
        let settled = answer(&tools, &mut activated, &arguments);
        (activated.len(), settled.text())
    };
    assert_eq!(hits(json!({"query": "thing"})).0, 5);
    assert_eq!(hits(json!({"query": "thing", "max_results": 9})).0, 9);
    let all: Vec<String> = (0..50).map(|n| format!("s__t{n}")).collect();
    let (found, said) = hits(json!({"query": format!("select:{}", all.join(","))}));
    assert_eq!(found, 20);
    assert!(said.contains("s__t20 was left out: 20 are the most at once"), "{said}");
}

#[test]
fn a_tool_whose_schema_cannot_be_used_is_not_brought_in_and_the_others_are() {
    let mut broken = (*deferred("s__bad", "Does a bad thing.")).clone();
    broken.spec.input_schema = json!({"type": "object", "required": "all"});
    let tools = vec![Arc::new(broken), deferred("s__good", "Does a good thing.")];
    let tools = Toolbox::assemble(tools, None).unwrap();
    let mut activated = Vec::new();
    let arguments = Map::from_iter([("query".to_owned(), json!("thing"))]);
    let said = answer(&tools, &mut activated, &arguments).text();
    assert_eq!(activated, ["s__good"]);
    assert!(said.contains("s__bad cannot be called: its schema cannot be used"), "{said}");
}

#[test]
fn a_thousand_tools_are_listed_in_bounded_bytes() {
    let many: Vec<_> = (0..1000).map(|n| deferred(&format!("server__tool_{n}"), "x")).collect();
    let spec = tool(&many).spec;
    assert!(spec.description.len() < 5_000, "{} bytes", spec.description.len());
    assert!(spec.description.ends_with("more, to be found by keywords"), "{}", spec.description);
}

/// KERN-08
#[test]
fn calling_a_tool_before_it_is_found_says_how_to_find_it() {
    let mut activated = Vec::new();
    let judged = judge(&toolbox(), &mut activated, "mail__send", Map::new());
    let said = "the tool mail__send is not loaded yet: call ToolSearch with the query \
                \"select:mail__send\" first, then read its schema";
    assert_eq!(judged, Judged::Answered(Settled::not_run(said)));
    activated.push("mail__send".to_owned());
    let judged = judge(&toolbox(), &mut activated, "mail__send", Map::new());
    assert_eq!(judged, Judged::Run(Map::new()));
}

/// KERN-08
#[test]
fn a_deferred_schema_is_in_no_request_before_the_search_that_finds_it() {
    let mut run = run_with(settings(), tools());
    let first = model_call(&mut run).request;
    let names = |specs: &[ToolSpec]| specs.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&first.tools), ["echo", "ToolSearch"]);
    assert!(!serde_json::to_string(&first.tools).unwrap().contains("marker_of_schema"));

    let query = r#"{"query": "select:mail__send,github__listIssues"}"#;
    run.replied(Ok(calls([("c1", "ToolSearch", query)])));
    let second = model_call(&mut run).request;
    assert_eq!(names(&second.tools), ["echo", "ToolSearch", "mail__send", "github__listIssues"]);
    // All that stood before is as it was, for the provider's cache.
    assert_eq!(second.tools[..2], first.tools[..]);

    run.replied(Ok(calls([("c2", "mail__send", "{}")])));
    assert_eq!(batch(&mut run).calls[0].tool.spec.name, "mail__send");
    run.ran(vec![Settled::output("done")]);
    assert_eq!(model_call(&mut run).request.tools, second.tools);
    run.replied(Ok(says("sent")));
    let outcome = outcome(&mut run);
    assert_eq!(outcome.stop, Stop::EndTurn);
    let is_error = |entry: &Entry| match entry {
        Entry::Results { results } => results.iter().any(|result| result.settled.is_error()),
        _ => false,
    };
    assert!(!outcome.entries.iter().any(is_error));
}

#[test]
fn without_deferred_tools_there_is_no_search() {
    let tools = Toolbox::assemble(vec![echo()], None).unwrap();
    assert_eq!(tools.names(&[]).collect::<Vec<_>>(), ["echo"]);
}

#[test]
fn its_schema_is_a_plain_one() {
    assert!(crate::policy::schema::is_plain(&tool(&[]).spec.input_schema));
}
