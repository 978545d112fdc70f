use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::*;

fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["text"],
        "additionalProperties": false,
        "properties": {
            "text": {"type": "string", "minLength": 1, "maxLength": 5},
            "limit": {"type": ["integer", "null"], "minimum": 1, "maximum": 9.5},
            "kind": {"enum": ["core", "archive", 1]},
            "only": {"const": "this"},
            "tags": {"type": "array", "maxItems": 2, "minItems": 1, "items": {"type": "string"}},
            "where": {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}},
            "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
            "any": true,
        },
    })
}

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(object) = value else { panic!("a case is an object") };
    object
}

fn mismatch(schema: &Value, arguments: Value) -> Option<String> {
    Compiled::default().mismatch(schema, &object(arguments))
}

fn whole(schema: &Value) -> Whole {
    Whole::of(schema, size_of(schema).unwrap()).unwrap()
}

#[rstest]
#[case(json!({"text": "a"}), None)]
#[case(json!({"text": "a", "limit": 3, "kind": "core", "tags": ["x"], "any": [1]}), None)]
#[case(json!({"text": "a", "limit": 3.0, "kind": 1.0, "only": "this"}), None)]
#[case(json!({"text": "a", "limit": null, "counts": {"a": 1}}), None)]
#[case(json!({"text": "äöüßé"}), None)]
#[case(json!({}), Some("text is missing"))]
#[case(json!({"text": 1}), Some("text must be string"))]
#[case(json!({"text": ""}), Some("text must have 1 characters or more and has 0"))]
#[case(json!({"text": "abcdef"}), Some("text must have 5 characters at most and has 6"))]
#[case(json!({"text": "a", "limit": 1.5}), Some("limit must be integer or null"))]
#[case(json!({"text": "a", "limit": 0}), Some("limit must be 1 or more"))]
#[case(json!({"text": "a", "limit": 10}), Some("limit must be 9.5 or less"))]
#[case(json!({"text": "a", "kind": "other"}), Some(r#"kind must be one of "core", "archive", 1"#))]
#[case(json!({"text": "a", "only": "that"}), Some(r#"only must be "this""#))]
#[case(json!({"text": "a", "tags": ["x", 2]}), Some("tags[1] must be string"))]
#[case(json!({"text": "a", "tags": []}), Some("tags must have 1 items or more and has 0"))]
#[case(json!({"text": "a", "tags": ["x", "y", "z"]}), Some("tags must have 2 items at most and has 3"))]
#[case(json!({"text": "a", "where": {}}), Some("where.path is missing"))]
#[case(json!({"text": "a", "where": {"path": "p", "more": 1}}), None)]
#[case(json!({"text": "a", "counts": {"a": "b"}}), Some("counts.a must be integer"))]
fn arguments_are_compared_with_the_schema(
    #[case] arguments: Value,
    #[case] expected: Option<&str>,
) {
    assert!(plain::covers(&schema()), "the schema is one of plain keywords");
    assert_eq!(mismatch(&schema(), arguments.clone()).as_deref(), expected);
    let by_whole = whole(&schema()).mismatch(&object(arguments));
    assert_eq!(by_whole.is_some(), expected.is_some(), "{by_whole:?}");
}

#[test]
fn an_unknown_field_is_named_with_those_that_are_known() {
    let mismatch = mismatch(&schema(), json!({"text": "a", "txt": "b"})).unwrap();
    assert!(mismatch.starts_with("txt is unknown; known are: "), "{mismatch}");
    assert!(mismatch.contains("text"), "{mismatch}");
}

/// What plain keywords cannot say is judged by a whole validator, which points at the field.
#[rstest]
#[case(json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}), json!({"a": 1}), json!({"a": 1, "b": 2}), "oneOf")]
#[case(json!({"additionalProperties": false, "patternProperties": {"^x": {}}}), json!({"xy": 1}), json!({"y": 1}), "'y'")]
#[case(json!({"properties": {"x": {"pattern": "^[a-z]+$"}}}), json!({"x": "ab"}), json!({"x": "A"}), "at /x, ")]
#[case(json!({"properties": {"x": {"pattern": "^(?!no)"}}}), json!({"x": "yes"}), json!({"x": "no"}), "at /x, ")]
#[case(
    json!({"properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}),
    json!({"x": 1}), json!({"x": "1"}), "at /x, the value is not of type \"integer\""
)]
#[case(
    json!({"properties": {"x": {"anyOf": [
        {"type": "string"},
        {"type": "object", "properties": {"deep": {"type": "object", "required": ["id"]}}},
    ]}}}),
    json!({"x": "s"}), json!({"x": {"deep": {}}}), "at /x/deep, \"id\" is a required property"
)]
fn a_schema_beyond_plain_keywords_is_judged_in_full(
    #[case] schema: Value,
    #[case] good: Value,
    #[case] bad: Value,
    #[case] said: &str,
) {
    assert!(!plain::covers(&schema));
    assert_eq!(mismatch(&schema, good), None);
    let found = mismatch(&schema, bad).unwrap();
    assert!(found.contains(said), "{found}");
}

#[rstest]
#[case("https://json-schema.org/draft/2020-12/schema", json!({"prefixItems": [{"type": "string"}]}))]
#[case("https://json-schema.org/draft/2019-09/schema", json!({"items": [{"type": "string"}]}))]
#[case("http://json-schema.org/draft-07/schema#", json!({"items": [{"type": "string"}]}))]
#[case("http://json-schema.org/draft-06/schema#", json!({"items": [{"type": "string"}]}))]
#[case("http://json-schema.org/draft-04/schema#", json!({"items": [{"type": "string"}]}))]
fn every_draft_is_read_as_its_schema_says(#[case] draft: &str, #[case] list: Value) {
    let schema = json!({"$schema": draft, "type": "object", "properties": {"list": list}});
    assert_eq!(mismatch(&schema, json!({"list": ["a"]})), None);
    assert!(mismatch(&schema, json!({"list": [1]})).is_some());
}

/// One bad schema is refused with what is wrong, and where; nothing is ever fetched.
#[rstest]
#[case(json!([]), "describes nothing")]
#[case(json!({"type": "array"}), "describes a value of type array")]
#[case(json!({"type": 5}), "describes the type 5")]
#[case(json!({"properties": {"a": {"type": "objekt"}}}), "at /properties/a/type")]
#[case(json!({"required": "a"}), "at /required")]
#[case(json!({"properties": {"a": {"$ref": "http://example.com/x.json"}}}), "nothing is fetched")]
#[case(json!({"properties": {"a": {"$ref": "file:///etc/passwd"}}}), "nothing is fetched")]
#[case(json!({"properties": {"a": {"$ref": "#/$defs/gone"}}}), "\"#/$defs/gone\", which is not in it")]
#[case(json!({"$schema": "https://example.com/own"}), "https://example.com/own")]
#[case(json!({"properties": {"a": {"$id": "http://example.com/", "$ref": "#"}}}), "take that $id away")]
#[case(json!({"properties": {"a": {"$id": "item", "$ref": "#/$defs/a"}}}), "take that $id away")]
#[case(json!({"anyOf": [{"$anchor": "a"}, {"$anchor": "a"}]}), "two parts of it are named \"a\"")]
#[case(json!({"anyOf": vec![json!({"pattern": "a"}); 101]}), "more than 100 patterns")]
#[case(json!({"properties": {"a": {"pattern": "("}}}), "at /properties/a/pattern")]
#[case(json!({"properties": {"a": {"pattern": "(a{1000}){1000}"}}}), "(a{1000}){1000}")]
#[case(json!({"description": "x".repeat(300 << 10)}), "it is too large: it has")]
fn a_schema_that_cannot_be_used_is_refused_with_the_reason(
    #[case] schema: Value,
    #[case] said: &str,
) {
    let error = check(&schema).unwrap_err().to_string();
    assert!(error.contains(said), "{error}");
    assert!(error.len() < 600, "{} bytes", error.len());
}

fn nested(depth: usize, inner: Value, wrap: fn(Value) -> Value) -> Value {
    (0..depth).fold(inner, |value, _| wrap(value))
}

/// Names that are written otherwise in a reference are found, and none is hidden by one.
#[rstest]
#[case(json!({"properties": {"a": {"$ref": "#/$defs/Page%3CItem%3E"}}, "$defs": {"Page<Item>": {"type": "integer"}}}))]
#[case(json!({"properties": {"a": {"$ref": "#/$defs/a~1b"}}, "$defs": {"a/b": {"type": "integer"}}}))]
#[case(json!({"properties": {"a": {"$ref": "#n"}}, "$defs": {"x": {"$anchor": "n", "type": "integer"}}}))]
#[case(json!({"$id": "https://example.com/s", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer"}}}))]
fn a_reference_inside_the_schema_is_followed(#[case] schema: Value) {
    assert_eq!(check(&schema), Ok(()));
    assert_eq!(mismatch(&schema, json!({"a": 1})), None);
    assert!(mismatch(&schema, json!({"a": "1"})).is_some());
}

#[test]
fn what_unfolds_under_a_property_named_like_data_is_counted_too() {
    let part = |n: usize| json!({"allOf": vec![json!({"$ref": format!("#/$defs/p{n}")}); 2]});
    let mut parts: Map<String, Value> = (0..60).map(|n| (format!("p{n}"), part(n + 1))).collect();
    parts.insert("p60".into(), json!({"type": "object"}));
    let schema = json!({"properties": {"default": {"$ref": "#/$defs/p0"}}, "$defs": parts});
    assert!(check(&schema).unwrap_err().to_string().contains("unfold"));
}

#[test]
fn a_schema_nested_beyond_reason_is_refused() {
    let schema = nested(100, json!({}), |inner| json!({"properties": {"a": inner}}));
    assert!(check(&schema).unwrap_err().to_string().contains("64 deep"));
}

/// Each part refers twice to the next: by pointer, and by name.
#[rstest]
#[case(|n: usize| json!({"allOf": [{"$ref": format!("#/$defs/p{n}")}, {"$ref": format!("#/$defs/p{n}")}]}))]
#[case(|n: usize| json!({"anyOf": [{"$ref": format!("#p{n}")}, {"$ref": format!("#p{n}")}]}))]
fn references_that_unfold_without_end_are_refused_at_once(#[case] part: fn(usize) -> Value) {
    let mut parts = Map::new();
    for n in 0..60 {
        let mut body = part(n + 1);
        body["$anchor"] = json!(format!("p{n}"));
        parts.insert(format!("p{n}"), body);
    }
    parts.insert("p60".into(), json!({"$anchor": "p60", "type": "object"}));
    let schema = json!({"allOf": [{"$ref": "#/$defs/p0"}], "$defs": parts});
    let began = Instant::now();
    assert!(check(&schema).unwrap_err().to_string().contains("unfold"));
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_schema_that_contains_itself_judges_arguments_as_deep_as_time_allows() {
    let tree = json!({
        "type": "object", "additionalProperties": false,
        "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "leaf": {"type": "string"}},
    });
    assert_eq!(mismatch(&tree, json!({"left": {"right": {"leaf": "a"}}})), None);
    let found = mismatch(&tree, json!({"left": {"right": {"leaf": 1}}})).unwrap();
    assert!(found.contains("/left/right/leaf"), "{found}");
    let deep = nested(60, json!({}), |inner| json!({"left": inner}));
    assert!(mismatch(&tree, deep).unwrap().contains("nest less"));
}

/// A validator that followed these would never come back.
#[rstest]
#[case(json!({"allOf": [{"$ref": "#"}]}), true)]
#[case(json!({"if": {"$ref": "#"}, "then": {"required": ["a"]}}), true)]
#[case(json!({"propertyNames": {"$ref": "#"}}), true)]
#[case(json!({"allOf": [{"$dynamicRef": "#x"}], "$dynamicAnchor": "x"}), true)]
#[case(json!({"anyOf": [{"$ref": "#"}, {"required": ["b"]}], "required": ["b"]}), false)]
#[case(json!({
    "$ref": "#/$defs/a",
    "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}
}), true)]
fn a_schema_that_goes_round_in_a_circle_comes_to_an_end(#[case] schema: Value, #[case] fits: bool) {
    assert_eq!(check(&schema), Ok(()));
    assert_eq!(mismatch(&schema, json!({"a": {"a": 1}})).is_none(), fits);
}

/// Every alternative leads back to the whole: judged naively, each level doubles the work.
#[test]
fn alternatives_that_all_contain_the_schema_again_end_in_bounded_time() {
    let branch = json!({"properties": {"a": {"$ref": "#"}}, "required": ["b"]});
    let schema = json!({"type": "object", "anyOf": vec![branch; 8]});
    let began = Instant::now();
    let deep = nested(40, json!({}), |inner| json!({"a": inner}));
    assert!(mismatch(&schema, deep).is_some());
    assert!(mismatch(&schema, json!({"a": {"a": {}}})).is_some());
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_pattern_that_goes_back_for_ever_ends_in_bounded_time() {
    let schema = json!({"properties": {"x": {"pattern": "^(?=(a+)+b$)(a+)+b$"}}});
    let began = Instant::now();
    assert!(mismatch(&schema, json!({"x": "a".repeat(5_000)})).is_some());
    assert!(began.elapsed() < Duration::from_secs(5));
}

/// Each part refers to the next one, by names that sort in either order: what follows the
/// chain goes as deep as it is long.
#[rstest]
#[case(|n: usize| 10_000 + n)]
#[case(|n: usize| 99_999 - n)]
fn a_chain_of_references_beyond_reason_is_refused(#[case] name: fn(usize) -> usize) {
    let chain = |length: usize| {
        let mut schema = Map::new();
        for n in 0..length {
            schema.insert(name(n).to_string(), json!({"$ref": format!("#/{}", name(n + 1))}));
        }
        schema.insert(name(length).to_string(), json!({"type": "integer"}));
        schema.insert("properties".to_owned(), json!({"a": {"$ref": format!("#/{}", name(0))}}));
        Value::Object(schema)
    };
    assert_eq!(mismatch(&chain(20), json!({"a": 1})), None);
    assert!(mismatch(&chain(20), json!({"a": "1"})).is_some());
    let found = check(&chain(9_000)).unwrap_err().to_string();
    assert!(found.contains("lead more than 256 deep"), "{found}");
}

/// The deepest there may be is no danger to the stack of a thread.
#[test]
fn references_within_reason_at_the_ground_of_deep_parts_are_followed() {
    let part = |n: usize| {
        nested(15, json!({"$ref": format!("#/$defs/p{n}")}), |inner| json!({"not": inner}))
    };
    let chained = |length: usize| {
        let mut parts: Map<String, Value> =
            (0..length).map(|n| (format!("p{n}"), part(n + 1))).collect();
        parts.insert(format!("p{length}"), json!({"type": "integer"}));
        json!({"properties": {"a": {"$ref": "#/$defs/p0"}}, "$defs": parts})
    };
    assert_eq!(check(&chained(14)), Ok(()));
    assert!(mismatch(&chained(14), json!({"a": "1"})).is_some());
    assert!(check(&chained(40)).is_err());
}

#[rstest]
#[case(json!({"enum": (0..35_000).collect::<Vec<u32>>()}))]
#[case(json!({"required": (10_000..40_000).map(|n| n.to_string()).collect::<Vec<_>>()}))]
#[case(json!({"enum": (10_000..40_000).map(|n| n.to_string()).collect::<Vec<_>>()}))]
fn a_list_of_very_many_is_looked_at_in_bounded_time(#[case] part: Value) {
    let began = Instant::now();
    let schema = json!({"properties": {"a": part}});
    assert_eq!(check(&schema), Ok(()));
    assert!(mismatch(&schema, json!({"a": {}})).is_some());
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

#[test]
fn what_is_said_of_a_value_never_repeats_it() {
    let schema = json!({"properties": {"x": {"not": {"type": "string"}}}});
    let found = mismatch(&schema, json!({"x": "y".repeat(10 << 20)})).unwrap();
    assert!(found.len() < 400, "{} bytes", found.len());
}

#[test]
fn what_is_said_is_short_however_long_the_names_are() {
    let names: Vec<String> = (0..5_000).map(|n| format!("name-{n}")).collect();
    let schema = json!({"properties": {"x": {"enum": names}}, "additionalProperties": false});
    for arguments in [json!({"x": "other"}), json!({"y".repeat(1 << 20): 1})] {
        let found = mismatch(&schema, arguments).unwrap();
        assert!(found.len() < 700 && found.ends_with('…'), "{} bytes", found.len());
    }
}

#[test]
fn a_copy_of_a_tool_with_another_schema_is_judged_by_its_own() {
    let first = Compiled::default();
    let strict = json!({"anyOf": [{"required": ["a"]}]});
    assert!(first.mismatch(&strict, &Map::new()).is_some());
    assert_eq!(first.clone().mismatch(&json!({"type": "object"}), &Map::new()), None);
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        (-3_i32..4).prop_map(|n| Value::from(f64::from(n) / 2.0)),
        "[ab]{0,3}".prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn keyword(inner: BoxedStrategy<Value>) -> impl Strategy<Value = (String, Value)> {
    let kind = prop::sample::select(vec![
        "null", "boolean", "string", "array", "object", "number", "integer",
    ]);
    let of = |name: &'static str| move |value: Value| (name.to_owned(), value);
    let fields = prop::collection::btree_map("[abc]", inner.clone(), 0..3);
    let fields = fields.prop_map(|fields| Value::Object(fields.into_iter().collect()));
    prop_oneof![
        kind.clone().prop_map(Value::from).prop_map(of("type")),
        prop::collection::btree_set(kind, 1..4).prop_map(|kinds| json!(kinds)).prop_map(of("type")),
        fields.prop_map(of("properties")),
        prop::collection::btree_set("[abc]", 0..3).prop_map(|n| json!(n)).prop_map(of("required")),
        any::<bool>().prop_map(Value::from).prop_map(of("additionalProperties")),
        inner.clone().prop_map(of("additionalProperties")),
        inner.prop_map(of("items")),
        prop::collection::vec(scalar(), 1..4).prop_map(Value::from).prop_map(of("enum")),
        scalar().prop_map(of("const")),
        (0_u64..3).prop_map(Value::from).prop_map(of("minLength")),
        (0_u64..3).prop_map(Value::from).prop_map(of("maxLength")),
        (0_u64..3).prop_map(Value::from).prop_map(of("minItems")),
        (0_u64..3).prop_map(Value::from).prop_map(of("maxItems")),
        (-2_i64..3).prop_map(Value::from).prop_map(of("minimum")),
        (-2_i32..3).prop_map(|n| Value::from(f64::from(n) / 2.0)).prop_map(of("maximum")),
    ]
}

fn plain_schema() -> impl Strategy<Value = Value> {
    let empty = Just(json!({})).boxed();
    empty.prop_recursive(3, 12, 3, |inner| {
        prop::collection::vec(keyword(inner.boxed()), 0..4)
            .prop_map(|keywords| Value::Object(keywords.into_iter().collect()))
    })
}

proptest! {
    #[test]
    fn plain_keywords_are_judged_as_a_whole_validator_judges_them(
        properties in prop::collection::btree_map("[abc]", plain_schema(), 1..4),
        closed in any::<bool>(),
        arguments in prop::collection::btree_map("[abcd]", value(), 0..4),
    ) {
        let schema = json!({
            "type": "object", "properties": properties, "additionalProperties": !closed,
        });
        // An enumeration may have come out with a value twice.
        prop_assume!(plain::covers(&schema));
        let arguments: Map<String, Value> = arguments.into_iter().collect();
        let by_plain = plain::mismatch(&schema, &arguments);
        let by_whole = whole(&schema).mismatch(&arguments);
        prop_assert_eq!(by_plain.is_some(), by_whole.is_some(), "{:?} / {:?}", by_plain, by_whole);
    }

    #[test]
    fn no_value_makes_the_check_of_a_schema_break(schema in value(), arguments in value()) {
        if let (Ok(()), Value::Object(arguments)) = (check(&schema), arguments) {
            let found = Compiled::default().mismatch(&schema, &arguments);
            prop_assert!(found.is_none_or(|said| said.len() < 2_000));
        }
    }
}
