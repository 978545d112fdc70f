//! A reply of Anthropic Messages that came as one document.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::usage::{WireUsage, stop_reason};
use crate::error::LlmError;
use crate::message::{Reasoning, Reply, ToolCall};
use crate::wire::reply::Parts;

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(default)]
    model: String,
    #[serde(borrow, default)]
    content: Vec<Block<'a>>,
    stop_reason: Option<String>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct Block<'a> {
    r#type: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    thinking: String,
    #[serde(default)]
    signature: String,
    #[serde(default)]
    data: String,
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

pub(crate) fn read(body: &str) -> Result<Reply, LlmError> {
    let document: Document<'_> =
        serde_json::from_str(body).map_err(|error| LlmError::not_understood(&error, body))?;
    let mut parts = Parts { model: document.model, ended: true, ..Parts::default() };
    parts.stop = document.stop_reason.as_deref().and_then(stop_reason);
    if let Some(usage) = document.usage {
        usage.replace_in(&mut parts.usage);
    }
    for block in document.content {
        match block.r#type.as_str() {
            "text" => parts.text.push_str(&block.text),
            "thinking" => parts
                .reasoning
                .push(Reasoning::Thinking { text: block.thinking, signature: block.signature }),
            "redacted_thinking" => parts.reasoning.push(Reasoning::Redacted { data: block.data }),
            "tool_use" => parts.calls.push(ToolCall {
                id: block.id,
                name: block.name,
                arguments: block.input.map_or_else(String::new, |input| input.get().to_owned()),
            }),
            _ => {} // a kind we never asked for
        }
    }
    parts.whole()
}
