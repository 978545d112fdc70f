use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::*;

const STREAM: Option<&str> = Some("text/event-stream; charset=utf-8");

fn listened(wire: Wire, content_type: Option<&str>, chunks: &[&[u8]]) -> Tap {
    let mut tap = Tap::new(wire, content_type);
    for chunk in chunks {
        tap.take(chunk);
    }
    tap
}

fn openai_stream() -> String {
    [
        json!({"choices": [{"delta": {"role": "assistant", "content": "Grüße"}}]}),
        json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": null}),
        json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 60},
            "completion_tokens_details": {"reasoning_tokens": 3}}}),
    ]
    .map(|event| format!("data: {event}\n\n"))
    .concat()
        + "data: [DONE]\n\n"
}

fn anthropic_stream() -> String {
    [
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 40,
            "cache_read_input_tokens": 60, "cache_creation_input_tokens": 5, "output_tokens": 1}}}),
        json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Grüße"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 7}}),
        json!({"type": "message_stop"}),
    ]
    .map(|event| format!("event: x\r\n: comment\r\ndata: {event}\r\n\r\n"))
    .concat()
}

fn openai_usage() -> Usage {
    Usage {
        input_tokens: 40,
        output_tokens: 7,
        cache_read_tokens: 60,
        cache_write_tokens: 0,
        reasoning_tokens: 3,
    }
}

fn anthropic_usage() -> Usage {
    Usage { cache_write_tokens: 5, reasoning_tokens: 0, ..openai_usage() }
}

proptest! {
    #[test]
    fn a_stream_is_read_wherever_its_chunks_are_cut(size in 1_usize..200) {
        let streams = [
            (Wire::OpenAi, openai_stream(), openai_usage()),
            (Wire::Anthropic, anthropic_stream(), anthropic_usage()),
            (Wire::OpenAi, openai_stream().replace('\n', "\r"), openai_usage()),
        ];
        for (wire, body, usage) in streams {
            let chunks: Vec<&[u8]> = body.as_bytes().chunks(size).collect();
            let tap = listened(wire, STREAM, &chunks);
            prop_assert_eq!(tap.ending(), Ending::Complete);
            prop_assert_eq!(tap.reading(0), Reading { usage, estimated: false });
        }
    }
}

#[test]
fn a_document_is_read_at_its_end() {
    let openai = json!({"choices": [{"message": {"content": "hi"}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 7,
            "prompt_tokens_details": {"cached_tokens": 60},
            "completion_tokens_details": {"reasoning_tokens": 3}}});
    let anthropic = json!({"content": [{"type": "text", "text": "hi"}],
        "usage": {"input_tokens": 40, "output_tokens": 7, "cache_read_input_tokens": 60,
            "cache_creation_input_tokens": 5}});
    let cases =
        [(Wire::OpenAi, openai, openai_usage()), (Wire::Anthropic, anthropic, anthropic_usage())];
    for (wire, document, usage) in cases {
        let body = document.to_string();
        let mut tap = listened(wire, Some("application/json"), &[body.as_bytes()]);
        assert_eq!(tap.ending(), Ending::Open);
        tap.end();
        assert_eq!(tap.ending(), Ending::Complete);
        assert_eq!(tap.reading(0), Reading { usage, estimated: false });
    }
}

#[test]
fn what_the_provider_does_not_count_is_guessed_at_four_bytes_a_token() {
    let event = json!({"choices": [{"delta": {"content": "x".repeat(30), "tool_calls":
        [{"id": "not counted", "function": {"name": "ab", "arguments": "{\"a\":1}"}}]}}]});
    let body = format!("data: {event}\n\ndata: [DONE]\n\n");
    let tap = listened(Wire::OpenAi, STREAM, &[body.as_bytes()]);
    let usage = Usage { input_tokens: 101, output_tokens: 10, ..Usage::default() };
    assert_eq!(tap.reading(401), Reading { usage, estimated: true });
}

#[test]
fn a_cut_anthropic_stream_keeps_the_input_it_counted() {
    let body = anthropic_stream();
    let cut = &body.as_bytes()[..body.find("message_delta").unwrap()];
    let tap = listened(Wire::Anthropic, STREAM, &[cut]);
    let usage = Usage { output_tokens: 2, ..anthropic_usage() };
    assert_eq!(tap.ending(), Ending::Open);
    assert_eq!(tap.reading(9_999), Reading { usage, estimated: true });
}

#[test]
fn error_events_are_noticed_on_both_wires() {
    let openai = b"data: {\"error\":{\"message\":\"overloaded\"}}\n\n";
    let done = b"data: [DONE]\n\n";
    assert_eq!(listened(Wire::OpenAi, STREAM, &[openai, done]).ending(), Ending::Failed);
    let anthropic = b"event: error\ndata: {\"type\":\"error\",\"error\":{}}\n\n";
    assert_eq!(listened(Wire::Anthropic, STREAM, &[anthropic]).ending(), Ending::Failed);
}

#[test]
fn memory_is_bounded_however_long_an_event_or_a_document_is() {
    let megabyte = vec![b'x'; 1 << 20];
    let mut tap = Tap::new(Wire::OpenAi, STREAM);
    tap.take(b"data: ");
    for _ in 0..8 {
        tap.take(&megabyte);
    }
    let Form::Stream(events) = &tap.form else { panic!("a stream") };
    assert!(format!("{events:?}").len() < 6 << 20, "held as a list of numbers");
    tap.take(b"\n\n");
    tap.take(openai_stream().as_bytes());
    assert_eq!(tap.reading(0), Reading { usage: openai_usage(), estimated: false });

    let mut tap = Tap::new(Wire::OpenAi, Some("application/json"));
    for _ in 0..20 {
        tap.take(&megabyte);
    }
    let Form::Document { bytes, .. } = &tap.form else { panic!("a document") };
    assert!(bytes.len() <= MAX_DOCUMENT);
    tap.end();
    assert_eq!(tap.reading(0).usage.output_tokens, 20 << 18, "guessed from its length");
}
