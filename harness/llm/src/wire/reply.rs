//! What both wires share: arguments shown back, and when a reply is one.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::LlmError;
use crate::message::{Reasoning, Reply, StopReason, ToolCall, Usage};

/// A call's arguments as they are shown back to the model: byte for byte where they
/// are a JSON object, else `{}`. Both providers refuse anything but an object; what
/// the model truly wrote is told to it in that call's error result.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Shown<'a> {
    Object(&'a RawValue),
    Empty {},
}

impl<'a> Shown<'a> {
    pub(super) fn of(raw: &'a str) -> Self {
        match serde_json::from_str::<&RawValue>(raw) {
            Ok(value) if value.get().starts_with('{') => Self::Object(value),
            Ok(_) | Err(_) => Self::Empty {},
        }
    }

    pub(super) fn text(&self) -> &'a str {
        match self {
            Self::Object(value) => value.get(),
            Self::Empty {} => "{}",
        }
    }
}

/// The parts of a reply, once the provider has no more to say.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub text: String,
    pub reasoning: Vec<Reasoning>,
    pub calls: Vec<ToolCall>,
    pub stop: Option<StopReason>,
    pub usage: Usage,
    pub model: String,
    /// Whether the provider marked the end of the stream, or sent one document.
    pub ended: bool,
}

impl Parts {
    /// The whole reply. Without content, calls and stop reason it is no completion
    /// (KERN-15); with content but without any mark of its end it was cut.
    pub(super) fn whole(self) -> Result<Reply, LlmError> {
        let Self { text, reasoning, calls, stop, usage, model, ended } = self;
        let silent = text.is_empty() && calls.is_empty();
        let stop = match stop {
            Some(stop) => stop,
            None if silent => return Err(LlmError::no_completion()),
            None if !ended => {
                return Err(LlmError::broken("the stream ended in the middle of the reply"));
            }
            // Some compatible servers mark the end and give no reason for it.
            None if calls.is_empty() => StopReason::EndTurn,
            None => StopReason::ToolUse,
        };
        let text = (!text.is_empty()).then_some(text);
        Ok(Reply { text, reasoning, calls, stop, usage, model })
    }
}
