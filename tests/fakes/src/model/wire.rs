//! A completion as either wire writes it.

mod anthropic;
mod openai;

use serde_json::{Value, json};

use super::captured::{Captured, Wire};
use super::reply::{Completion, Failure, Overflow, Pacing, Usage};

/// A piece of a streamed body, and what it brings.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub bytes: Vec<u8>,
    pub brings: Brings,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Brings {
    Text,
    Arguments,
    Other,
}

/// What a completion claims to have cost, counted from bytes where not given.
pub(super) fn usage(completion: &Completion, request: &Captured, cached: bool) -> Usage {
    completion.usage.unwrap_or_else(|| {
        let tokens = |bytes: usize| bytes.div_ceil(4) as u64;
        let system = tokens(request.system().len());
        let input = tokens(request.raw.len()).saturating_sub(system);
        let said = completion.text.as_ref().map_or(0, String::len)
            + completion.thinking.as_ref().map_or(0, String::len)
            + completion.calls.iter().map(|(name, rest)| name.len() + rest.len()).sum::<usize>();
        let output = tokens(said).max(1);
        match (request.wire, cached) {
            (_, true) => Usage { input, output, cache_read: system, cache_write: 0 },
            (Wire::Anthropic, false) => Usage { input, output, cache_read: 0, cache_write: system },
            (Wire::OpenAi, false) => {
                Usage { input: input + system, output, cache_read: 0, cache_write: 0 }
            }
        }
    })
}

/// The events of a streamed completion.
pub(super) fn events(completion: &Completion, request: &Captured, usage: Usage) -> Vec<Chunk> {
    match request.wire {
        Wire::Anthropic => anthropic::events(completion, request, usage),
        Wire::OpenAi => openai::events(completion, request, usage),
    }
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

/// The body of an overflow, in the words of the server named.
pub(super) fn overflow(wire: Wire, wording: Overflow) -> Value {
    let (kind, message) = match (wording, wire) {
        (Overflow::Native, Wire::Anthropic) => {
            ("invalid_request_error", "prompt is too long: 9001 tokens > 8192 maximum")
        }
        (Overflow::Native, Wire::OpenAi) => (
            "context_length_exceeded",
            "This model's maximum context length is 8192 tokens. However, your messages \
             resulted in 9001 tokens. Please reduce the length of the messages.",
        ),
        (Overflow::LlamaCpp, _) => (
            "exceed_context_size_error",
            "the request exceeds the available context size (8192 tokens), try increasing it",
        ),
        (Overflow::Vllm, _) => (
            "BadRequestError",
            "This model's maximum context length is 8192 tokens. However, you requested 9001 \
             tokens in the messages. Please reduce the length of the messages.",
        ),
        (Overflow::Window, _) => (
            "invalid_request_error",
            "Your input exceeds the context window of this model. Please adjust your input \
             and try again.",
        ),
    };
    error(wire, kind, message)
}

/// One server-sent event.
fn event(name: Option<&str>, data: &Value) -> Vec<u8> {
    match name {
        Some(name) => format!("event: {name}\ndata: {data}\n\n").into_bytes(),
        None => format!("data: {data}\n\n").into_bytes(),
    }
}

/// A text in pieces of a few characters, cut where tokens might be.
fn pieces(text: &str) -> Vec<&str> {
    const PIECE: usize = 12;
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(PIECE).map_or(rest.len(), |(end, _)| end);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// A signature that can be checked when the block comes back: FNV-1a of the text.
pub(super) fn signature(thinking: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = thinking.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    format!("sig_{hash:016x}")
}
