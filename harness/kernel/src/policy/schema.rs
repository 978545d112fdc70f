//! Whether arguments fit a tool's schema, as far as the model's usual slips go:
//! missing and unknown fields, wrong types, values outside an enumeration.
//!
//! It refuses only what every JSON Schema validator refuses; keywords that are not
//! named here are the executor's to judge, which parses its arguments anyway.

use serde_json::{Map, Value};

/// What does not fit, by its path, in words for the model; `None` when all does.
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
            None => is_closed(schema).then(|| unknown_field(path, name, properties)),
        })
    })
}

fn value_mismatch(path: &str, schema: &Value, value: &Value) -> Option<String> {
    if let Some(types) = types_of(schema)
        && !types.iter().any(|kind| is_of(kind, value))
    {
        return Some(format!("{path} must be {}", types.join(" or ")));
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        return Some(format!("{path} must be one of {}", allowed.join(", ")));
    }
    match value {
        Value::Object(object) => object_mismatch(path, schema, object),
        Value::Array(items) => {
            let schema = schema.get("items")?;
            items
                .iter()
                .enumerate()
                .find_map(|(index, item)| value_mismatch(&format!("{path}[{index}]"), schema, item))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Patterns and compositions may allow what `properties` does not name.
fn is_closed(schema: &Value) -> bool {
    schema.get("additionalProperties") == Some(&Value::Bool(false))
        && schema.get("patternProperties").is_none()
}

fn types_of(schema: &Value) -> Option<Vec<&str>> {
    match schema.get("type")? {
        Value::String(kind) => Some(vec![kind]),
        Value::Array(kinds) => kinds.iter().map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
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
        _ => true,
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

#[cfg(test)]
mod tests;
