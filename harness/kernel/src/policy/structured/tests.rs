use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::policy::permit::{Judged, judge};
use crate::scenes::echo;
use crate::tool::Toolbox;

fn output() -> OutputSchema {
    OutputSchema::new(json!({
        "type": "object", "required": ["score"], "properties": {"score": {"type": "integer"}},
    }))
    .unwrap()
}

/// KERN-28
#[test]
fn the_tool_takes_exactly_the_schema_of_the_output() {
    let tools = Toolbox::assemble(vec![echo()], Some(&output())).unwrap();
    let specs = tools.specs(&[]);
    assert_eq!(specs.last().unwrap().name, "structured_output");
    assert_eq!(specs.last().unwrap().input_schema, *output().as_value());
    assert!(!Toolbox::assemble(vec![echo()], None).unwrap().names(&[]).any(|name| name == NAME));
}

/// KERN-28
#[test]
fn a_value_that_fits_is_submitted_and_one_that_does_not_is_an_error_result() {
    let tools = Toolbox::assemble(Vec::new(), Some(&output())).unwrap();
    let submitted = |value: Value| {
        let Value::Object(arguments) = value else { panic!("a case is an object") };
        judge(&tools, &mut Vec::new(), NAME, arguments)
    };
    assert_eq!(submitted(json!({"score": 3})), Judged::Submitted { value: json!({"score": 3}) });
    let Judged::Answered(settled) = submitted(json!({"score": "three"})) else {
        panic!("a value that does not fit is answered")
    };
    assert!(settled.is_error());
    assert!(settled.text().contains("score must be integer"), "{}", settled.text());
}

#[test]
fn a_schema_that_no_tool_can_have_is_refused_when_it_is_given() {
    let error = OutputSchema::new(json!({"type": "array"})).unwrap_err().to_string();
    assert!(error.contains("make its type object"), "{error}");
}

#[test]
fn a_stored_schema_that_was_never_checked_stops_assembly_by_name() {
    let stored: OutputSchema = serde_json::from_value(json!({"type": "string"})).unwrap();
    let Err(AssembleError::BadSchema { tool, reason }) = Toolbox::assemble(vec![], Some(&stored))
    else {
        panic!("it is refused")
    };
    assert_eq!(tool, NAME);
    assert!(reason.contains("type string"), "{reason}");
}

#[test]
fn an_output_schema_is_stored_as_it_is() {
    let stored = serde_json::to_value(output()).unwrap();
    assert_eq!(stored, *output().as_value());
    assert_eq!(serde_json::from_value::<OutputSchema>(stored).unwrap(), output());
}
