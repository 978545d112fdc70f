//! A streamed reply of OpenAI Chat Completions.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::usage::{WireUsage, stop_reason};
use crate::delta::Delta;
use crate::error::LlmError;
use crate::failure;
use crate::message::{Reasoning, Reply, StopReason, ToolCall, Usage};
use crate::wire::Flow;
use crate::wire::reply::Parts;

/// What has come so far.
#[derive(Debug, Default)]
pub struct Parser {
    model: String,
    usage: Usage,
    stop: Option<StopReason>,
    ended: bool,
    text: String,
    thoughts: String,
    refused: bool,
    /// Calls by the provider's index, which may leave gaps.
    calls: BTreeMap<u64, PartialCall>,
}

#[derive(Debug, Default)]
struct PartialCall {
    id: String,
    name: String,
    arguments: String,
    shown: bool,
}

#[derive(Deserialize)]
struct Chunk {
    model: Option<String>,
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<WireUsage>,
    error: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u64,
    delta: Option<Piece>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Piece {
    content: Option<String>,
    refusal: Option<String>,
    reasoning_content: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Deserialize)]
struct CallPiece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionPiece>,
}

#[derive(Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    arguments: Option<String>,
}

impl Parser {
    pub(crate) fn event(
        &mut self,
        data: &str,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Flow, LlmError> {
        if data.trim() == "[DONE]" {
            self.ended = true;
            return Ok(Flow::Done);
        }
        let chunk: Chunk =
            serde_json::from_str(data).map_err(|error| LlmError::not_understood(&error, data))?;
        if chunk.error.is_some() {
            return Err(failure::from_event(data));
        }
        if let Some(model) = chunk.model.filter(|model| !model.is_empty()) {
            self.model = model;
        }
        if let Some(usage) = chunk.usage {
            self.usage = usage.into(); // totals: the last one holds
        }
        // We ask for one choice; another one would be somebody else's answer.
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            if let Some(piece) = choice.delta {
                self.extend(piece, on_delta);
            }
            if let Some(stop) = choice.finish_reason.as_deref().and_then(stop_reason) {
                self.stop = Some(stop);
            }
        }
        Ok(Flow::More)
    }

    fn extend(&mut self, piece: Piece, on_delta: &mut (dyn FnMut(Delta) + Send)) {
        let Piece { content, refusal, reasoning_content, tool_calls } = piece;
        if let Some(text) = filled(reasoning_content) {
            self.thoughts.push_str(&text);
            on_delta(Delta::Reasoning(text));
        }
        if let Some(text) = filled(content) {
            self.text.push_str(&text);
            on_delta(Delta::Text(text));
        }
        if let Some(text) = filled(refusal) {
            self.refused = true;
            self.text.push_str(&text);
            on_delta(Delta::Text(text));
        }
        for call in tool_calls.unwrap_or_default() {
            self.extend_call(call, on_delta);
        }
    }

    fn extend_call(&mut self, piece: CallPiece, on_delta: &mut (dyn FnMut(Delta) + Send)) {
        let CallPiece { index, id, function } = piece;
        let id = filled(id);
        let index = index.unwrap_or_else(|| self.index_of(id.as_deref()));
        let (name, arguments) = function
            .map_or((None, None), |function| (filled(function.name), filled(function.arguments)));
        let call = self.calls.entry(index).or_default();
        // Some servers repeat id and name with each piece: the first ones hold.
        if call.id.is_empty() {
            call.id = id.unwrap_or_default();
        }
        if call.name.is_empty() {
            call.name = name.unwrap_or_default();
        }
        if !call.shown && !call.name.is_empty() {
            call.shown = true;
            on_delta(Delta::Call {
                index,
                id: call_id(call.id.clone(), index),
                name: call.name.clone(),
            });
        }
        if let Some(fragment) = arguments {
            call.arguments.push_str(&fragment);
            on_delta(Delta::Arguments { index, fragment });
        }
    }

    /// For servers that number nothing: an id we have not seen is the next call, all
    /// else belongs to the last one.
    fn index_of(&self, id: Option<&str>) -> u64 {
        let last = self.calls.last_key_value();
        match (last, id) {
            (None, _) => 0,
            (Some((index, call)), Some(id)) if call.id != id => index.saturating_add(1),
            (Some((index, _)), _) => *index,
        }
    }

    pub(crate) fn finish(self) -> Result<Reply, LlmError> {
        let Self { model, usage, stop, ended, text, thoughts, refused, calls } = self;
        let reasoning = filled(Some(thoughts)).map(|text| Reasoning::Text { text });
        let calls = calls.into_iter().map(|(index, call)| ToolCall {
            id: call_id(call.id, index),
            name: call.name,
            arguments: call.arguments,
        });
        Parts {
            text,
            reasoning: reasoning.into_iter().collect(),
            calls: calls.collect(),
            stop: if refused { Some(StopReason::Refusal) } else { stop },
            usage,
            model,
            ended,
        }
        .whole()
    }
}

/// The provider's id of a call, or one made from its place for servers without ids.
pub(super) fn call_id(id: String, index: u64) -> String {
    if id.is_empty() { format!("call_{index}") } else { id }
}

fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}
