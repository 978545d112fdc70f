//! What OpenAI Chat Completions asks of a request's form.

use serde_json::{Value, json};

use super::Found;
use crate::model::captured::Captured;

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "stream",
    "stream_options",
    "tools",
    "tool_choice",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "stop",
    "reasoning_effort",
    "parallel_tool_calls",
    "response_format",
    "seed",
    "user",
    "metadata",
    "store",
    "n",
    "prompt_cache_key",
    "service_tier",
    "safety_identifier",
];

pub(super) fn check(request: &Captured, found: &mut Found) {
    let body = &request.body;
    found.only(body, FIELDS, "the body");
    let caps = ["max_tokens", "max_completion_tokens"];
    let capped = caps.iter().filter(|cap| body.get(**cap).is_some()).count();
    found.unless(capped <= 1, "legal", "the output cap is set twice");
    let streams = request.streams() || body.get("stream_options").is_none();
    found.unless(streams, "legal", "stream_options is set without stream");
    if let Some(temperature) = body.get("temperature") {
        let fits = temperature.as_f64().is_some_and(|value| (0.0..=2.0).contains(&value));
        found.unless(fits, "legal", "temperature is not between 0 and 2");
    }
    tools(request, found);
    for (place, message) in body["messages"].as_array().into_iter().flatten().enumerate() {
        let place = format!("message {place}");
        match message["role"].as_str() {
            Some("system" | "developer" | "user") => {
                found.only(message, &["role", "content", "name"], &place);
                said(&message["content"], &place, found);
            }
            Some("assistant") => assistant(message, &place, found),
            Some("tool") => {
                found.only(message, &["role", "content", "tool_call_id"], &place);
                let text = message["content"].is_string() || message["content"].is_array();
                found.unless(text, "legal", format!("{place} has no content"));
            }
            role => found.add("legal", format!("{place} has role {role:?}")),
        }
    }
}

fn tools(request: &Captured, found: &mut Found) {
    found.tools(request);
    for tool in request.body["tools"].as_array().into_iter().flatten() {
        found.only(tool, &["type", "function"], "a tool");
        found.unless(tool["type"] == json!("function"), "legal", "a tool is no function");
        let object = tool["function"]["parameters"]["type"] == json!("object");
        let name = &tool["function"]["name"];
        found.unless(object, "legal", format!("parameters of {name} are no object schema"));
    }
    if let Some(choice) = request.body.get("tool_choice") {
        let word = matches!(choice.as_str(), Some("none" | "auto" | "required"));
        let named = choice["type"] == json!("function") && choice["function"]["name"].is_string();
        found.unless(word || named, "legal", format!("tool_choice is {choice}"));
    }
}

fn said(content: &Value, place: &str, found: &mut Found) {
    let says = match content {
        Value::String(text) => !text.is_empty(),
        Value::Array(parts) => {
            let text = |part: &Value| part["text"].as_str().is_some_and(|text| !text.is_empty());
            for part in parts {
                found.only(part, &["type", "text"], &format!("a part of {place}"));
                let what = format!("{place} has a part of type {}", part["type"]);
                found.unless(part["type"] == json!("text"), "legal", what);
            }
            !parts.is_empty() && parts.iter().all(text)
        }
        _ => false,
    };
    found.unless(says, "never_empty", format!("{place} is empty"));
}

fn assistant(message: &Value, place: &str, found: &mut Found) {
    let allowed = ["role", "content", "tool_calls", "reasoning_content", "refusal", "name"];
    found.only(message, &allowed, place);
    let calls = message["tool_calls"].as_array();
    match (&message["content"], calls.is_some()) {
        (Value::Null, true) => {} // calls alone (KERN-09)
        (Value::Null, false) => found.add("never_empty", format!("{place} says and calls nothing")),
        (content, _) => said(content, place, found),
    }
    if let Some(calls) = calls {
        found.unless(!calls.is_empty(), "never_empty", format!("{place} has an empty tool_calls"));
        for call in calls {
            found.only(call, &["id", "type", "function"], "a call");
            found.only(&call["function"], &["name", "arguments"], "a call's function");
            found.unless(call["type"] == json!("function"), "legal", "a call is no function");
            found.tool_name(call["function"]["name"].as_str().unwrap_or_default());
            let id = call["id"].as_str().unwrap_or_default();
            let short = id.len() <= 40;
            found.unless(short, "unique_ids", format!("the id {id} has more than 40 characters"));
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            let parsed: Option<Value> = serde_json::from_str(arguments).ok();
            let object = parsed.is_some_and(|value| value.is_object());
            let what = format!("arguments of call {} are no object", call["id"]);
            found.unless(object, "object_arguments", what);
        }
    }
}
