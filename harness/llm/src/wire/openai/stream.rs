//! A reply of OpenAI Chat Completions, in events or as one document: a document is one
//! event that says everything.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::calls::{CallPiece, Calls, Come};
use super::usage::WireUsage;
use crate::delta::{Delta, Viewer};
use crate::error::{ErrorKind, LlmError};
use crate::failure;
use crate::message::{Reasoning, Reply, StopReason, Usage};
use crate::wire::Flow;
use crate::wire::json::{Bounded, Count, Part, Text, filled, parts, said};
use crate::wire::reply::{Parts, stop_reason};

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
    calls: Calls,
    /// For the unescaped text of a piece.
    buffer: String,
}

/// How deep parts may stand in parts.
const DEPTH: usize = 4;

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    model: Option<Text<'a>>,
    #[serde(borrow, default)]
    choices: Bounded<Choice<'a>>,
    usage: Option<WireUsage>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    /// `error` in older servers' error events.
    #[serde(borrow)]
    object: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: Count,
    #[serde(borrow)]
    delta: Option<Piece<'a>>,
    /// What a document has in place of a delta.
    #[serde(borrow)]
    message: Option<Piece<'a>>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
    /// Moonshot counts here.
    usage: Option<WireUsage>,
    /// `OpenRouter` puts an upstream's error here.
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Piece<'a> {
    /// A text, or (Mistral's reasoning models) a list of parts.
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<Bounded<CallPiece<'a>>>,
}

impl Parser {
    pub(crate) fn event(&mut self, data: &str, viewer: &mut Viewer<'_>) -> Result<Flow, LlmError> {
        if data.trim() == "[DONE]" {
            self.ended = true;
            return Ok(Flow::Done);
        }
        let chunk: Chunk<'_> = serde_json::from_str(data)
            .map_err(|error| failure::from_unknown_event(data, &error))?;
        if says_something(chunk.error) || chunk.object.as_deref() == Some("error") {
            return Err(failure::from_event(data));
        }
        if let Some(model) = filled(chunk.model)
            && self.model != model
        {
            self.model = model.into_owned();
        }
        if let Some(usage) = chunk.usage {
            usage.replace_in(&mut self.usage);
        }
        // We ask for one choice; another one would be somebody else's answer.
        for choice in chunk.choices.0.into_iter().filter(|choice| choice.index.0.unwrap_or(0) == 0)
        {
            self.choose(choice, viewer)?;
        }
        Ok(Flow::More)
    }

    /// Takes a reply that came in one piece.
    pub(crate) fn document(&mut self, body: &str, viewer: &mut Viewer<'_>) -> Result<(), LlmError> {
        self.event(body, viewer)?;
        self.ended = true;
        Ok(())
    }

    fn choose(&mut self, choice: Choice<'_>, viewer: &mut Viewer<'_>) -> Result<(), LlmError> {
        let Choice { index: _, delta, message, finish_reason, usage, error } = choice;
        if let Some(error) = error.filter(|error| says_something(Some(error))) {
            return Err(failure::from_event(error.get()));
        }
        if let Some(usage) = usage {
            usage.replace_in(&mut self.usage);
        }
        let how = if delta.is_some() { Come::InPieces } else { Come::Whole };
        if let Some(piece) = delta.or(message) {
            self.extend(piece, how, viewer)?;
        }
        let word = finish_reason.as_deref().unwrap_or_default();
        if let Some(kind) = breaks_off(word) {
            let words = format!("the provider ended the reply with {word:?} and gave no reason");
            return Err(LlmError { status: Some(200), ..LlmError::new(kind, words) });
        }
        self.stop = stop_reason(word).or(self.stop.take());
        Ok(())
    }

    fn extend(
        &mut self,
        piece: Piece<'_>,
        how: Come,
        viewer: &mut Viewer<'_>,
    ) -> Result<(), LlmError> {
        let Piece { content, refusal, reasoning_content, reasoning, tool_calls } = piece;
        // Those who write both names write the same text under both.
        if let Some(thoughts) = reasoning_content.filter(|raw| raw.get() != "\"\"").or(reasoning) {
            self.think(thoughts, DEPTH, viewer)?;
        }
        if let Some(words) = content {
            self.say(words, viewer)?;
        }
        if let Some(words) = refusal {
            let before = self.text.len();
            self.say(words, viewer)?;
            self.refused |= self.text.len() > before;
        }
        for call in tool_calls.unwrap_or_default().0 {
            self.calls.extend(call, how, viewer)?;
        }
        Ok(())
    }

    fn say(&mut self, words: &RawValue, viewer: &mut Viewer<'_>) -> Result<(), LlmError> {
        let Some(parts) = parts(words)? else { return self.say_text(words, viewer) };
        for Part { text, thinking } in parts {
            if let Some(thoughts) = thinking {
                self.think(thoughts, DEPTH, viewer)?;
            }
            if let Some(text) = text {
                self.say_text(text, viewer)?;
            }
        }
        Ok(())
    }

    fn say_text(&mut self, text: &RawValue, viewer: &mut Viewer<'_>) -> Result<(), LlmError> {
        let text = said(text, &mut self.buffer)?;
        if !text.is_empty() {
            self.text.push_str(text);
            viewer(Delta::Text(Cow::Borrowed(text)));
        }
        Ok(())
    }

    fn think(
        &mut self,
        thoughts: &RawValue,
        depth: usize,
        viewer: &mut Viewer<'_>,
    ) -> Result<(), LlmError> {
        let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
        if let Some(parts) = parts(thoughts)? {
            for Part { text, thinking } in parts {
                if let Some(part) = thinking.or(text) {
                    self.think(part, depth, viewer)?;
                }
            }
            return Ok(());
        }
        let text = said(thoughts, &mut self.buffer)?;
        if !text.is_empty() {
            self.thoughts.push_str(text);
            viewer(Delta::Reasoning(Cow::Borrowed(text)));
        }
        Ok(())
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.stop.is_some()
    }

    pub(crate) fn finish(self) -> Result<Reply, LlmError> {
        let Self { model, usage, stop, ended, text, thoughts, refused, calls, buffer: _ } = self;
        let thoughts = (!thoughts.is_empty()).then_some(Reasoning::Text { text: thoughts });
        let (calls, seals) = calls.finish();
        let stop = match stop {
            Some(_) if refused => Some(StopReason::Refusal),
            None if refused && ended => Some(StopReason::Refusal),
            stop => stop,
        };
        Parts {
            text,
            reasoning: thoughts.into_iter().chain(seals).collect(),
            calls,
            stop,
            usage,
            model,
            ended,
        }
        .whole()
    }
}

/// What went wrong, where the word in place of a stop reason says that something did: what
/// came until then is no reply.
fn breaks_off(word: &str) -> Option<ErrorKind> {
    match word.to_ascii_lowercase().as_str() {
        "error" // OpenRouter
        | "network_error" // Zhipu, of its own inference
        | "abort" | "aborted" => Some(ErrorKind::Server), // vLLM, SGLang
        "insufficient_system_resource" => Some(ErrorKind::Overloaded), // DeepSeek
        _ => None,
    }
}

/// Some servers write an error into each event, and mean none.
fn says_something(error: Option<&RawValue>) -> bool {
    error.is_some_and(|error| !matches!(error.get(), "null" | "\"\"" | "{}" | "false" | "[]"))
}
