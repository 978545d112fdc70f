//! Streams that no provider sends: mutated, random, cut anywhere. More cases by
//! `PROPTEST_CASES`; what once failed is kept in `proptest-regressions`.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::delta::Delta;

const WIRES: [Wire; 2] = [Wire::Anthropic, Wire::OpenAi];

type Read = (Result<Reply, LlmError>, Seen);

/// What a viewer pieces together.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    text: String,
    reasoning: String,
    calls: Vec<(u64, String, String)>,
    arguments: std::collections::BTreeMap<u64, String>,
    bytes: usize,
}

impl Seen {
    fn see(&mut self, delta: Delta<'_>) {
        match delta {
            Delta::Text(text) => {
                self.bytes += text.len();
                self.text.push_str(&text);
            }
            Delta::Reasoning(text) => {
                self.bytes += text.len();
                self.reasoning.push_str(&text);
            }
            Delta::Call { index, id, name } => {
                self.calls.push((index, id.into_owned(), name.into_owned()));
            }
            Delta::Arguments { index, fragment } => {
                self.bytes += fragment.len();
                self.arguments.entry(index).or_default().push_str(&fragment);
            }
        }
    }
}

fn read<'c>(wire: Wire, chunks: impl IntoIterator<Item = &'c [u8]>) -> Read {
    let mut seen = Seen::default();
    let mut viewer = |delta: Delta<'_>| seen.see(delta);
    let mut reader = Reader::new(wire);
    let mut failed = None;
    for chunk in chunks {
        match reader.take(chunk, &mut viewer) {
            Ok(Flow::More) => {}
            Ok(Flow::Done) => break,
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    let reply = match failed {
        Some(error) => Err(error),
        None => reader.finish(&mut viewer),
    };
    (reply, seen)
}

fn cut<'s>(stream: &'s [u8], places: &[prop::sample::Index]) -> Vec<&'s [u8]> {
    let mut places: Vec<usize> = places.iter().map(|place| place.index(stream.len() + 1)).collect();
    places.sort_unstable();
    places.push(stream.len());
    let starts = std::iter::once(0).chain(places.clone());
    starts.zip(places).map(|(start, end)| &stream[start..end]).collect()
}

/// A reply as some model might give it.
#[derive(Clone, Debug)]
struct Script {
    thoughts: Vec<String>,
    text: Vec<String>,
    /// Names and pieces of arguments.
    calls: Vec<(String, Vec<String>)>,
    /// How far apart the numbers of calls are.
    gap: u64,
    interleaved: bool,
    /// Whether calls begin with the last one.
    backwards: bool,
    /// Whether each piece of a call repeats its id and name.
    repeating: bool,
}

impl Script {
    fn any() -> impl Strategy<Value = Self> {
        let piece = || "[a-z é潮🌊\"\\\\\n\t]{1,12}";
        let pieces = || prop::collection::vec(piece(), 0..6);
        let call = ("[a-z_]{1,10}", prop::collection::vec(piece(), 0..5));
        let calls = prop::collection::vec(call, 0..4);
        let order = (1_u64..4, any::<bool>(), any::<bool>(), any::<bool>());
        (pieces(), pieces(), calls, order).prop_map(|(thoughts, text, calls, order)| {
            let (gap, interleaved, backwards, repeating) = order;
            Self { thoughts, text, calls, gap, interleaved, backwards, repeating }
        })
    }

    /// Number of a call and one of its pieces, in the order they are sent.
    fn pieces(&self) -> Vec<(usize, &str)> {
        let all = self.calls.iter().enumerate();
        let mut pieces: Vec<(usize, usize, &str)> = all
            .flat_map(|(call, (_, pieces))| {
                pieces.iter().enumerate().map(move |(nth, piece)| (nth, call, piece.as_str()))
            })
            .collect();
        if self.interleaved {
            pieces.sort_by_key(|(nth, call, _)| (*nth, *call));
        }
        pieces.into_iter().map(|(_, call, piece)| (call, piece)).collect()
    }

    /// Calls in the order in which they begin.
    fn begun(&self) -> Vec<usize> {
        let calls = 0..self.calls.len();
        if self.backwards { calls.rev().collect() } else { calls.collect() }
    }

    fn number(&self, call: usize) -> u64 {
        2 + call as u64 * self.gap
    }

    fn events(&self, wire: Wire) -> Vec<Value> {
        match wire {
            Wire::Anthropic => self.anthropic(),
            Wire::OpenAi => self.openai(),
        }
    }

    fn anthropic(&self) -> Vec<Value> {
        let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
        let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
        let mut events = vec![
            json!({"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 9}}}),
        ];
        if !self.thoughts.is_empty() {
            events.push(start(0, json!({"type": "thinking", "thinking": "", "signature": ""})));
            events.extend(
                self.thoughts
                    .iter()
                    .map(|piece| delta(0, json!({"type": "thinking_delta", "thinking": piece}))),
            );
            events.push(delta(0, json!({"type": "signature_delta", "signature": "s=="})));
        }
        if !self.text.is_empty() {
            events.push(start(1, json!({"type": "text", "text": ""})));
            events.extend(
                self.text
                    .iter()
                    .map(|piece| delta(1, json!({"type": "text_delta", "text": piece}))),
            );
        }
        for call in self.begun() {
            let name = &self.calls[call].0;
            let block =
                json!({"type": "tool_use", "id": format!("c{call}"), "name": name, "input": {}});
            events.push(start(self.number(call), block));
        }
        events.extend(self.pieces().into_iter().map(|(call, piece)| {
            delta(self.number(call), json!({"type": "input_json_delta", "partial_json": piece}))
        }));
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}}));
        events.push(json!({"type": "message_stop"}));
        events
    }

    fn openai(&self) -> Vec<Value> {
        let delta = |delta: Value| json!({"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
        let mut events = vec![delta(json!({"role": "assistant", "content": ""}))];
        let thoughts = self.thoughts.iter();
        events.extend(thoughts.map(|piece| delta(json!({"reasoning_content": piece}))));
        events.extend(self.text.iter().map(|piece| delta(json!({"content": piece}))));
        let piece_of = |call: usize, named: bool, piece: &str| {
            let name = named.then_some(self.calls[call].0.as_str());
            let id = named.then(|| format!("c{call}"));
            let function = json!({"name": name, "arguments": piece});
            let index = self.number(call);
            delta(json!({"tool_calls": [{"index": index, "id": id, "function": function}]}))
        };
        events.extend(self.begun().into_iter().map(|call| piece_of(call, true, "")));
        let pieces = self.pieces().into_iter();
        events.extend(pieces.map(|(call, piece)| piece_of(call, self.repeating, piece)));
        events.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}));
        events.push(json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 7}}));
        events.push(json!("[DONE]"));
        events
    }

    fn stream(&self, wire: Wire) -> String {
        written(&self.events(wire))
    }
}

fn written(events: &[Value]) -> String {
    let data = |event: &Value| match event {
        Value::String(word) => word.clone(),
        other => other.to_string(),
    };
    events.iter().flat_map(|event| ["data: ".to_owned(), data(event), "\n\n".to_owned()]).collect()
}

/// What a reply and its pieces owe to each other.
fn holds_together(read: &Read, sent: usize) {
    let (reply, seen) = read;
    assert!(seen.bytes <= sent, "more was shown than came");
    match reply {
        Ok(reply) => {
            assert_eq!(reply.text.clone().unwrap_or_default(), seen.text);
            assert!(reply.calls.len() <= json::MAX_PARTS);
            let arguments: usize = reply.calls.iter().map(|call| call.arguments.len()).sum();
            let shown: usize = seen.arguments.values().map(String::len).sum();
            assert!(shown <= arguments && arguments <= sent, "{shown} of {arguments}");
        }
        Err(error) => {
            assert!(!error.message.trim().is_empty());
            assert!(error.message.len() <= 32 * 1024, "{} bytes", error.message.len());
        }
    }
}

/// Changes one value somewhere within, to another kind of value.
fn mutated(value: &mut Value, path: &[prop::sample::Index], with: &Value) {
    let Some((step, rest)) = path.split_first() else {
        *value = with.clone();
        return;
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let at = step.index(fields.len());
            if let Some((_, inner)) = fields.iter_mut().nth(at) {
                mutated(inner, rest, with);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let at = step.index(items.len());
            mutated(&mut items[at], rest, with);
        }
        other => *other = with.clone(),
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-zé🌊_]{0,12}".prop_map(Value::from),
        prop::sample::select(
            &[
                "text",
                "tool_use",
                "thinking",
                "error",
                "message",
                "content_block_start",
                "content_block_delta",
                "message_delta",
                "message_start",
                "input_json_delta",
                "stop",
            ][..]
        )
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        let key = prop::sample::select(
            &[
                "type",
                "index",
                "delta",
                "choices",
                "content",
                "content_block",
                "text",
                "id",
                "name",
                "function",
                "arguments",
                "tool_calls",
                "error",
                "message",
                "usage",
                "input",
                "finish_reason",
                "stop_reason",
                "prompt_tokens",
                "partial_json",
                "reasoning",
                "x",
            ][..],
        );
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..6).prop_map(|fields| {
                fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn a_true_stream_gives_its_reply_however_it_is_cut(
        script in Script::any(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        for wire in WIRES {
            let stream = script.stream(wire);
            let whole = read(wire, [stream.as_bytes()]);
            holds_together(&whole, stream.len());
            let reply = whole.0.as_ref().unwrap();
            prop_assert_eq!(reply.text.clone().unwrap_or_default(), script.text.concat());
            prop_assert_eq!(&whole.1.reasoning, &script.thoughts.concat());
            let calls: Vec<(&str, &str)> =
                reply.calls.iter().map(|call| (&*call.name, &*call.arguments)).collect();
            let made: Vec<(String, String)> =
                script.calls.iter().map(|(name, pieces)| (name.clone(), pieces.concat())).collect();
            let made: Vec<(&str, &str)> =
                made.iter().map(|(name, pieces)| (&**name, &**pieces)).collect();
            prop_assert_eq!(calls, made);
            prop_assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (9, 7));
            for (index, id, _) in &whole.1.calls {
                let shown = whole.1.arguments.get(index).map_or("", String::as_str);
                let call = reply.calls.iter().find(|call| call.id == *id).unwrap();
                prop_assert_eq!(shown, &*call.arguments);
            }
            prop_assert_eq!(read(wire, cut(stream.as_bytes(), &places)), whole);
        }
    }

    #[test]
    fn a_stream_that_ends_anywhere_gives_that_reply_or_an_error(
        script in Script::any(),
        end in any::<prop::sample::Index>(),
    ) {
        for wire in WIRES {
            let stream = script.stream(wire);
            let part = &stream.as_bytes()[..end.index(stream.len())];
            if let Ok(reply) = read(wire, [part]).0 {
                let whole = read(wire, [stream.as_bytes()]).0.unwrap();
                prop_assert_eq!((reply.text, reply.calls), (whole.text, whole.calls));
            }
        }
    }

    #[test]
    fn a_changed_event_makes_no_panic_and_nothing_out_of_nothing(
        script in Script::any(),
        event in any::<prop::sample::Index>(),
        path in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        with in any_json(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        for wire in WIRES {
            let mut events = script.events(wire);
            let at = event.index(events.len());
            mutated(&mut events[at], &path, &with);
            let stream = written(&events);
            let whole = read(wire, [stream.as_bytes()]);
            holds_together(&whole, stream.len());
            prop_assert_eq!(read(wire, cut(stream.as_bytes(), &places)), whole);
        }
    }

    #[test]
    fn a_changed_byte_makes_no_panic(
        script in Script::any(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        for wire in WIRES {
            let mut stream = script.stream(wire).into_bytes();
            let at = at.index(stream.len());
            stream[at] = byte;
            let whole = read(wire, [stream.as_slice()]);
            holds_together(&whole, stream.len());
            prop_assert_eq!(read(wire, cut(&stream, &places)), whole);
        }
    }

    #[test]
    fn events_and_documents_of_any_json_make_no_panic(
        events in prop::collection::vec(any_json(), 0..8),
    ) {
        for wire in WIRES {
            let stream = written(&events);
            holds_together(&read(wire, [stream.as_bytes()]), stream.len());
            for event in &events {
                let mut seen = Seen::default();
                let body = event.to_string();
                let reply = document(wire, &body, &mut |delta| seen.see(delta));
                holds_together(&(reply, seen), body.len());
            }
        }
    }

    #[test]
    fn bytes_of_any_kind_make_no_panic(
        stream in prop::collection::vec(any::<u8>(), 0..600),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        for wire in WIRES {
            let whole = read(wire, [stream.as_slice()]);
            prop_assert_eq!(read(wire, cut(&stream, &places)), whole);
        }
    }
}
