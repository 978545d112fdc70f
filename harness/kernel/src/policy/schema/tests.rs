use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;

use super::*;

fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["text"],
        "additionalProperties": false,
        "properties": {
            "text": {"type": "string"},
            "limit": {"type": ["integer", "null"]},
            "kind": {"enum": ["core", "archive"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "where": {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}},
            "any": true,
        },
    })
}

#[rstest]
#[case(json!({"text": "a"}), None)]
#[case(json!({"text": "a", "limit": 3, "kind": "core", "tags": ["x"], "any": [1]}), None)]
#[case(json!({"text": "a", "limit": 3.0}), None)]
#[case(json!({"text": "a", "limit": null}), None)]
#[case(json!({}), Some("text is missing"))]
#[case(json!({"text": 1}), Some("text must be string"))]
#[case(json!({"text": "a", "limit": 1.5}), Some("limit must be integer or null"))]
#[case(json!({"text": "a", "kind": "other"}), Some(r#"kind must be one of "core", "archive""#))]
#[case(json!({"text": "a", "tags": ["x", 2]}), Some("tags[1] must be string"))]
#[case(json!({"text": "a", "where": {}}), Some("where.path is missing"))]
#[case(json!({"text": "a", "where": {"path": "p", "more": 1}}), None)]
fn arguments_are_compared_with_the_schema(
    #[case] arguments: Value,
    #[case] expected: Option<&str>,
) {
    let Value::Object(arguments) = arguments else { panic!("a case is an object") };
    assert_eq!(mismatch(&schema(), &arguments).as_deref(), expected);
}

#[test]
fn an_unknown_field_is_named_with_those_that_are_known() {
    let arguments = Map::from_iter([("text".into(), json!("a")), ("txt".into(), json!("b"))]);
    let mismatch = mismatch(&schema(), &arguments).unwrap();
    assert!(mismatch.starts_with("txt is unknown; known are: "), "{mismatch}");
    assert!(mismatch.contains("text"), "{mismatch}");
}

/// What only a whole validator could judge passes: the executor parses its arguments.
#[rstest]
#[case(json!({}))]
#[case(json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}))]
#[case(json!({"additionalProperties": false, "patternProperties": {"^x": {}}}))]
#[case(json!({"properties": {"x": {"type": "of the future"}}}))]
fn a_schema_beyond_the_check_refuses_nothing(#[case] schema: Value) {
    let arguments = Map::from_iter([("x".to_owned(), json!(1))]);
    assert_eq!(mismatch(&schema, &arguments), None);
}
