use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::policy::structured::OutputSchema;
use crate::scenes::{Does, echo, tool};
use crate::tool::AssembleError;

fn answered(tools: &Toolbox, name: &str, arguments: Map<String, Value>) -> String {
    match judge(tools, &mut Vec::new(), name, arguments) {
        Judged::Answered(settled @ Settled::NotRun { .. }) => settled.text(),
        other => panic!("not refused: {other:?}"),
    }
}

fn strict(schema: Value) -> Result<Toolbox, AssembleError> {
    let mut strict = (*echo()).clone();
    strict.spec.input_schema = schema;
    Toolbox::assemble(vec![Arc::new(strict)], None)
}

#[test]
fn an_unknown_tool_is_refused_with_those_that_exist() {
    let write = tool("write", Effect::Write, Does(|_| Ok(String::new())));
    let tools = Toolbox::assemble(vec![write, echo()], None).unwrap();
    assert_eq!(
        answered(&tools, "grep", Map::new()),
        "not executed: there is no tool \"grep\". There are: echo, write"
    );
    let judged = judge(&tools, &mut Vec::new(), "echo", Map::new());
    assert_eq!(judged, Judged::Run(Map::new()));
}

#[test]
fn a_run_without_tools_says_that_there_are_none() {
    assert_eq!(
        answered(&Toolbox::default(), "grep", Map::new()),
        "not executed: there is no tool \"grep\", nor any other"
    );
}

#[test]
fn a_hostile_name_is_answered_in_few_words() {
    let many = (0..500).map(|n| tool(&format!("t{n}"), Effect::Read, Does(|_| Ok(String::new()))));
    let tools = Toolbox::assemble(many.collect(), None).unwrap();
    let said = answered(&tools, &"x".repeat(1 << 20), Map::new());
    assert!(said.ends_with("and 450 more") && said.len() < 1_000, "{said}");
}

#[test]
fn arguments_that_do_not_fit_are_refused_with_the_field() {
    let tools = strict(json!({"type": "object", "required": ["text"]})).unwrap();
    assert_eq!(
        answered(&tools, "echo", Map::new()),
        "not executed: the arguments do not fit the schema of echo: text is missing"
    );
}

#[test]
fn arguments_beyond_reason_are_refused_before_anything_looks_at_them() {
    let tools = strict(json!({"type": "object"})).unwrap();
    let huge = Map::from_iter([("text".to_owned(), json!("x".repeat(10 << 20)))]);
    assert!(answered(&tools, "echo", huge).contains("make several smaller calls"));
    let deep = (0..500).fold(json!(1), |inner, _| json!([inner]));
    let deep = Map::from_iter([("list".to_owned(), deep)]);
    assert!(answered(&tools, "echo", deep).contains("nested more than 128 deep"));
}

/// The whole table.
#[rstest]
#[case(Mode::Default, "allow", "ask", "ask", "ask")]
#[case(Mode::Auto, "allow", "ask", "allow", "ask")]
#[case(Mode::Bypass, "allow", "allow", "allow", "allow")]
#[case(Mode::Plan, "allow", "ask", "deny", "deny")]
fn a_mode_says_which_calls_need_leave(
    #[case] mode: Mode,
    #[case] read: &str,
    #[case] guarded_read: &str,
    #[case] write: &str,
    #[case] guarded_write: &str,
) {
    let said = |effect, guard| match decide(mode, effect, guard) {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny(why) => {
            assert!(why.contains("plan"), "{why}");
            "deny"
        }
    };
    let row = [
        said(Effect::Read, Guard::Routine),
        said(Effect::Read, Guard::Guarded),
        said(Effect::Write, Guard::Routine),
        said(Effect::Write, Guard::Guarded),
    ];
    assert_eq!(row, [read, guarded_read, write, guarded_write]);
}

#[test]
fn a_mode_is_stored_under_the_name_that_people_use() {
    let names = [Mode::Default, Mode::Auto, Mode::Bypass, Mode::Plan].map(|mode| json!(mode));
    assert_eq!(names, [json!("default"), json!("auto"), json!("bypass"), json!("plan")]);
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("(text|count|.{0,4})", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Whatever a model sends, a call is run only with arguments that fit, unchanged, and
    /// the value of the run is only what fits its schema.
    #[test]
    fn only_what_fits_is_run(
        name in prop::sample::select(vec!["echo", "structured_output", "ToolSearch", "found", "nope", ""]),
        arguments in prop::collection::btree_map("(text|count|query|.{0,3})", json_value(), 0..4),
        was_found in any::<bool>(),
    ) {
        let schema = json!({
            "type": "object", "required": ["text"], "additionalProperties": false,
            "properties": {"text": {"type": "string"}, "count": {"type": "integer"}},
        });
        let mut strict = (*echo()).clone();
        strict.spec.input_schema = schema.clone();
        let found = (*tool("found", Effect::Write, Does(|_| Ok(String::new())))).clone().deferred();
        let output = OutputSchema::new(schema).unwrap();
        let tools = vec![Arc::new(strict), Arc::new(found)];
        let tools = Toolbox::assemble(tools, Some(&output)).unwrap();
        let arguments: Map<String, Value> = arguments.into_iter().collect();
        let fits = arguments.get("text").is_some_and(Value::is_string)
            && arguments.iter().all(|(name, value)| match name.as_str() {
                "text" => true,
                "count" => value.as_f64().is_some_and(|n| n.fract() == 0.0),
                _ => false,
            });
        let mut activated = if was_found { vec!["found".to_owned()] } else { Vec::new() };
        let judged = judge(&tools, &mut activated, name, arguments.clone());
        match (name, judged) {
            ("echo", Judged::Run(given)) => {
                prop_assert!(fits);
                prop_assert_eq!(given, arguments);
            }
            ("structured_output", Judged::Submitted { value }) => {
                prop_assert!(fits);
                prop_assert_eq!(value, Value::Object(arguments));
            }
            ("found", Judged::Run(given)) => {
                prop_assert!(was_found);
                prop_assert_eq!(given, arguments);
            }
            ("echo" | "structured_output", Judged::Answered(settled)) => {
                prop_assert!(!fits && settled.is_error());
            }
            ("found", Judged::Answered(settled)) => {
                prop_assert!(!was_found && settled.is_error());
            }
            ("nope" | "", Judged::Answered(settled)) => prop_assert!(settled.is_error()),
            ("ToolSearch", Judged::Answered(_)) => {}
            (name, other) => prop_assert!(false, "{} came to {:?}", name, other),
        }
    }
}
