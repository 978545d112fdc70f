//! What of a request a provider's cache sees: tools, system prompt and messages, in the
//! smallest pieces that can be cached, each with a fingerprint of its bytes.
//!
//! A body of half a megabyte is read in one pass; a message that stood like this in the
//! request before is recognised and not read again.

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::captured::Wire;
use super::message::text_of;
use super::text::Text;

/// The parts of a request's body.
#[derive(Debug)]
pub(super) struct Prompt {
    pub model: String,
    /// Whether the reply is to be streamed.
    pub streams: bool,
    /// Whether a stream shall tell its usage (OpenAI).
    pub tells_usage: bool,
    pub system: String,
    /// The first text that a person or the host wrote.
    pub first_user: String,
    /// Tools and, in the Anthropic form, the system prompt.
    pub head: Vec<Unit>,
    pub messages: Vec<Units>,
    text: Text,
}

/// One message: where it stands, and its pieces.
#[derive(Clone, Debug)]
pub(super) struct Units {
    place: Range<usize>,
    pub units: Vec<Unit>,
}

/// One piece: a tool, a block of the system prompt or of a message, or a whole message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// Fingerprint of its bytes, a cache mark left out.
    pub print: u64,
    /// Its size without the mark.
    pub bytes: usize,
    /// Whether it bears a cache mark.
    pub marked: bool,
    /// Fingerprint of the call's id, if it is a tool's result.
    pub result_of: Option<u64>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Top<'a> {
    #[serde(default)]
    model: Value,
    #[serde(default)]
    stream: Value,
    #[serde(default)]
    stream_options: Value,
    #[serde(borrow, default)]
    system: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tools: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    messages: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct MessageTop<'a> {
    #[serde(default)]
    role: Value,
    #[serde(default)]
    tool_call_id: Value,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct BlockTop {
    #[serde(default)]
    tool_use_id: Value,
}

impl Prompt {
    /// Reads a body. What is no request at all has no parts.
    pub fn read(wire: Wire, text: &Text, before: Option<&Self>) -> Self {
        let top: Option<Top<'_>> = serde_json::from_str(text).ok();
        let mut prompt = Self {
            model: String::new(),
            streams: false,
            tells_usage: false,
            system: String::new(),
            first_user: String::new(),
            head: Vec::new(),
            messages: Vec::new(),
            text: text.clone(),
        };
        let Some(Top { model, stream, stream_options, system, tools, messages }) = top else {
            return prompt;
        };
        if let Value::String(model) = model {
            prompt.model = model;
        }
        prompt.streams = stream.as_bool().unwrap_or(false);
        prompt.tells_usage = stream_options["include_usage"].as_bool().unwrap_or(false);
        prompt.head.extend(tools.iter().map(|tool| unit(tool.get(), "tool", None)));
        if let Some(system) = system {
            prompt.system = serde_json::from_str(system.get())
                .map_or_else(|_| String::new(), |value| text_of(&value));
            prompt.head.extend(blocks(system.get(), "system"));
        }
        prompt.first_words(&messages);
        for (place, message) in messages.iter().enumerate() {
            let known = before.and_then(|before| before.same(place, message.get()));
            let units = known.unwrap_or_else(|| message_units(wire, message.get()));
            prompt.messages.push(Units { place: within(text, message.get()), units });
        }
        prompt
    }

    /// The pieces of all messages, with the message's place.
    pub fn units(&self) -> impl Iterator<Item = (usize, &Unit)> {
        let messages = self.messages.iter().enumerate();
        messages.flat_map(|(place, message)| message.units.iter().map(move |unit| (place, unit)))
    }

    /// The pieces of the message at this place, if it has these very bytes.
    fn same(&self, place: usize, bytes: &str) -> Option<Vec<Unit>> {
        let known = self.messages.get(place)?;
        (self.text[known.place.clone()] == *bytes).then(|| known.units.clone())
    }

    /// The system prompt (OpenAI) and the first words of a person or the host.
    fn first_words(&mut self, messages: &[&RawValue]) {
        for message in messages {
            let Ok(message) = serde_json::from_str::<Value>(message.get()) else { return };
            let text = text_of(&message["content"]);
            match message["role"].as_str() {
                Some("system" | "developer") if self.system.is_empty() => self.system = text,
                Some("system" | "developer") => {
                    self.system.push('\n');
                    self.system.push_str(&text);
                }
                Some("user") => {
                    self.first_user = text;
                    return;
                }
                _ => return,
            }
        }
    }
}

/// Where a part of a text stands in it.
fn within(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.len()
}

/// Anthropic caches block by block; OpenAI's message is one piece.
fn message_units(wire: Wire, raw: &str) -> Vec<Unit> {
    let Ok(MessageTop { role, tool_call_id, content }) = serde_json::from_str(raw) else {
        return vec![unit(raw, "", None)];
    };
    let role = role.as_str().unwrap_or_default();
    match (wire, content) {
        (Wire::Anthropic, Some(content)) => blocks(content.get(), role),
        (Wire::Anthropic | Wire::OpenAi, _) => vec![unit(raw, role, tool_call_id.as_str())],
    }
}

fn blocks(raw: &str, role: &str) -> Vec<Unit> {
    let Ok(blocks) = serde_json::from_str::<Vec<&RawValue>>(raw) else {
        return vec![unit(raw, role, None)];
    };
    let piece = |block: &&RawValue| {
        let top: Option<BlockTop> = serde_json::from_str(block.get()).ok();
        let id = top.and_then(|BlockTop { tool_use_id }| tool_use_id.as_str().map(str::to_owned));
        unit(block.get(), role, id.as_deref())
    };
    blocks.iter().map(piece).collect()
}

fn unit(raw: &str, role: &str, result_of: Option<&str>) -> Unit {
    let (before, after) = unmarked(raw);
    let plain =
        if after.is_empty() { Cow::from(before) } else { Cow::from([before, after].concat()) };
    Unit {
        print: fingerprint(fingerprint(SEED, role), &plain),
        bytes: plain.len(),
        marked: plain.len() < raw.len(),
        result_of: result_of.map(|id| fingerprint(SEED, id)),
    }
}

/// What stands before and behind a piece's own cache mark. Inside a string the quotes of
/// such a key would be escaped, so the words are only found where they are a key.
fn unmarked(raw: &str) -> (&str, &str) {
    const KEY: &str = "\"cache_control\":{";
    let Some(start) = raw.find(KEY) else { return (raw, "") };
    let Some(end) = raw[start..].find('}').map(|end| start + end + 1) else { return (raw, "") };
    let (before, after) = (&raw[..start], &raw[end..]);
    match before.strip_suffix(',') {
        Some(before) => (before, after),
        None => (before, after.strip_prefix(',').unwrap_or(after)),
    }
}

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// A fingerprint of bytes behind another one, eight bytes at a time.
pub(super) fn fingerprint(seed: u64, text: &str) -> u64 {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let mut print = words.iter().fold(seed, |print, word| mixed(print, u64::from_le_bytes(*word)));
    for byte in rest {
        print = mixed(print, u64::from(*byte));
    }
    mixed(print, text.len() as u64)
}

/// Two numbers as one: the halves of a product of all their bits.
pub(super) fn mixed(print: u64, word: u64) -> u64 {
    const ODD: u128 = 0xd6e8_feb8_6659_fd93;
    let product = u128::from(print.rotate_left(23) ^ word ^ SEED) * ODD;
    let bytes = product.to_le_bytes();
    let (halves, _) = bytes.as_chunks::<8>();
    u64::from_le_bytes(halves[0]) ^ u64::from_le_bytes(halves[1])
}

#[cfg(test)]
mod tests;
