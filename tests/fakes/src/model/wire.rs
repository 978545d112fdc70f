//! A completion as either wire writes it.

mod anthropic;
mod openai;

use serde_json::{Value, json};

use super::cache::tokens;
use super::captured::{Captured, Wire};
use super::reply::{Completion, Failure, Pacing, Quirk, Usage};

/// A piece of a streamed body, and what it brings.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub bytes: Vec<u8>,
    pub brings: Brings,
}

impl Chunk {
    fn new(brings: Brings, bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), brings }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Brings {
    Thinking,
    Text,
    Arguments,
    Other,
}

/// What a completion claims to have cost: as it says itself, else counted from bytes. `input`
/// is what the cache knows of the request.
pub(super) fn usage(completion: &Completion, input: Usage) -> Usage {
    completion.usage.unwrap_or_else(|| {
        let said = completion.text.as_ref().map_or(0, String::len)
            + completion.thinking.as_ref().map_or(0, String::len)
            + completion.calls.iter().map(|(name, rest)| name.len() + rest.len()).sum::<usize>();
        Usage { output: tokens(said).max(1), ..input }
    })
}

/// The events of a streamed completion.
pub(super) fn events(completion: &Completion, request: &Captured, usage: Usage) -> Vec<Chunk> {
    let mut chunks = match request.wire {
        Wire::Anthropic => anthropic::events(completion, request, usage),
        Wire::OpenAi => openai::events(completion, request, usage),
    };
    if completion.has(Quirk::KeepAlives) {
        let alive = || Chunk::new(Brings::Other, ": keep-alive\n\n");
        chunks = chunks.into_iter().flat_map(|chunk| [alive(), chunk]).collect();
    }
    if completion.has(Quirk::Crlf) {
        // Inside JSON a line break is escaped: all that are there end lines of the stream.
        for chunk in &mut chunks {
            let lines = chunk.bytes.split_inclusive(|byte| *byte == b'\n');
            chunk.bytes = lines.fold(Vec::new(), |mut all, line| {
                all.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
                all.extend_from_slice(if line.ends_with(b"\n") { b"\r\n" } else { b"" });
                all
            });
        }
    }
    chunks
}

/// A completion in one document.
pub(super) fn document(completion: &Completion, request: &Captured, usage: Usage) -> Value {
    match request.wire {
        Wire::Anthropic => anthropic::document(completion, request, usage),
        Wire::OpenAi => openai::document(completion, request, usage),
    }
}

/// An error in the middle of a stream.
pub(super) fn error_event(wire: Wire, kind: &str, message: &str) -> Vec<u8> {
    let body = error(wire, kind, message);
    match wire {
        Wire::Anthropic => event(Some("error"), &body),
        Wire::OpenAi => event(None, &body),
    }
}

/// An error's body.
pub(super) fn failure(wire: Wire, failure: &Failure) -> Value {
    let mut body = error(wire, &failure.kind, &failure.message);
    if let Some(Pacing::Body(seconds)) = failure.pacing {
        body["error"]["resets_in_seconds"] = json!(seconds);
    }
    body
}

fn error(wire: Wire, kind: &str, message: &str) -> Value {
    match wire {
        Wire::Anthropic => json!({
            "type": "error", "error": {"type": kind, "message": message},
            "request_id": "req_scripted",
        }),
        Wire::OpenAi => json!({
            "error": {"message": message, "type": kind, "param": null, "code": kind},
        }),
    }
}

/// The id of the call at this place of the answer to a request.
pub(super) fn call_id(request: &Captured, place: usize) -> String {
    let kind = match request.wire {
        Wire::Anthropic => "toolu",
        Wire::OpenAi => "call",
    };
    format!("{kind}_{}_{place}", request.number)
}

/// One server-sent event.
fn event(name: Option<&str>, data: &Value) -> Vec<u8> {
    match name {
        Some(name) => format!("event: {name}\ndata: {data}\n\n").into_bytes(),
        None => format!("data: {data}\n\n").into_bytes(),
    }
}

/// A text in pieces, of a few characters where the completion does not say how many.
fn pieces<'a>(text: &'a str, completion: &Completion) -> Vec<&'a str> {
    const PIECE: usize = 12;
    let piece = completion.piece.unwrap_or(PIECE);
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(piece).map_or(rest.len(), |(end, _)| end);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Several lists as one: one after the other, or one element of each in turn.
fn joined<T>(lists: Vec<Vec<T>>, in_turn: bool) -> Vec<T> {
    if !in_turn {
        return lists.into_iter().flatten().collect();
    }
    let mut lists: Vec<_> = lists.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(lists.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            return all;
        }
    }
}

/// A signature that can be checked when the block comes back: FNV-1a of the text.
pub(super) fn signature(thinking: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = thinking.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    format!("sig_{hash:016x}")
}
