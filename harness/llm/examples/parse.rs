//! How fast a streamed reply is read, and what one delta costs: prints one JSON document,
//! an object for each of four streams of 32 MB, as real providers send them.
//!
//! ```sh
//! cargo run --release -p foundry-llm --example parse
//! ```

use std::alloc::System;
use std::io::Write as _;
use std::time::Instant;

use foundry_llm::wire::{Flow, Reader};
use foundry_llm::{Delta, LlmError, Wire};
use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes of each stream.
const SIZE: usize = 32 << 20;

/// Bytes that come from a socket at a time.
const CHUNK: usize = 16 * 1024;

/// Bytes of a piece, about as many as providers send at a time.
const PIECE: usize = 20;

/// What the model says: prose with a few lines and characters beyond ASCII.
const TEXT: &str = "High water stands at six this morning \u{2013} a little before the ferry \
    leaves \u{2013} and again at half past six in the evening.\n\nThe channel is passable from \
    two hours before until two hours after, so the boat \"Seagull\" can leave at any time \
    between four and eight.\n\n- morning: 06:04, 3.1 m\n- evening: 18:31, 3.3 m\n";

/// What it calls a tool with: code, full of quotes and line breaks.
const ARGUMENTS: &str = r#"{"path": "src/tide.rs", "old": "fn high(day: Day) -> Time {\n    table()[day]\n}\n",
    "new": "fn high(day: Day) -> Option<Time> {\n    table().get(day).copied()\n}\n", "all": false}"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = |piece: &str| json!({"type": "text_delta", "text": piece});
    let arguments = |piece: &str| json!({"type": "input_json_delta", "partial_json": piece});
    let call = json!({"type": "tool_use", "id": "toolu_01", "name": "edit_file", "input": {}});
    let openai_call = json!({"tool_calls": [{"index": 0, "id": "call_01",
        "function": {"name": "edit_file", "arguments": ""}}]});
    let openai_text = |piece: &str| json!({"content": piece});
    let openai_arguments =
        |piece: &str| json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]});
    let streams = [
        (
            "anthropic text",
            Wire::Anthropic,
            anthropic(&json!({"type": "text", "text": ""}), &pieces(TEXT, &text)),
        ),
        ("anthropic arguments", Wire::Anthropic, anthropic(&call, &pieces(ARGUMENTS, &arguments))),
        (
            "openai text",
            Wire::OpenAi,
            openai(&json!({"role": "assistant", "content": ""}), &pieces(TEXT, &openai_text)),
        ),
        (
            "openai arguments",
            Wire::OpenAi,
            openai(&openai_call, &pieces(ARGUMENTS, &openai_arguments)),
        ),
    ];
    let measured: Result<Vec<Value>, LlmError> =
        streams.iter().map(|(name, wire, stream)| measured(name, *wire, stream)).collect();
    writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&measured?)?)?;
    Ok(())
}

/// A text as the deltas that it comes in.
fn pieces(text: &str, delta: &dyn Fn(&str) -> Value) -> Vec<Value> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(PIECE).map(|piece| delta(&piece.iter().collect::<String>())).collect()
}

/// Reads a stream once to warm up, then once by the clock.
fn measured(name: &str, wire: Wire, stream: &[u8]) -> Result<Value, LlmError> {
    read(wire, stream)?;
    let region = Region::new(ALLOCATOR);
    let start = Instant::now();
    let deltas = read(wire, stream)?;
    let seconds = start.elapsed().as_secs_f64();
    let change = region.change();
    let allocations = change.allocations + change.reallocations;
    Ok(json!({
        "stream": name,
        "mb_per_second": rounded(megabytes(stream.len()) / seconds),
        "allocations_per_delta": rounded(count(allocations) / count(deltas)),
        "deltas": deltas,
    }))
}

/// How many deltas a stream has.
fn read(wire: Wire, stream: &[u8]) -> Result<usize, LlmError> {
    let mut deltas = 0;
    let mut viewer = |_: Delta<'_>| deltas += 1;
    let mut reader = Reader::new(wire);
    for chunk in stream.chunks(CHUNK) {
        if reader.take(chunk, &mut viewer)? == Flow::Done {
            break;
        }
    }
    reader.finish(&mut viewer)?;
    Ok(deltas)
}

fn anthropic(block: &Value, deltas: &[Value]) -> Vec<u8> {
    let event = |data: Value| {
        format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
    };
    let message = json!({"id": "msg_01", "type": "message", "role": "assistant", "content": [],
        "model": "claude-sonnet-4-5", "usage": {"input_tokens": 25, "output_tokens": 1}});
    let start = event(json!({"type": "message_start", "message": message}))
        + &event(json!({"type": "content_block_start", "index": 0, "content_block": block}));
    let piece =
        |delta: &Value| event(json!({"type": "content_block_delta", "index": 0, "delta": delta}));
    let end = event(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 9}}))
        + &event(json!({"type": "message_stop"}));
    filled(&start, &deltas.iter().map(piece).collect::<String>(), &end)
}

fn openai(first: &Value, deltas: &[Value]) -> Vec<u8> {
    let event = |delta: &Value, stop: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": stop});
        let data = json!({"id": "chatcmpl-BxT4QnZk2vJ8wLr0eYhU6aPsD1fGm", "created": 1_764_576_000,
            "object": "chat.completion.chunk", "model": "gpt-5-mini-2025-08-07",
            "service_tier": "default", "system_fingerprint": null, "choices": [choice],
            "usage": null, "obfuscation": "k3J9x"});
        format!("data: {data}\n\n")
    };
    let pieces: String = deltas.iter().map(|delta| event(delta, Value::Null)).collect();
    let end = event(&json!({}), json!("stop")) + "data: [DONE]\n\n";
    filled(&event(first, Value::Null), &pieces, &end)
}

fn filled(first: &str, pieces: &str, end: &str) -> Vec<u8> {
    let mut stream = Vec::with_capacity(SIZE + pieces.len() + end.len());
    stream.extend_from_slice(first.as_bytes());
    while stream.len() < SIZE {
        stream.extend_from_slice(pieces.as_bytes());
    }
    stream.extend_from_slice(end.as_bytes());
    stream
}

fn megabytes(bytes: usize) -> f64 {
    count(bytes) / 1e6
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}
