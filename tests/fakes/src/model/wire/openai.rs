//! OpenAI Chat Completions.

use serde_json::{Value, json};

use super::{Brings, Chunk, call_id, event, joined, pieces};
use crate::model::captured::Captured;
use crate::model::reply::{Completion, Quirk, Stop, Usage};

pub(super) fn events(completion: &Completion, request: &Captured, usage: Usage) -> Vec<Chunk> {
    let mut stream = Stream { chunks: Vec::new(), request, completion, usage };
    stream.delta(Brings::Other, &json!({"role": "assistant", "content": null}));
    let reasoning = reasoning_field(completion);
    for piece in completion.thinking.iter().flat_map(|text| pieces(text, completion)) {
        stream.delta(Brings::Thinking, &json!({reasoning: piece}));
    }
    for piece in completion.text.iter().flat_map(|text| pieces(text, completion)) {
        let key = if completion.stop == Stop::Refusal { "refusal" } else { "content" };
        stream.delta(Brings::Text, &json!({key: piece}));
    }
    let calls = completion.calls.iter().enumerate();
    let calls = calls.map(|(place, (name, arguments))| stream.call(place, name, arguments));
    let calls = joined(calls.collect(), completion.has(Quirk::Interleaved));
    for (brings, delta) in calls {
        stream.delta(brings, &json!({"tool_calls": [delta]}));
    }
    if completion.stop != Stop::Missing {
        let end = json!([{"index": 0, "delta": {}, "finish_reason": stop_reason(completion)}]);
        stream.chunk(Brings::Other, &end);
    }
    if request.prompt.tells_usage {
        let mut last = base(request, "chat.completion.chunk");
        last["choices"] = json!([]);
        last["usage"] = usage_of(usage);
        stream.chunks.push(Chunk::new(Brings::Other, event(None, &last)));
    }
    if !completion.without_end {
        stream.chunks.push(Chunk::new(Brings::Other, "data: [DONE]\n\n"));
    }
    stream.chunks
}

pub(super) fn document(completion: &Completion, request: &Captured, usage: Usage) -> Value {
    let refused = completion.stop == Stop::Refusal;
    let mut message = json!({"role": "assistant", "content": null, "refusal": null});
    message[if refused { "refusal" } else { "content" }] = json!(completion.text);
    if let Some(thinking) = &completion.thinking {
        message[reasoning_field(completion)] = json!(thinking);
    }
    if !completion.calls.is_empty() {
        let call = |(place, (name, arguments)): (usize, &(String, String))| {
            json!({
                "id": id(completion, request, place), "type": "function",
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
    completion: &'a Completion,
    usage: Usage,
}

impl Stream<'_> {
    /// The pieces of one call.
    fn call(&self, place: usize, name: &str, arguments: &str) -> Vec<(Brings, Value)> {
        let has = |quirk| self.completion.has(quirk);
        let index = if has(Quirk::IndexGap) { place * 2 + 1 } else { place };
        let id = id(self.completion, self.request, place);
        let named = |arguments: &str| {
            json!({
                "index": index, "id": id, "type": "function",
                "function": {"name": name, "arguments": arguments},
            })
        };
        let more = |piece: &str| {
            if has(Quirk::RepeatedNames) {
                return named(piece);
            }
            json!({"index": index, "function": {"arguments": piece}})
        };
        let mut deltas = if has(Quirk::WholeCalls) {
            vec![(Brings::Arguments, named(arguments))]
        } else {
            let pieces = pieces(arguments, self.completion).into_iter();
            let pieces = pieces.map(|piece| (Brings::Arguments, more(piece)));
            std::iter::once((Brings::Other, named(""))).chain(pieces).collect()
        };
        if has(Quirk::NoIndex) {
            for delta in deltas.iter_mut().filter_map(|(_, delta)| delta.as_object_mut()) {
                delta.remove("index");
            }
        }
        deltas
    }

    fn delta(&mut self, brings: Brings, delta: &Value) {
        let open = if self.completion.has(Quirk::EmptyFinish) { json!("") } else { Value::Null };
        self.chunk(brings, &json!([{"index": 0, "delta": delta, "finish_reason": open}]));
    }

    fn chunk(&mut self, brings: Brings, choices: &Value) {
        let mut body = base(self.request, "chat.completion.chunk");
        body["choices"] = choices.clone();
        if self.completion.has(Quirk::RunningUsage) {
            let output = (self.chunks.len() as u64).min(self.usage.output);
            body["usage"] = usage_of(Usage { output, ..self.usage });
        }
        self.chunks.push(Chunk::new(brings, event(None, &body)));
    }
}

fn reasoning_field(completion: &Completion) -> &'static str {
    if completion.has(Quirk::ReasoningField) { "reasoning" } else { "reasoning_content" }
}

fn id(completion: &Completion, request: &Captured, place: usize) -> String {
    if completion.has(Quirk::EmptyIds) { String::new() } else { call_id(request, place) }
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

fn stop_reason(completion: &Completion) -> Value {
    match &completion.stop {
        Stop::Fitting if completion.calls.is_empty() => json!("stop"),
        Stop::Fitting => json!("tool_calls"),
        Stop::Length => json!("length"),
        Stop::Refusal => json!("content_filter"),
        Stop::Missing => Value::Null,
        Stop::Word(word) => json!(word),
    }
}
