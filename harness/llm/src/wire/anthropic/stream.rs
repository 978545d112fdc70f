//! A reply of Anthropic Messages, in events or as one document.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::usage::WireUsage;
use crate::delta::{Delta, Viewer};
use crate::error::LlmError;
use crate::failure;
use crate::message::{Reasoning, Reply, StopReason, ToolCall, Usage};
use crate::wire::Flow;
use crate::wire::json::{Bounded, Count, MAX_PARTS, Text, filled, said};
use crate::wire::reply::{Parts, stop_reason};

/// What has come so far.
#[derive(Debug, Default)]
pub struct Parser {
    model: String,
    usage: Usage,
    stop: Option<StopReason>,
    ended: bool,
    /// Blocks by the provider's index, which may leave gaps.
    blocks: BTreeMap<u64, Block>,
    /// For the unescaped text of a piece.
    buffer: String,
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

/// An event, in one shape: a tagged enum would be read twice, by way of a tree of values.
/// Deltas come by the thousand and the rest a few times a reply, so that only they are read
/// at once: what is rare is looked at when its kind asks for it.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default)]
    r#type: Text<'a>,
    #[serde(default)]
    index: Count,
    #[serde(borrow)]
    delta: Option<Piece<'a>>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    // Of a gateway that speaks another wire's errors.
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// A reply in one piece.
#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow, default)]
    r#type: Text<'a>,
    usage: Option<WireUsage>,
    #[serde(borrow)]
    model: Option<Text<'a>>,
    #[serde(borrow, default)]
    content: Bounded<NewBlock<'a>>,
    #[serde(borrow)]
    stop_reason: Option<Text<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Start<'a> {
    #[serde(borrow)]
    model: Option<Text<'a>>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct NewBlock<'a> {
    #[serde(borrow, default)]
    r#type: Text<'a>,
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    thinking: Text<'a>,
    #[serde(borrow, default)]
    signature: Text<'a>,
    #[serde(borrow, default)]
    data: Text<'a>,
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow, default)]
    r#type: Text<'a>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    signature: Option<&'a RawValue>,
    #[serde(borrow)]
    partial_json: Option<&'a RawValue>,
    #[serde(borrow)]
    stop_reason: Option<Text<'a>>,
}

impl Parser {
    pub(crate) fn event(&mut self, data: &str, viewer: &mut Viewer<'_>) -> Result<Flow, LlmError> {
        if data.trim() == "[DONE]" {
            self.ended = true; // some gateways end every wire so
            return Ok(Flow::Done);
        }
        let event: Event<'_> = match serde_json::from_str(data) {
            Ok(event) => event,
            Err(_) if is_foreign(data) => return Ok(Flow::More),
            Err(error) => return Err(failure::from_unknown_event(data, &error)),
        };
        let Event { r#type, index, delta, content_block, message, usage, error } = event;
        match &*r#type {
            "content_block_delta" => {
                self.extend(place(index)?, delta.ok_or_else(without_content)?, viewer)?;
            }
            "content_block_start" => {
                let block = look(content_block, data)?.ok_or_else(without_content)?;
                self.begin(place(index)?, block, viewer)?;
            }
            "content_block_stop" => self.end(place(index)?, viewer),
            "message_start" => {
                if let Some(Start { model, usage }) = look(message, data)? {
                    self.model = filled(model).map(Cow::into_owned).unwrap_or_default();
                    self.count(usage);
                }
            }
            "message_delta" => {
                let word = delta.and_then(|delta| delta.stop_reason);
                self.stop = word.as_deref().and_then(stop_reason).or(self.stop.take());
                self.count(look(usage, data)?);
            }
            "message_stop" => {
                self.ended = true;
                return Ok(Flow::Done);
            }
            "error" => return Err(failure::from_event(data)),
            "message" => {
                self.document(data, viewer)?;
                return Ok(Flow::Done);
            }
            _ if error.is_some() => return Err(failure::from_event(data)),
            _ => {} // ping, and what is new
        }
        Ok(Flow::More)
    }

    /// Takes a reply that came in one piece.
    pub(crate) fn document(&mut self, body: &str, viewer: &mut Viewer<'_>) -> Result<(), LlmError> {
        let document: Document<'_> = serde_json::from_str(body)
            .map_err(|error| failure::from_unknown_event(body, &error))?;
        let Document { r#type, usage, model, content, stop_reason: word, error } = document;
        if error.is_some() || &*r#type == "error" {
            return Err(failure::from_event(body));
        }
        self.model = filled(model).map(Cow::into_owned).unwrap_or_default();
        self.stop = word.as_deref().and_then(stop_reason);
        self.count(usage);
        for (index, block) in (0..).zip(content.0) {
            self.begin(index, block, viewer)?;
            self.end(index, viewer);
        }
        self.ended = true;
        Ok(())
    }

    fn count(&mut self, usage: Option<WireUsage>) {
        if let Some(usage) = usage {
            usage.replace_in(&mut self.usage);
        }
    }

    fn begin(
        &mut self,
        index: u64,
        block: NewBlock<'_>,
        viewer: &mut Viewer<'_>,
    ) -> Result<(), LlmError> {
        if self.blocks.len() >= MAX_PARTS {
            return Err(LlmError::broken(&format!("the reply has more than {MAX_PARTS} blocks")));
        }
        let Entry::Vacant(entry) = self.blocks.entry(index) else {
            return Err(LlmError::broken(&format!("block {index} began twice")));
        };
        let NewBlock { r#type, text, thinking, signature, data, id, name, input } = block;
        entry.insert(match &*r#type {
            "text" => {
                say(&text, Delta::Text, viewer);
                Block::Text(text.0.into_owned())
            }
            "thinking" => {
                say(&thinking, Delta::Reasoning, viewer);
                let (text, signature) = (thinking.0.into_owned(), signature.0.into_owned());
                Block::Thinking { text, signature }
            }
            "redacted_thinking" => Block::Redacted(data.0.into_owned()),
            "tool_use" => {
                viewer(Delta::Call {
                    index,
                    id: Cow::Borrowed(&id.0),
                    name: Cow::Borrowed(&name.0),
                });
                let (id, name) = (id.0.into_owned(), name.0.into_owned());
                Block::Call {
                    call: ToolCall { id, name, arguments: String::new() },
                    given: input.and_then(given),
                }
            }
            _ => Block::Foreign,
        });
        Ok(())
    }

    fn extend(
        &mut self,
        index: u64,
        delta: Piece<'_>,
        viewer: &mut Viewer<'_>,
    ) -> Result<(), LlmError> {
        let block = self.blocks.get_mut(&index).ok_or_else(|| {
            LlmError::broken(&format!("a delta came for block {index}, which never began"))
        })?;
        let Piece { r#type, text, thinking, signature, partial_json, stop_reason: _ } = delta;
        match (&*r#type, block) {
            ("text_delta", Block::Text(whole)) => {
                let text = read(text, &mut self.buffer)?;
                whole.push_str(text);
                say(text, Delta::Text, viewer);
            }
            ("thinking_delta", Block::Thinking { text: whole, .. }) => {
                let text = read(thinking, &mut self.buffer)?;
                whole.push_str(text);
                say(text, Delta::Reasoning, viewer);
            }
            ("signature_delta", Block::Thinking { signature: whole, .. }) => {
                whole.push_str(read(signature, &mut self.buffer)?);
            }
            ("input_json_delta", Block::Call { call, .. }) => {
                let text = read(partial_json, &mut self.buffer)?;
                call.arguments.push_str(text);
                say(text, |fragment| Delta::Arguments { index, fragment }, viewer);
            }
            (
                kind @ ("text_delta" | "thinking_delta" | "signature_delta" | "input_json_delta"),
                Block::Text(_) | Block::Thinking { .. } | Block::Redacted(_) | Block::Call { .. },
            ) => {
                return Err(LlmError::broken(&format!(
                    "a {kind} came for block {index}, which is of another kind"
                )));
            }
            // A block we never asked for, or a kind of delta that is new.
            (_, _) => {}
        }
        Ok(())
    }

    /// A block is whole: arguments that came with its start are so no longer in doubt.
    fn end(&mut self, index: u64, viewer: &mut Viewer<'_>) {
        if let Some(Block::Call { call, given }) = self.blocks.get_mut(&index)
            && call.arguments.is_empty()
            && let Some(whole) = given.take()
        {
            viewer(Delta::Arguments { index, fragment: Cow::Borrowed(&whole) });
            call.arguments = whole;
        }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.stop.is_some()
    }

    pub(crate) fn finish(self) -> Result<Reply, LlmError> {
        let Self { model, usage, stop, ended, blocks, buffer: _ } = self;
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

/// Arguments that came with the start of a call; an empty object says that pieces follow.
fn given(input: &RawValue) -> Option<String> {
    let inner = input.get().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    match inner.map(str::trim) {
        Some("") => None,
        Some(_) | None => Some(input.get().to_owned()),
    }
}

fn place(index: Count) -> Result<u64, LlmError> {
    index.0.ok_or_else(|| LlmError::broken("an event of a block does not say of which"))
}

fn without_content() -> LlmError {
    LlmError::broken("an event of a block has no content")
}

/// Whether an event that does not read as one of ours is of a kind we do not know.
fn is_foreign(data: &str) -> bool {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow)]
        r#type: Text<'a>,
        #[serde(borrow)]
        error: Option<&'a RawValue>,
    }
    const OURS: &[&str] = &[
        "",
        "content_block_delta",
        "content_block_start",
        "content_block_stop",
        "error",
        "message",
        "message_delta",
        "message_start",
        "message_stop",
    ];
    let kind: Option<Kind<'_>> = serde_json::from_str(data).ok();
    kind.is_some_and(|kind| kind.error.is_none() && !OURS.contains(&&*kind.r#type))
}

/// A part of an event that is read only where it counts.
fn look<'t, T: Deserialize<'t>>(
    raw: Option<&'t RawValue>,
    event: &str,
) -> Result<Option<T>, LlmError> {
    raw.map(|raw| serde_json::from_str(raw.get()))
        .transpose()
        .map_err(|error| failure::from_unknown_event(event, &error))
}

fn read<'t>(raw: Option<&'t RawValue>, buffer: &'t mut String) -> Result<&'t str, LlmError> {
    raw.map_or(Ok(""), |raw| said(raw, buffer))
}

/// Tells a viewer, unless there is nothing to tell.
fn say<'t>(text: &'t str, delta: impl FnOnce(Cow<'t, str>) -> Delta<'t>, viewer: &mut Viewer<'_>) {
    if !text.is_empty() {
        viewer(delta(Cow::Borrowed(text)));
    }
}
