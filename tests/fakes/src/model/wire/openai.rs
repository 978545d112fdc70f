//! OpenAI Chat Completions.

use serde_json::{Value, json};

use super::{Brings, Chunk, event, pieces};
use crate::model::captured::Captured;
use crate::model::reply::{Completion, Stop, Usage};

pub(super) fn events(completion: &Completion, request: &Captured, usage: Usage) -> Vec<Chunk> {
    let mut stream = Stream { chunks: Vec::new(), request };
    stream.delta(Brings::Other, &json!({"role": "assistant", "content": null}));
    for piece in completion.thinking.iter().flat_map(|text| pieces(text)) {
        stream.delta(Brings::Other, &json!({"reasoning_content": piece}));
    }
    for piece in completion.text.iter().flat_map(|text| pieces(text)) {
        let key = if completion.stop == Stop::Refusal { "refusal" } else { "content" };
        stream.delta(Brings::Text, &json!({key: piece}));
    }
    for (place, (name, arguments)) in completion.calls.iter().enumerate() {
        let index = if completion.index_gap { place * 2 + 1 } else { place };
        let start = json!({
            "index": index, "id": call_id(request, place), "type": "function",
            "function": {"name": name, "arguments": ""},
        });
        stream.delta(Brings::Other, &json!({"tool_calls": [start]}));
        for piece in pieces(arguments) {
            let more = json!({"index": index, "function": {"arguments": piece}});
            stream.delta(Brings::Arguments, &json!({"tool_calls": [more]}));
        }
    }
    if completion.stop != Stop::Missing {
        stream.chunk(&json!([{"index": 0, "delta": {}, "finish_reason": stop_reason(completion)}]));
    }
    if request.body["stream_options"]["include_usage"] == json!(true) {
        let mut last = base(request, "chat.completion.chunk");
        last["choices"] = json!([]);
        last["usage"] = usage_of(usage);
        stream.chunks.push(Chunk { bytes: event(None, &last), brings: Brings::Other });
    }
    if !completion.without_end {
        let done = b"data: [DONE]\n\n".to_vec();
        stream.chunks.push(Chunk { bytes: done, brings: Brings::Other });
    }
    stream.chunks
}

pub(super) fn document(completion: &Completion, request: &Captured, usage: Usage) -> Value {
    let refused = completion.stop == Stop::Refusal;
    let mut message = json!({"role": "assistant", "content": null, "refusal": null});
    message[if refused { "refusal" } else { "content" }] = json!(completion.text);
    if let Some(thinking) = &completion.thinking {
        message["reasoning_content"] = json!(thinking);
    }
    if !completion.calls.is_empty() {
        let call = |(place, (name, arguments)): (usize, &(String, String))| {
            json!({
                "id": call_id(request, place), "type": "function",
                "function": {"name": name, "arguments": arguments},
            })
        };
        message["tool_calls"] = completion.calls.iter().enumerate().map(call).collect();
    }
    let mut document = base(request, "chat.completion");
    document["choices"] =
        json!([{"index": 0, "message": message, "finish_reason": stop_reason(completion)}]);
    document["usage"] = usage_of(usage);
    document
}

struct Stream<'a> {
    chunks: Vec<Chunk>,
    request: &'a Captured,
}

impl Stream<'_> {
    fn delta(&mut self, brings: Brings, delta: &Value) {
        self.chunk(&json!([{"index": 0, "delta": delta, "finish_reason": null}]));
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.brings = brings;
        }
    }

    fn chunk(&mut self, choices: &Value) {
        let mut body = base(self.request, "chat.completion.chunk");
        body["choices"] = choices.clone();
        self.chunks.push(Chunk { bytes: event(None, &body), brings: Brings::Other });
    }
}

fn base(request: &Captured, object: &str) -> Value {
    json!({
        "id": format!("chatcmpl-{}", request.number), "object": object,
        "created": 1_751_371_200, "model": request.model(),
    })
}

/// Prompt tokens count the cached ones in.
fn usage_of(usage: Usage) -> Value {
    let prompt = usage.input + usage.cache_read;
    json!({
        "prompt_tokens": prompt, "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    })
}

fn call_id(request: &Captured, place: usize) -> String {
    format!("call_{}_{place}", request.number)
}

fn stop_reason(completion: &Completion) -> Value {
    match completion.stop {
        Stop::Fitting if completion.calls.is_empty() => json!("stop"),
        Stop::Fitting => json!("tool_calls"),
        Stop::Length => json!("length"),
        Stop::Refusal => json!("content_filter"),
        Stop::Missing => Value::Null,
    }
}
