//! What Anthropic Messages asks of a request's form.

use serde_json::{Value, json};

use super::{Found, marks};
use crate::model::captured::Captured;
use crate::model::wire::signature;

const FIELDS: &[&str] = &[
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "temperature",
    "top_p",
    "top_k",
    "stop_sequences",
    "thinking",
    "metadata",
    "service_tier",
];

pub(super) fn check(request: &Captured, found: &mut Found) {
    let body = &request.body;
    found.only(body, FIELDS, "the body");
    let version = request.header("anthropic-version").is_some();
    found.unless(version, "legal", "the header anthropic-version is missing");
    let cap = body["max_tokens"].as_u64().unwrap_or(0);
    found.unless(cap > 0, "legal", "max_tokens is missing");
    thinking(body, cap, found);
    if let Some(system) = body.get("system") {
        blocks(system, &["text"], "system", found);
    }
    if let Some(temperature) = body.get("temperature") {
        let fits = temperature.as_f64().is_some_and(|value| (0.0..=1.0).contains(&value));
        found.unless(fits, "legal", "temperature is not between 0 and 1");
    }
    tools(request, found);
    marks::check(body, found);
    for (place, message) in body["messages"].as_array().into_iter().flatten().enumerate() {
        let place = format!("message {place}");
        found.only(message, &["role", "content"], &place);
        match message["role"].as_str() {
            Some("user") => blocks(&message["content"], &["text", "tool_result"], &place, found),
            Some("assistant") => {
                let kinds = ["text", "thinking", "redacted_thinking", "tool_use"];
                blocks(&message["content"], &kinds, &place, found);
            }
            role => found.add("legal", format!("{place} has role {role:?}")),
        }
        results_first(message, &place, found);
    }
}

fn thinking(body: &Value, cap: u64, found: &mut Found) {
    let Some(thinking) = body.get("thinking") else { return };
    let kind = thinking["type"].as_str().unwrap_or_default();
    if kind != "enabled" {
        let known = matches!(kind, "disabled" | "adaptive");
        found.unless(known, "legal", format!("thinking has the type {kind:?}"));
        return;
    }
    let budget = thinking["budget_tokens"].as_u64().unwrap_or(0);
    found.unless(budget >= 1024, "legal", "thinking.budget_tokens is below 1024");
    found.unless(cap > budget, "legal", "max_tokens is not above thinking.budget_tokens");
    let plain = body.get("temperature").is_none_or(|value| value.as_f64() == Some(1.0));
    found.unless(plain, "legal", "a temperature is set while thinking");
    found.unless(body.get("top_k").is_none(), "legal", "top_k is set while thinking");
    let forced = matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool"));
    found.unless(!forced, "legal", "tool_choice forces a tool while thinking");
}

fn tools(request: &Captured, found: &mut Found) {
    found.tools(request);
    for tool in request.body["tools"].as_array().into_iter().flatten() {
        let allowed = ["name", "description", "input_schema", "cache_control", "type"];
        found.only(tool, &allowed, "a tool");
        let object = tool["input_schema"]["type"] == json!("object");
        found.unless(
            object,
            "legal",
            format!("input_schema of {} is no object schema", tool["name"]),
        );
    }
    if let Some(choice) = request.body.get("tool_choice") {
        let kind = choice["type"].as_str().unwrap_or_default();
        let known = matches!(kind, "auto" | "any" | "none" | "tool");
        found.unless(known, "legal", format!("tool_choice has the type {kind:?}"));
        found.only(choice, &["type", "name", "disable_parallel_tool_use"], "tool_choice");
    }
    let called = request.conversation().iter().any(|one| !one.calls.is_empty());
    let offered = !request.tools().is_empty();
    found.unless(offered || !called, "legal", "there are calls, and no tools are defined");
}

/// Content is a text that says something, or a list of blocks of these kinds that do.
fn blocks(content: &Value, kinds: &[&str], place: &str, found: &mut Found) {
    match content {
        Value::String(text) => {
            found.unless(!text.is_empty(), "never_empty", format!("{place} is empty"));
        }
        Value::Array(blocks) => {
            found.unless(!blocks.is_empty(), "never_empty", format!("{place} has no block"));
            for block in blocks {
                let kind = block["type"].as_str().unwrap_or_default();
                let known = kinds.contains(&kind);
                found.unless(known, "legal", format!("{place} has a block of type {kind:?}"));
                self::block(block, kind, place, found);
            }
        }
        _ => found.add("legal", format!("{place} has neither text nor blocks")),
    }
}

fn block(block: &Value, kind: &str, place: &str, found: &mut Found) {
    let text = |key: &str| block[key].as_str().unwrap_or_default();
    let fields: &[&str] = match kind {
        "text" => {
            let said = !text("text").trim().is_empty();
            found.unless(said, "never_empty", format!("{place} has an empty text block"));
            &["type", "text", "cache_control"]
        }
        "thinking" => {
            let whole = text("signature") == signature(text("thinking"));
            let what = format!("{place} has a thinking block that is not as it was signed");
            found.unless(whole, "whole_thinking", what);
            &["type", "thinking", "signature"]
        }
        "redacted_thinking" => &["type", "data"],
        "tool_use" => {
            let what = format!("input of call {} is no object", text("id"));
            found.unless(block["input"].is_object(), "object_arguments", what);
            found.tool_name(text("name"));
            &["type", "id", "name", "input", "cache_control"]
        }
        "tool_result" => {
            if let Some(content) = block.get("content") {
                self::blocks(content, &["text"], &format!("a result in {place}"), found);
            }
            let error = block.get("is_error").is_none_or(Value::is_boolean);
            found.unless(error, "legal", format!("is_error in {place} is neither true nor false"));
            &["type", "tool_use_id", "content", "is_error", "cache_control"]
        }
        _ => return,
    };
    found.only(block, fields, &format!("a block in {place}"));
}

/// In a user message, results stand before text.
fn results_first(message: &Value, place: &str, found: &mut Found) {
    let kinds = message["content"].as_array().into_iter().flatten();
    let kinds: Vec<&str> = kinds.filter_map(|block| block["type"].as_str()).collect();
    let first_other = kinds.iter().position(|kind| *kind != "tool_result");
    let last_result = kinds.iter().rposition(|kind| *kind == "tool_result");
    if let (Some(other), Some(result)) = (first_other, last_result) {
        found.unless(result < other, "one_group", format!("{place} has text before a result"));
    }
}
