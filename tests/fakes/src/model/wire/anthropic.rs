//! Anthropic Messages.

use serde_json::{Value, json};

use super::{Brings, Chunk, call_id, event, joined, pieces, signature};
use crate::model::captured::Captured;
use crate::model::reply::{Completion, Quirk, Stop, Usage};

pub(super) fn events(completion: &Completion, request: &Captured, usage: Usage) -> Vec<Chunk> {
    let mut stream = Stream { chunks: Vec::new(), index: 0, completion };
    let mut start = base(request);
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"] = usage_of(Usage { output: 1, ..usage });
    stream.push(Brings::Other, &json!({"type": "message_start", "message": start}));
    stream.push(Brings::Other, &json!({"type": "ping"}));
    stream.thoughts();
    if let Some(text) = &completion.text {
        let delta = |piece: &str| json!({"type": "text_delta", "text": piece});
        let deltas = pieces(text, completion).into_iter().map(delta).collect();
        let block = stream.block(&json!({"type": "text", "text": ""}), deltas, Brings::Text);
        stream.chunks.extend(block);
    }
    stream.calls(request);
    let end = json!({"stop_reason": stop_reason(completion), "stop_sequence": null});
    let told = if completion.has(Quirk::RunningUsage) {
        usage_of(usage)
    } else {
        json!({"output_tokens": usage.output})
    };
    stream.push(Brings::Other, &json!({"type": "message_delta", "delta": end, "usage": told}));
    if !completion.without_end {
        stream.push(Brings::Other, &json!({"type": "message_stop"}));
    }
    stream.chunks
}

pub(super) fn document(completion: &Completion, request: &Captured, usage: Usage) -> Value {
    let mut content = Vec::new();
    if let Some(thinking) = &completion.thinking {
        let signature = signature(thinking);
        content.push(json!({"type": "thinking", "thinking": thinking, "signature": signature}));
    }
    content.extend(completion.redacted.iter().map(|data| redacted(data)));
    if let Some(text) = &completion.text {
        content.push(json!({"type": "text", "text": text}));
    }
    for (place, (name, arguments)) in completion.calls.iter().enumerate() {
        // One document cannot carry arguments that are no JSON: they come as a string.
        let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments));
        let id = id(completion, request, place);
        content.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
    }
    let mut document = base(request);
    document["content"] = Value::Array(content);
    document["stop_reason"] = stop_reason(completion);
    document["usage"] = usage_of(usage);
    document
}

struct Stream<'a> {
    chunks: Vec<Chunk>,
    index: usize,
    completion: &'a Completion,
}

impl Stream<'_> {
    fn push(&mut self, brings: Brings, data: &Value) {
        self.chunks.push(chunk(brings, data));
    }

    fn thoughts(&mut self) {
        if let Some(thinking) = &self.completion.thinking {
            let delta = |piece: &str| json!({"type": "thinking_delta", "thinking": piece});
            let mut deltas: Vec<Value> =
                pieces(thinking, self.completion).into_iter().map(delta).collect();
            deltas.push(json!({"type": "signature_delta", "signature": signature(thinking)}));
            let start = json!({"type": "thinking", "thinking": "", "signature": ""});
            let block = self.block(&start, deltas, Brings::Thinking);
            self.chunks.extend(block);
        }
        for data in &self.completion.redacted {
            let block = self.block(&redacted(data), Vec::new(), Brings::Thinking);
            self.chunks.extend(block);
        }
    }

    fn calls(&mut self, request: &Captured) {
        let completion = self.completion;
        let mut blocks = Vec::new();
        for (place, (name, arguments)) in completion.calls.iter().enumerate() {
            let delta = |piece: &str| json!({"type": "input_json_delta", "partial_json": piece});
            let deltas = pieces(arguments, completion).into_iter().map(delta).collect();
            let id = id(completion, request, place);
            let start = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
            blocks.push(self.block(&start, deltas, Brings::Arguments));
        }
        self.chunks.extend(joined(blocks, completion.has(Quirk::Interleaved)));
    }

    /// The events of one block; the next one has the next index.
    fn block(&mut self, start: &Value, deltas: Vec<Value>, brings: Brings) -> Vec<Chunk> {
        let index = self.index;
        let start = json!({"type": "content_block_start", "index": index, "content_block": start});
        let delta = |delta: Value| {
            let delta = json!({"type": "content_block_delta", "index": index, "delta": delta});
            chunk(brings, &delta)
        };
        let stop = json!({"type": "content_block_stop", "index": index});
        self.index += if self.completion.has(Quirk::IndexGap) { 2 } else { 1 };
        let start = chunk(Brings::Other, &start);
        let stop = chunk(Brings::Other, &stop);
        std::iter::once(start).chain(deltas.into_iter().map(delta)).chain([stop]).collect()
    }
}

fn chunk(brings: Brings, data: &Value) -> Chunk {
    Chunk::new(brings, event(data["type"].as_str(), data))
}

fn redacted(data: &str) -> Value {
    json!({"type": "redacted_thinking", "data": data})
}

fn id(completion: &Completion, request: &Captured, place: usize) -> String {
    if completion.has(Quirk::EmptyIds) { String::new() } else { call_id(request, place) }
}

fn base(request: &Captured) -> Value {
    json!({
        "id": format!("msg_{}", request.number), "type": "message", "role": "assistant",
        "model": request.model(), "stop_sequence": null,
    })
}

fn usage_of(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input, "output_tokens": usage.output,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": usage.cache_write,
    })
}

fn stop_reason(completion: &Completion) -> Value {
    match &completion.stop {
        Stop::Fitting if completion.calls.is_empty() => json!("end_turn"),
        Stop::Fitting => json!("tool_use"),
        Stop::Length => json!("max_tokens"),
        Stop::Refusal => json!("refusal"),
        Stop::Missing => Value::Null,
        Stop::Word(word) => json!(word),
    }
}
