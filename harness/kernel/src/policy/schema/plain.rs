//! The model's usual slips: missing and unknown fields, wrong types, values outside an
//! enumeration or a range.

use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

/// Numbers of one enumeration that are compared with each other; more are for the whole
/// validator.
const MOST_COMPARED: usize = 100;

/// Keywords that say nothing about what fits.
const SILENT: [&str; 9] = [
    "$comment",
    "default",
    "deprecated",
    "description",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
    "$schema",
];

/// Drafts that mean the same by all that is judged here. Draft 4 has integers of its own.
const DRAFTS: [&str; 4] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema",
    "http://json-schema.org/draft-06/schema",
];

/// Whether everything in this schema is judged here, and as a whole validator would.
pub(super) fn covers(schema: &Value) -> bool {
    let draft = match schema.get("$schema") {
        None => true,
        Some(Value::String(draft)) => DRAFTS.contains(&draft.trim_end_matches('#')),
        Some(_) => false,
    };
    draft && schema.as_object().is_some_and(|schema| schema.iter().all(is_judged))
}

/// Sub-schemas of another draft are for the whole validator.
fn covers_part(schema: &Value) -> bool {
    match schema {
        Value::Bool(anything) => *anything,
        Value::Object(schema) => !schema.contains_key("$schema") && schema.iter().all(is_judged),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
    }
}

fn is_judged((keyword, value): (&String, &Value)) -> bool {
    match keyword.as_str() {
        "type" => types_of(value).is_some_and(|types| types.into_iter().all(is_type)),
        "properties" => value.as_object().is_some_and(|them| them.values().all(covers_part)),
        "required" => value.as_array().is_some_and(|names| are_distinct_names(names)),
        "additionalProperties" => value.is_boolean() || covers_part(value),
        "items" => value.is_object() && covers_part(value),
        "enum" => value.as_array().is_some_and(|values| are_distinct_scalars(values)),
        "const" => is_scalar(value),
        "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
        "minimum" | "maximum" => value.is_number(),
        "title" | "description" | "$comment" => value.is_string(),
        "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
        "examples" => value.is_array(),
        other => SILENT.contains(&other),
    }
}

fn are_distinct_names(names: &[Value]) -> bool {
    let mut seen = BTreeSet::new();
    names.iter().all(|name| name.as_str().is_some_and(|name| seen.insert(name)))
}

fn are_distinct_scalars(values: &[Value]) -> bool {
    let mut texts = BTreeSet::new();
    let mut others: Vec<&Value> = Vec::new();
    let all_new = values.iter().all(|value| match value {
        Value::String(text) => texts.insert(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            let is_known = others.iter().any(|other| same(other, value));
            others.push(value);
            !is_known && others.len() <= MOST_COMPARED
        }
        Value::Array(_) | Value::Object(_) => false,
    });
    all_new && !values.is_empty()
}

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

/// What a schema describes that is no object, if it says so.
pub(super) fn other_than_object(schema: &Value) -> Option<String> {
    let Some(kind) = schema.get("type") else {
        return (!schema.is_object()).then(|| "nothing".to_owned());
    };
    let types = types_of(kind).unwrap_or_default();
    (!types.contains(&"object")).then(|| match types.as_slice() {
        [] => format!("the type {kind}"),
        types => format!("a value of type {}", types.join(" or ")),
    })
}

/// What does not fit, by its path; `None` when all does.
pub(super) fn mismatch(schema: &Value, arguments: &Map<String, Value>) -> Option<String> {
    object_mismatch("", schema, arguments)
}

fn object_mismatch(path: &str, schema: &Value, object: &Map<String, Value>) -> Option<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let missing = required.into_iter().flatten().filter_map(Value::as_str).find_map(|name| {
        (!object.contains_key(name)).then(|| format!("{} is missing", field(path, name)))
    });
    missing.or_else(|| {
        object.iter().find_map(|(name, value)| match properties.and_then(|known| known.get(name)) {
            Some(schema) => value_mismatch(&field(path, name), schema, value),
            None => match schema.get("additionalProperties") {
                Some(Value::Bool(false)) => Some(unknown_field(path, name, properties)),
                Some(schema) => value_mismatch(&field(path, name), schema, value),
                None => None,
            },
        })
    })
}

fn value_mismatch(path: &str, schema: &Value, value: &Value) -> Option<String> {
    if let Some(types) = schema.get("type").and_then(types_of)
        && !types.iter().any(|kind| is_of(kind, value))
    {
        return Some(format!("{path} must be {}", types.join(" or ")));
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.iter().any(|allowed| same(allowed, value))
    {
        let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        return Some(format!("{path} must be one of {}", allowed.join(", ")));
    }
    if let Some(only) = schema.get("const")
        && !same(only, value)
    {
        return Some(format!("{path} must be {only}"));
    }
    match value {
        Value::Object(object) => object_mismatch(path, schema, object),
        Value::Array(items) => items_mismatch(path, schema, items),
        Value::String(text) => length_mismatch(path, schema, text),
        Value::Number(number) => range_mismatch(path, schema, number),
        Value::Null | Value::Bool(_) => None,
    }
}

fn items_mismatch(path: &str, schema: &Value, items: &[Value]) -> Option<String> {
    let bound = |keyword| schema.get(keyword).and_then(Value::as_u64);
    let count = items.len() as u64;
    if let Some(least) = bound("minItems").filter(|least| count < *least) {
        return Some(format!("{path} must have {least} items or more and has {count}"));
    }
    if let Some(most) = bound("maxItems").filter(|most| count > *most) {
        return Some(format!("{path} must have {most} items at most and has {count}"));
    }
    let schema = schema.get("items")?;
    items
        .iter()
        .enumerate()
        .find_map(|(index, item)| value_mismatch(&format!("{path}[{index}]"), schema, item))
}

fn length_mismatch(path: &str, schema: &Value, text: &str) -> Option<String> {
    let bound = |keyword| schema.get(keyword).and_then(Value::as_u64);
    let (least, most) = (bound("minLength"), bound("maxLength"));
    if least.is_none() && most.is_none() {
        return None;
    }
    let length = text.chars().count() as u64;
    if let Some(least) = least.filter(|least| length < *least) {
        return Some(format!("{path} must have {least} characters or more and has {length}"));
    }
    let most = most.filter(|most| length > *most)?;
    Some(format!("{path} must have {most} characters at most and has {length}"))
}

fn range_mismatch(path: &str, schema: &Value, number: &Number) -> Option<String> {
    let bound = |keyword| match schema.get(keyword) {
        Some(Value::Number(bound)) => Some(bound),
        Some(_) | None => None,
    };
    if let Some(least) = bound("minimum").filter(|least| is_below(number, least)) {
        return Some(format!("{path} must be {least} or more"));
    }
    let most = bound("maximum").filter(|most| is_below(most, number))?;
    Some(format!("{path} must be {most} or less"))
}

fn types_of(kind: &Value) -> Option<Vec<&str>> {
    match kind {
        Value::String(kind) => Some(vec![kind]),
        Value::Array(kinds) if !kinds.is_empty() => kinds.iter().map(Value::as_str).collect(),
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            None
        }
    }
}

fn is_type(kind: &str) -> bool {
    ["null", "boolean", "string", "array", "object", "number", "integer"].contains(&kind)
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        // 1.0 is an integer to JSON Schema.
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        _ => false,
    }
}

/// 1 and 1.0 are the same to JSON Schema.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            !is_below(one, other) && !is_below(other, one)
        }
        (one, other) => one == other,
    }
}

fn is_below(one: &Number, other: &Number) -> bool {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => one < other,
        (Some(_) | None, Some(_) | None) => one.as_f64() < other.as_f64(),
    }
}

fn unknown_field(path: &str, name: &str, known: Option<&Map<String, Value>>) -> String {
    let known: Vec<&str> = known.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    format!("{} is unknown; known are: {known}", field(path, name))
}

fn field(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
