//! What Anthropic Messages asks of a request's form.

use serde_json::{Value, json};

use super::Found;
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
    tools(request, found);
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
    let Some(budget) = body["thinking"]["budget_tokens"].as_u64() else { return };
    found.unless(budget >= 1024, "legal", "thinking.budget_tokens is below 1024");
    found.unless(cap > budget, "legal", "max_tokens is not above thinking.budget_tokens");
    let plain = body.get("temperature").is_none_or(|value| *value == json!(1));
    found.unless(plain, "legal", "a temperature is set while thinking");
}

fn tools(request: &Captured, found: &mut Found) {
    found.tool_names(request);
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
    let offered = !request.tools().is_empty();
    let chosen = request.body.get("tool_choice").is_some();
    found.unless(offered || !chosen, "legal", "tool_choice is set without tools");
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
    match kind {
        "text" => {
            let said = !text("text").trim().is_empty();
            found.unless(said, "never_empty", format!("{place} has an empty text block"));
        }
        "thinking" => {
            let whole = text("signature") == signature(text("thinking"));
            let what = format!("{place} has a thinking block that is not as it was signed");
            found.unless(whole, "whole_thinking", what);
        }
        "tool_use" => {
            let what = format!("input of call {} is no object", text("id"));
            found.unless(block["input"].is_object(), "object_arguments", what);
        }
        "tool_result" => {
            if let Some(content) = block.get("content") {
                self::blocks(content, &["text"], &format!("a result in {place}"), found);
            }
        }
        _ => {}
    }
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
