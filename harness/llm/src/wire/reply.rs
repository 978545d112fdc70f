//! What both wires share: what is shown back, stop reasons, and when a reply is one.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::LlmError;
use crate::message::{Reasoning, Reply, StopReason, ToolCall, Usage};

/// Most characters of a tool's name on either wire.
const NAME: usize = 64;

/// Stands for a name with nothing legal in it. No tool has it.
const NAMELESS: &str = "unnamed";

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
            Ok(value) if value.get().starts_with('{') && has_whole_characters(value.get()) => {
                Self::Object(value)
            }
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

/// Whether no escape stands for half of a character. A model that cuts an emoji writes
/// one, it passes where strings are skipped, and a provider refuses the whole request for
/// it, again and again.
fn has_whole_characters(json: &str) -> bool {
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        rest = &rest[at..];
        let length = match utf16_unit(rest) {
            Some(0xd800..=0xdbff) => match rest.get(6..).and_then(utf16_unit) {
                Some(0xdc00..=0xdfff) => 12,
                Some(_) | None => return false,
            },
            Some(0xdc00..=0xdfff) => return false,
            Some(_) => 6,
            None => 2,
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    true
}

/// What an escape `\uXXXX` at the start of a text stands for.
fn utf16_unit(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

/// A called tool's name as it is shown back: models also call what is no name on any
/// wire, and a provider would refuse the whole conversation for it, again and again.
pub(super) fn shown_name(name: &str) -> Cow<'_, str> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.len() <= NAME && name.chars().all(legal) {
        return Cow::Borrowed(name);
    }
    let name: String = name.chars().take(NAME).map(|c| if legal(c) { c } else { '_' }).collect();
    Cow::Owned(if name.is_empty() { NAMELESS.to_owned() } else { name })
}

/// Why the model stopped, in the words of either provider and of those between: routers
/// pass on, translate and rename. An empty word is none; some servers write it into
/// every chunk.
pub(super) fn stop_reason(word: &str) -> Option<StopReason> {
    Some(match word.to_ascii_lowercase().as_str() {
        "" => return None,
        "stop" | "end_turn" | "stop_sequence" | "eos" | "eos_token" => StopReason::EndTurn,
        "tool_calls" | "tool_use" | "function_call" => StopReason::ToolUse,
        "length"
        | "max_tokens"
        | "max_output_tokens"
        | "max_completion_tokens"
        | "model_length"
        | "model_context_window_exceeded" => StopReason::MaxTokens,
        "content_filter"
        | "content_filtered"
        | "guardrail_intervened"
        | "prohibited_content"
        | "recitation"
        | "refusal"
        | "safety"
        | "sensitive" => StopReason::Refusal,
        _ => StopReason::Other(word.to_owned()),
    })
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
