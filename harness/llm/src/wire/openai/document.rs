//! A reply of OpenAI Chat Completions that came as one document.

use serde::Deserialize;

use super::usage::{WireUsage, stop_reason};
use crate::error::LlmError;
use crate::message::{Reasoning, Reply, StopReason, ToolCall};
use crate::wire::reply::Parts;

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    model: String,
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct Choice {
    message: Said,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Said {
    content: Option<String>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    id: Option<String>,
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: String,
}

pub(crate) fn read(body: &str) -> Result<Reply, LlmError> {
    let document: Document =
        serde_json::from_str(body).map_err(|error| LlmError::not_understood(&error, body))?;
    let mut parts = Parts { model: document.model, ended: true, ..Parts::default() };
    parts.usage = document.usage.map(Into::into).unwrap_or_default();
    if let Some(Choice { message, finish_reason }) = document.choices.into_iter().next() {
        parts.stop = finish_reason.as_deref().and_then(stop_reason);
        parts.text = message.content.unwrap_or_default();
        if let Some(refusal) = message.refusal.filter(|words| !words.is_empty()) {
            parts.text.push_str(&refusal);
            parts.stop = Some(StopReason::Refusal);
        }
        let thoughts = message.reasoning_content.filter(|text| !text.is_empty());
        parts.reasoning = thoughts.map(|text| Reasoning::Text { text }).into_iter().collect();
        let calls = message.tool_calls.unwrap_or_default().into_iter().enumerate();
        parts.calls = calls
            .map(|(index, Call { id, function: Function { name, arguments } })| ToolCall {
                id: super::stream::call_id(id.unwrap_or_default(), index as u64),
                name,
                arguments,
            })
            .collect();
    }
    parts.whole()
}
