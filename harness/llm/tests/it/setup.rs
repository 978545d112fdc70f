//! What every test here starts from.

use std::sync::Arc;
use std::time::Duration;

use fakes::model::ModelServer;
use foundry_llm::{
    Auth, Content, Endpoint, Limits, Message, Request, ToolChoice, ToolSpec, Transport, Wire,
};
use jiff::Timestamp;
use serde_json::json;

pub const KEY: &str = "sk-scripted-key";

/// A time far from the one the scripted model states, so that only the difference of
/// its own dates can be right.
pub fn clock() -> foundry_llm::Clock {
    Arc::new(|| Timestamp::UNIX_EPOCH)
}

/// Short enough for a test, long enough for a busy machine.
pub fn limits() -> Limits {
    Limits { headers: Duration::from_secs(20), idle: Duration::from_secs(20), ..Limits::default() }
}

pub fn endpoint(model: &ModelServer, wire: Wire) -> Endpoint {
    let auth = match wire {
        Wire::Anthropic => Auth::api_key(KEY),
        Wire::OpenAi => Auth::bearer(KEY),
    };
    Endpoint::new(wire, &model.url().parse().unwrap(), auth).unwrap()
}

pub fn transport(model: &ModelServer, wire: Wire) -> Transport {
    Transport::new(endpoint(model, wire), limits(), clock()).unwrap()
}

pub fn request(text: &str) -> Request {
    Request {
        model: "scripted".to_owned(),
        system: "You keep the tide table.".to_owned(),
        messages: vec![Message::User { content: vec![Content::Text { text: text.to_owned() }] }],
        tools: vec![ToolSpec {
            name: "recall".to_owned(),
            description: "Looks up memories.".to_owned(),
            input_schema: json!({"type": "object", "properties": {"query": {"type": "string"}}}),
        }],
        tool_choice: ToolChoice::Auto,
        max_output_tokens: 8192,
        temperature: None,
        reasoning_effort: None,
        thinking_budget: None,
    }
}
