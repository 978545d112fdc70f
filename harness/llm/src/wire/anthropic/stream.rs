//! A streamed reply of Anthropic Messages.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

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
    /// Blocks by the provider's index, which may leave gaps.
    blocks: BTreeMap<u64, Block>,
}

#[derive(Debug)]
enum Block {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Redacted(String),
    Call {
        call: ToolCall,
        /// Arguments that came with its start; they hold when no pieces follow.
        given: Option<String>,
    },
    /// A kind we never asked for: its deltas are passed over.
    Foreign,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Start,
    },
    ContentBlockStart {
        index: u64,
        content_block: NewBlock,
    },
    ContentBlockDelta {
        index: u64,
        delta: BlockDelta,
    },
    ContentBlockStop,
    MessageDelta {
        delta: End,
        usage: Option<WireUsage>,
    },
    MessageStop,
    Ping,
    Error,
    #[serde(other)]
    Foreign,
}

#[derive(Deserialize)]
struct Start {
    #[serde(default)]
    model: String,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct End {
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum NewBlock {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        #[serde(default)]
        data: String,
    },
    ToolUse {
        #[serde(default)]
        id: String,
        name: String,
        input: Option<Map<String, Value>>,
    },
    #[serde(other)]
    Foreign,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum BlockDelta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(rename = "input_json_delta")]
    Arguments { partial_json: String },
    #[serde(other)]
    Foreign,
}

impl Parser {
    pub(crate) fn event(
        &mut self,
        data: &str,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Flow, LlmError> {
        if data.trim() == "[DONE]" {
            self.ended = true; // some gateways end every wire so
            return Ok(Flow::Done);
        }
        let event: Event = serde_json::from_str(data)
            .map_err(|error| failure::from_unknown_event(data, &error))?;
        match event {
            Event::MessageStart { message } => {
                self.model = message.model;
                self.count(message.usage);
            }
            Event::ContentBlockStart { index, content_block } => {
                self.begin(index, content_block, on_delta);
            }
            Event::ContentBlockDelta { index, delta } => self.extend(index, delta, on_delta)?,
            Event::MessageDelta { delta, usage } => {
                self.stop = delta.stop_reason.as_deref().and_then(stop_reason).or(self.stop.take());
                self.count(usage);
            }
            Event::MessageStop => {
                self.ended = true;
                return Ok(Flow::Done);
            }
            Event::Error => return Err(failure::from_event(data)),
            Event::ContentBlockStop | Event::Ping | Event::Foreign => {}
        }
        Ok(Flow::More)
    }

    fn count(&mut self, usage: Option<WireUsage>) {
        if let Some(usage) = usage {
            usage.replace_in(&mut self.usage);
        }
    }

    fn begin(&mut self, index: u64, block: NewBlock, on_delta: &mut (dyn FnMut(Delta) + Send)) {
        let block = match block {
            NewBlock::Text { text } => {
                say(&text, Delta::Text, on_delta);
                Block::Text(text)
            }
            NewBlock::Thinking { thinking: text, signature } => {
                say(&text, Delta::Reasoning, on_delta);
                Block::Thinking { text, signature }
            }
            NewBlock::RedactedThinking { data } => Block::Redacted(data),
            NewBlock::ToolUse { id, name, input } => {
                on_delta(Delta::Call { index, id: id.clone(), name: name.clone() });
                let given = input.filter(|input| !input.is_empty());
                Block::Call {
                    call: ToolCall { id, name, arguments: String::new() },
                    given: given.map(|input| Value::Object(input).to_string()),
                }
            }
            NewBlock::Foreign => Block::Foreign,
        };
        self.blocks.insert(index, block);
    }

    fn extend(
        &mut self,
        index: u64,
        delta: BlockDelta,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<(), LlmError> {
        let block = self.blocks.get_mut(&index).ok_or_else(|| {
            LlmError::broken(&format!("a delta came for block {index}, which never began"))
        })?;
        match (block, delta) {
            (Block::Text(whole), BlockDelta::Text { text }) => {
                whole.push_str(&text);
                say(&text, Delta::Text, on_delta);
            }
            (Block::Thinking { text, .. }, BlockDelta::Thinking { thinking }) => {
                text.push_str(&thinking);
                say(&thinking, Delta::Reasoning, on_delta);
            }
            (Block::Thinking { signature: whole, .. }, BlockDelta::Signature { signature }) => {
                whole.push_str(&signature);
            }
            (Block::Call { call, .. }, BlockDelta::Arguments { partial_json }) => {
                call.arguments.push_str(&partial_json);
                say(&partial_json, |fragment| Delta::Arguments { index, fragment }, on_delta);
            }
            (Block::Foreign, _) | (_, BlockDelta::Foreign) => {}
            (
                Block::Text(_) | Block::Thinking { .. } | Block::Redacted(_) | Block::Call { .. },
                BlockDelta::Text { .. }
                | BlockDelta::Thinking { .. }
                | BlockDelta::Signature { .. }
                | BlockDelta::Arguments { .. },
            ) => {
                return Err(LlmError::broken(&format!(
                    "a delta came for block {index}, which is of another kind"
                )));
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<Reply, LlmError> {
        let Self { model, usage, stop, ended, blocks } = self;
        let mut parts = Parts { stop, usage, model, ended, ..Parts::default() };
        for block in blocks.into_values() {
            match block {
                Block::Text(text) => parts.text.push_str(&text),
                Block::Thinking { text, signature } => {
                    parts.reasoning.push(Reasoning::Thinking { text, signature });
                }
                Block::Redacted(data) => parts.reasoning.push(Reasoning::Redacted { data }),
                Block::Call { mut call, given } => {
                    if call.arguments.is_empty() {
                        call.arguments = given.unwrap_or_default();
                    }
                    parts.calls.push(call);
                }
                Block::Foreign => {}
            }
        }
        parts.whole()
    }
}

/// Tells a viewer, unless there is nothing to tell.
fn say(text: &str, delta: impl FnOnce(String) -> Delta, on_delta: &mut (dyn FnMut(Delta) + Send)) {
    if !text.is_empty() {
        on_delta(delta(text.to_owned()));
    }
}
