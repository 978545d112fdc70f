//! Reads the tokens used from an answer as it passes by, over either wire.

mod events;
mod reading;

use foundry_llm::{Usage, Wire};
use serde_json::Value;

use events::Events;

/// Most of a one-piece answer that is kept to be read; a longer one is estimated.
const MAX_DOCUMENT: usize = 16 << 20;
/// Bytes that are taken for one token where a provider gives no number.
const BYTES_PER_TOKEN: u64 = 4;
/// The last event of a stream of the OpenAI form.
const DONE: &[u8] = b"[DONE]";

/// What an answer has told so far.
#[derive(Debug)]
pub(crate) struct Tap {
    wire: Wire,
    form: Form,
    usage: Usage,
    counted: Counted,
    text_bytes: u64,
    ending: Ending,
}

/// Which numbers the provider has given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    Nothing,
    /// The input's, which Anthropic gives at the start.
    Input,
    /// The final ones.
    All,
}

/// How far the answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// More may come.
    Open,
    /// The provider has said that this was all.
    Complete,
    /// The provider broke off with an error event.
    Failed,
}

#[derive(Debug)]
enum Form {
    Stream(Events),
    Document { bytes: Vec<u8>, whole: bool },
}

/// Tokens of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) usage: Usage,
    /// Whether some of it is our guess.
    pub(crate) estimated: bool,
}

impl Tap {
    pub(crate) fn new(wire: Wire, content_type: Option<&str>) -> Self {
        let streams = content_type.is_some_and(|form| form.starts_with("text/event-stream"));
        let form = if streams {
            Form::Stream(Events::default())
        } else {
            Form::Document { bytes: Vec::new(), whole: true }
        };
        Self {
            wire,
            form,
            usage: Usage::default(),
            counted: Counted::Nothing,
            text_bytes: 0,
            ending: Ending::Open,
        }
    }

    /// Looks at the next bytes of the answer.
    pub(crate) fn take(&mut self, chunk: &[u8]) {
        match &mut self.form {
            Form::Stream(events) => {
                for event in events.take(chunk) {
                    self.event(&event);
                }
            }
            Form::Document { bytes, whole } => {
                *whole = *whole && bytes.len() + chunk.len() <= MAX_DOCUMENT;
                if *whole {
                    bytes.extend_from_slice(chunk);
                } else {
                    self.text_bytes += chunk.len() as u64;
                }
            }
        }
    }

    /// The answer has ended.
    pub(crate) fn end(&mut self) {
        match &mut self.form {
            Form::Stream(events) => {
                if let Some(event) = events.end() {
                    self.event(&event);
                }
            }
            Form::Document { bytes, .. } => {
                let bytes = std::mem::take(bytes);
                match serde_json::from_slice(&bytes) {
                    Ok(document) => {
                        self.document(&document);
                        self.ending = Ending::Complete;
                    }
                    Err(_) => self.text_bytes += bytes.len() as u64,
                }
            }
        }
    }

    /// How far the answer is.
    pub(crate) fn ending(&self) -> Ending {
        self.ending
    }

    /// The tokens of the call, with a guess for what the provider has not said.
    pub(crate) fn reading(&self, request_bytes: usize) -> Reading {
        let mut usage = self.usage;
        match self.counted {
            Counted::All => return Reading { usage, estimated: false },
            Counted::Input => {}
            Counted::Nothing => {
                usage.input_tokens = (request_bytes as u64).div_ceil(BYTES_PER_TOKEN);
            }
        }
        usage.output_tokens = usage.output_tokens.max(self.text_bytes.div_ceil(BYTES_PER_TOKEN));
        Reading { usage, estimated: true }
    }

    fn event(&mut self, data: &[u8]) {
        if data == DONE {
            self.is_over();
            return;
        }
        match serde_json::from_slice::<Value>(data) {
            Ok(event) => match self.wire {
                Wire::OpenAi => self.openai_event(&event),
                Wire::Anthropic => self.anthropic_event(&event),
            },
            // Nothing we know, or longer than we keep: it counts as text.
            Err(_) => self.text_bytes += data.len() as u64,
        }
    }

    fn openai_event(&mut self, event: &Value) {
        for choice in event["choices"].as_array().into_iter().flatten() {
            self.text_bytes += reading::text_bytes(&choice["delta"]);
        }
        if !event["error"].is_null() {
            self.ending = Ending::Failed;
        }
        // Some servers count on in every event: the last number stands.
        if let Some(usage) = reading::openai(&event["usage"]) {
            self.usage = usage;
            self.counted = Counted::All;
        }
    }

    fn anthropic_event(&mut self, event: &Value) {
        match event["type"].as_str() {
            Some("message_start") => {
                if reading::anthropic(&event["message"]["usage"], &mut self.usage) {
                    self.counted = Counted::Input;
                }
            }
            Some("content_block_delta") => self.text_bytes += reading::text_bytes(&event["delta"]),
            Some("message_delta") => {
                if reading::anthropic(&event["usage"], &mut self.usage) {
                    self.counted = Counted::All;
                }
            }
            Some("message_stop") => self.is_over(),
            Some("error") => self.ending = Ending::Failed,
            Some(_) | None => {}
        }
    }

    /// The last event came. After an error it makes nothing whole.
    fn is_over(&mut self) {
        if self.ending == Ending::Open {
            self.ending = Ending::Complete;
        }
    }

    fn document(&mut self, document: &Value) {
        match self.wire {
            Wire::OpenAi => {
                for choice in document["choices"].as_array().into_iter().flatten() {
                    self.text_bytes += reading::text_bytes(&choice["message"]);
                }
                if let Some(usage) = reading::openai(&document["usage"]) {
                    self.usage = usage;
                    self.counted = Counted::All;
                }
            }
            Wire::Anthropic => {
                self.text_bytes += reading::text_bytes(&document["content"]);
                if reading::anthropic(&document["usage"], &mut self.usage) {
                    self.counted = Counted::All;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
