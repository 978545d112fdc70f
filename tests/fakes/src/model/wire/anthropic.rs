//! Anthropic Messages.

use serde_json::{Value, json};

use super::{Brings, Chunk, event, pieces, signature};
use crate::model::captured::Captured;
use crate::model::reply::{Completion, Stop, Usage};

pub(super) fn events(completion: &Completion, request: &Captured, usage: Usage) -> Vec<Chunk> {
    let mut stream = Stream { chunks: Vec::new(), index: 0, gap: completion.index_gap };
    let mut start = base(request);
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"] = usage_of(Usage { output: 1, ..usage });
    stream.push(Brings::Other, &json!({"type": "message_start", "message": start}));
    stream.push(Brings::Other, &json!({"type": "ping"}));
    if let Some(thinking) = &completion.thinking {
        let delta = |piece: &str| json!({"type": "thinking_delta", "thinking": piece});
        let mut deltas: Vec<Value> = pieces(thinking).into_iter().map(delta).collect();
        deltas.push(json!({"type": "signature_delta", "signature": signature(thinking)}));
        let block = json!({"type": "thinking", "thinking": "", "signature": ""});
        stream.block(&block, deltas, Brings::Other);
    }
    if let Some(text) = &completion.text {
        let delta = |piece: &str| json!({"type": "text_delta", "text": piece});
        let deltas = pieces(text).into_iter().map(delta).collect();
        stream.block(&json!({"type": "text", "text": ""}), deltas, Brings::Text);
    }
    for (place, (name, arguments)) in completion.calls.iter().enumerate() {
        let delta = |piece: &str| json!({"type": "input_json_delta", "partial_json": piece});
        let deltas = pieces(arguments).into_iter().map(delta).collect();
        let id = call_id(request, place);
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        stream.block(&block, deltas, Brings::Arguments);
    }
    let end = json!({"stop_reason": stop_reason(completion), "stop_sequence": null});
    let usage = json!({"output_tokens": usage.output});
    stream.push(Brings::Other, &json!({"type": "message_delta", "delta": end, "usage": usage}));
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
    if let Some(text) = &completion.text {
        content.push(json!({"type": "text", "text": text}));
    }
    for (place, (name, arguments)) in completion.calls.iter().enumerate() {
        // One document cannot carry arguments that are no JSON: they come as a string.
        let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments));
        let id = call_id(request, place);
        content.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
    }
    let mut document = base(request);
    document["content"] = Value::Array(content);
    document["stop_reason"] = stop_reason(completion);
    document["usage"] = usage_of(usage);
    document
}

struct Stream {
    chunks: Vec<Chunk>,
    index: usize,
    gap: bool,
}

impl Stream {
    fn push(&mut self, brings: Brings, data: &Value) {
        let name = data["type"].as_str();
        self.chunks.push(Chunk { bytes: event(name, data), brings });
    }

    fn block(&mut self, start: &Value, deltas: Vec<Value>, brings: Brings) {
        let index = self.index;
        let start = json!({"type": "content_block_start", "index": index, "content_block": start});
        self.push(Brings::Other, &start);
        for delta in deltas {
            let delta = json!({"type": "content_block_delta", "index": index, "delta": delta});
            self.push(brings, &delta);
        }
        self.push(Brings::Other, &json!({"type": "content_block_stop", "index": index}));
        self.index += if self.gap { 2 } else { 1 };
    }
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

fn call_id(request: &Captured, place: usize) -> String {
    format!("toolu_{}_{place}", request.number)
}

fn stop_reason(completion: &Completion) -> Value {
    match completion.stop {
        Stop::Fitting if completion.calls.is_empty() => json!("end_turn"),
        Stop::Fitting => json!("tool_use"),
        Stop::Length => json!("max_tokens"),
        Stop::Refusal => json!("refusal"),
        Stop::Missing => Value::Null,
    }
}
