//! How replies are read, event by event.

use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::ErrorKind;

/// Feeds events and finishes; deltas are dropped.
pub(super) fn parsed(wire: Wire, events: &[Value]) -> Result<Reply, LlmError> {
    let mut parser = StreamParser::new(wire);
    for event in events {
        if parser.event(&event.to_string(), &mut |_| ())? == Flow::Done {
            break;
        }
    }
    parser.finish()
}

pub(super) fn delta(delta: &Value) -> Value {
    json!({"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

#[test]
fn usage_totals_replace_earlier_ones() {
    let events = [
        json!({"type": "message_start", "message": {"model": "m", "usage":
            {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 5}}}),
        json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 7}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 9, "input_tokens": 12}}),
    ];
    let usage = parsed(Wire::Anthropic, &events).unwrap().usage;
    let expected =
        Usage { input_tokens: 12, output_tokens: 9, cache_read_tokens: 5, ..Usage::default() };
    assert_eq!(usage, expected);
}

#[test]
fn cached_tokens_are_not_counted_twice() {
    let mut last = delta(&json!({"content": "hi"}));
    last["usage"] = json!({"prompt_tokens": 100, "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 80},
        "completion_tokens_details": {"reasoning_tokens": 15}});
    last["choices"][0]["finish_reason"] = json!("stop");
    let usage = parsed(Wire::OpenAi, &[last]).unwrap().usage;
    let expected = Usage {
        input_tokens: 20,
        output_tokens: 20,
        cache_read_tokens: 80,
        cache_write_tokens: 0,
        reasoning_tokens: 15,
    };
    assert_eq!(usage, expected);
}

#[test]
fn calls_of_a_server_that_numbers_nothing_are_told_apart_by_their_ids() {
    let piece = |id: Value, name: Value, arguments: &str| {
        delta(
            &json!({"tool_calls": [{"id": id, "function": {"name": name, "arguments": arguments}}]}),
        )
    };
    let events = [
        piece(json!("a"), json!("recall"), "{\"q\""),
        piece(Value::Null, Value::Null, ":1}"),
        piece(json!("b"), json!("recall"), "{}"),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
    ];
    let reply = parsed(Wire::OpenAi, &events).unwrap();
    let calls: Vec<_> = reply.calls.iter().map(|call| (&*call.id, &*call.arguments)).collect();
    assert_eq!(calls, [("a", "{\"q\":1}"), ("b", "{}")]);
}

#[test]
fn a_stream_marked_whole_without_a_reason_is_whole() {
    let mut parser = StreamParser::new(Wire::OpenAi);
    parser.event(&delta(&json!({"content": "hi"})).to_string(), &mut |_| ()).unwrap();
    assert_eq!(parser.event("[DONE]", &mut |_| ()).unwrap(), Flow::Done);
    assert_eq!(parser.finish().unwrap().stop, StopReason::EndTurn);
}

#[test]
fn an_event_that_is_no_json_breaks_the_stream_and_is_quoted() {
    for wire in [Wire::Anthropic, Wire::OpenAi] {
        let error = StreamParser::new(wire).event("{oops", &mut |_| ()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Broken);
        assert!(error.message.contains("{oops"), "{error}");
    }
}

#[test]
fn a_delta_for_a_block_that_never_began_breaks_the_stream() {
    let event = json!({"type": "content_block_delta", "index": 3,
        "delta": {"type": "text_delta", "text": "hi"}});
    let error = parsed(Wire::Anthropic, &[event]).unwrap_err();
    assert_eq!(error.message, "a delta came for block 3, which never began");
}

#[test]
fn blocks_and_events_we_never_asked_for_are_passed_over() {
    let events = [
        json!({"type": "message_start", "message": {"model": "m"}}),
        json!({"type": "shiny_new_event", "x": 1}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "server_tool_use", "id": "s"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{"}}),
        json!({"type": "content_block_start", "index": 4, "content_block": {"type": "text", "text": "hi"}}),
        json!({"type": "content_block_delta", "index": 4, "delta": {"type": "citations_delta", "citation": {}}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "pause_turn"}, "usage": null}),
        json!({"type": "message_stop"}),
    ];
    let reply = parsed(Wire::Anthropic, &events).unwrap();
    assert_eq!(reply.text.as_deref(), Some("hi"));
    assert_eq!(reply.calls, []);
    assert_eq!(reply.stop, StopReason::Other("pause_turn".to_owned()));
}

/// KERN-15
#[test]
fn an_empty_word_is_no_stop_reason_so_that_a_cut_stream_is_no_reply() {
    // Some compatible servers write it into every chunk.
    let piece = |reason: &str| json!({"choices": [{"index": 0, "delta": {"content": "So far"}, "finish_reason": reason}]});
    let cut = parsed(Wire::OpenAi, &[piece("")]).unwrap_err();
    assert_eq!(cut.kind, ErrorKind::Broken);
    let whole = parsed(Wire::OpenAi, &[piece(""), piece("stop"), piece("")]).unwrap();
    assert_eq!(whole.stop, StopReason::EndTurn);
}

#[test]
fn an_index_beyond_sense_and_tokens_beyond_sense_break_nothing() {
    let call = |index: Option<u64>, id: &str| {
        let piece = json!({"index": index, "id": id, "function": {"name": "recall"}});
        json!({"choices": [{"delta": {"tool_calls": [piece]}, "finish_reason": "tool_calls"}]})
    };
    let reply = parsed(Wire::OpenAi, &[call(Some(u64::MAX), "a"), call(None, "b")]).unwrap();
    let ids: Vec<&str> = reply.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);

    let mut usage = Usage { input_tokens: u64::MAX, ..Usage::default() };
    usage.add(Usage { input_tokens: 1, output_tokens: u64::MAX, ..Usage::default() });
    assert_eq!(usage.total(), u64::MAX);
}

/// Some gateways send a call's arguments whole, where the call begins.
#[rstest]
#[case(json!({"query": "tide"}), &[], r#"{"query":"tide"}"#)]
#[case(json!({"query": "tide"}), &[r#"{"query": "mo"#, r#"on"}"#], r#"{"query": "moon"}"#)]
#[case(json!({}), &[], "")]
fn arguments_that_come_with_the_start_of_a_call_are_kept_unless_pieces_follow(
    #[case] input: Value,
    #[case] pieces: &[&str],
    #[case] expected: &str,
) {
    let block = json!({"type": "tool_use", "id": "c1", "name": "recall", "input": input});
    let mut events =
        vec![json!({"type": "content_block_start", "index": 0, "content_block": block})];
    events.extend(pieces.iter().map(|piece| {
        let delta = json!({"type": "input_json_delta", "partial_json": piece});
        json!({"type": "content_block_delta", "index": 0, "delta": delta})
    }));
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}));
    let reply = parsed(Wire::Anthropic, &events).unwrap();
    assert_eq!(reply.calls[0].arguments, expected);
}

/// KERN-38: each name that reasoning has, streamed and in one piece.
#[rstest]
#[case(json!({"reasoning_content": "hm"}))]
#[case(json!({"reasoning": "hm"}))]
#[case(json!({"reasoning": "hm", "reasoning_content": "hm"}))]
#[case(json!({"reasoning": "hm", "reasoning_content": ""}))]
#[case(json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}))]
fn reasoning_is_kept_under_each_of_its_names(#[case] thought: Value) {
    let mut events = vec![delta(&thought), delta(&json!({"content": "six"}))];
    events.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}));
    let reply = parsed(Wire::OpenAi, &events).unwrap();
    assert_eq!(reply.reasoning, [Reasoning::Text { text: "hm".to_owned() }]);
    assert_eq!(reply.text.as_deref(), Some("six"));
    let body = json!({"choices": [{"message": thought, "finish_reason": "stop"}]}).to_string();
    let mut seen = Vec::new();
    let reply = document(Wire::OpenAi, &body, &mut |delta| seen.push(delta.into_owned())).unwrap();
    assert_eq!(reply.reasoning, [Reasoning::Text { text: "hm".to_owned() }]);
    assert_eq!(seen, [crate::Delta::Reasoning("hm".into())]);
}

/// KERN-38
#[test]
fn a_signature_comes_in_pieces_and_a_redacted_block_whole() {
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let signature = |piece: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": piece}});
    let events = [
        start(0, json!({"type": "thinking", "thinking": ""})),
        signature("Ab"),
        signature("Cd=="),
        start(1, json!({"type": "redacted_thinking", "data": "x9"})),
        start(2, json!({"type": "text", "text": "six"})),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
    ];
    let expected = [
        Reasoning::Thinking { text: String::new(), signature: "AbCd==".to_owned() },
        Reasoning::Redacted { data: "x9".to_owned() },
    ];
    assert_eq!(parsed(Wire::Anthropic, &events).unwrap().reasoning, expected);
}

/// BIND-05: the names that compatible servers have for cached tokens.
#[rstest]
#[case::openai(json!({"prompt_tokens_details": {"cached_tokens": 80}}), 80, 0)]
#[case::deepseek(json!({"prompt_cache_hit_tokens": 80, "prompt_cache_miss_tokens": 20}), 80, 0)]
#[case::moonshot(json!({"cached_tokens": 80}), 80, 0)]
#[case::openrouter(json!({"prompt_tokens_details": {"cached_tokens": 50, "cache_write_tokens": 30}}), 50, 30)]
#[case::litellm(json!({"cache_read_input_tokens": 50, "cache_creation_input_tokens": 30}), 50, 30)]
#[case::both(json!({"cached_tokens": 80, "prompt_tokens_details": {"cached_tokens": 80}}), 80, 0)]
#[case::nulls(json!({"prompt_tokens_details": null, "completion_tokens_details": null}), 0, 0)]
#[case::beyond_sense(json!({"prompt_tokens_details": {"cached_tokens": 500}}), 500, 0)]
fn cached_tokens_are_disjoint_under_each_of_their_names(
    #[case] mut usage: Value,
    #[case] read: u64,
    #[case] written: u64,
) {
    usage["prompt_tokens"] = json!(100);
    usage["completion_tokens"] = json!(7);
    let choices = json!([{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]);
    let events = [json!({"choices": choices, "usage": usage}), json!({"choices": [], "usage": {}})];
    let expected = Usage {
        input_tokens: 100_u64.saturating_sub(read + written),
        output_tokens: 7,
        cache_read_tokens: read,
        cache_write_tokens: written,
        reasoning_tokens: 0,
    };
    assert_eq!(parsed(Wire::OpenAi, &events).unwrap().usage, expected);
}

#[test]
fn reasoning_that_only_the_total_counts_is_output_all_the_same() {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 45,
        "completion_tokens_details": {"reasoning_tokens": 30}});
    let events = [
        json!({"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop", "usage": usage}]}),
    ];
    let usage = parsed(Wire::OpenAi, &events).unwrap().usage;
    assert_eq!((usage.output_tokens, usage.reasoning_tokens, usage.total()), (35, 30, 45));
}

#[test]
fn a_total_of_nothing_takes_none_back() {
    let events = [
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 12, "cache_creation_input_tokens": 4}}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
            "usage": {"input_tokens": 0, "output_tokens": 3, "cache_creation_input_tokens": 0}}),
    ];
    let expected =
        Usage { input_tokens: 12, output_tokens: 3, cache_write_tokens: 4, ..Usage::default() };
    assert_eq!(parsed(Wire::Anthropic, &events).unwrap().usage, expected);
}

#[rstest]
#[case("stop", StopReason::EndTurn)]
#[case("STOP", StopReason::EndTurn)]
#[case("end_turn", StopReason::EndTurn)]
#[case("eos", StopReason::EndTurn)]
#[case("tool_calls", StopReason::ToolUse)]
#[case("tool_use", StopReason::ToolUse)]
#[case("length", StopReason::MaxTokens)]
#[case("MAX_TOKENS", StopReason::MaxTokens)]
#[case("model_length", StopReason::MaxTokens)]
#[case("model_context_window_exceeded", StopReason::MaxTokens)]
#[case("SAFETY", StopReason::Refusal)]
#[case("refusal", StopReason::Refusal)]
#[case("sensitive", StopReason::Refusal)]
#[case("Moonset", StopReason::Other("Moonset".to_owned()))]
fn a_renamed_stop_reason_is_known_on_either_wire(#[case] word: &str, #[case] stop: StopReason) {
    let openai = [json!({"choices": [{"delta": {"content": "hi"}, "finish_reason": word}]})];
    assert_eq!(parsed(Wire::OpenAi, &openai).unwrap().stop, stop);
    let anthropic = [
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hi"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": word}}),
    ];
    assert_eq!(parsed(Wire::Anthropic, &anthropic).unwrap().stop, stop);
}

#[test]
fn a_block_that_begins_twice_breaks_the_stream() {
    let start = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}});
    let error = parsed(Wire::Anthropic, &[start.clone(), start]).unwrap_err();
    assert_eq!(error.message, "block 0 began twice");
}

#[rstest]
#[case(json!({"error": {"code": 502, "message": "gone"}, "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]}), "gone")]
#[case(json!({"choices": [{"index": 0, "error": {"code": 502, "message": "gone"}, "finish_reason": "error"}]}), "gone")]
#[case(json!({"object": "error", "message": "gone", "code": 500}), "gone")]
#[case(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}), "gave no reason")]
fn an_error_within_a_reply_ends_it(#[case] event: Value, #[case] words: &str) {
    let error = parsed(Wire::OpenAi, &[delta(&json!({"content": "So far"})), event]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Server);
    assert!(error.message.contains(words), "{error}");
}

/// KERN-15: a word in place of a stop reason that says what went wrong. What came is cut.
#[rstest]
#[case::deepseek("insufficient_system_resource", ErrorKind::Overloaded)]
#[case::zhipu("network_error", ErrorKind::Server)]
#[case::vllm("abort", ErrorKind::Server)]
#[case::in_capitals("ERROR", ErrorKind::Server)]
fn a_reply_that_its_server_gave_up_is_none(#[case] word: &str, #[case] kind: ErrorKind) {
    let events = [
        delta(&json!({"content": "So far"})),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": word}]}),
    ];
    let error = parsed(Wire::OpenAi, &events).unwrap_err();
    assert_eq!((error.kind, error.status), (kind, Some(200)), "{error}");
    assert!(error.message.contains(&format!("{word:?}")), "{error}");
}

#[rstest]
#[case(json!(null))]
#[case(json!(""))]
#[case(json!({}))]
fn an_error_that_says_nothing_is_none(#[case] nothing: Value) {
    let event = json!({"error": nothing, "choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}], "usage": null});
    assert_eq!(parsed(Wire::OpenAi, &[event]).unwrap().text.as_deref(), Some("hi"));
}

#[test]
fn a_refusal_that_was_cut_is_no_refusal() {
    let piece = delta(&json!({"refusal": "I will"}));
    assert_eq!(
        parsed(Wire::OpenAi, std::slice::from_ref(&piece)).unwrap_err().kind,
        ErrorKind::Broken
    );
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    assert_eq!(parsed(Wire::OpenAi, &[piece, end]).unwrap().stop, StopReason::Refusal);
}

#[test]
fn a_kind_of_event_that_is_new_may_have_any_form() {
    let events = [
        json!({"type": "shiny", "index": [], "delta": 5, "message": "x", "usage": [1]}),
        json!({"type": "message", "model": "m", "content": [
            {"type": "text", "text": "hi"},
            {"type": "tool_use", "id": "t", "name": "recall", "input": {"q": 1.50}}],
            "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 2}}),
    ];
    let reply = parsed(Wire::Anthropic, &events).unwrap();
    assert_eq!(reply.text.as_deref(), Some("hi"));
    assert_eq!(
        (reply.calls[0].arguments.as_str(), reply.stop),
        (r#"{"q":1.5}"#, StopReason::ToolUse)
    );
    let ours = json!({"type": "content_block_delta", "index": 0, "delta": 5});
    assert_eq!(parsed(Wire::Anthropic, &[ours]).unwrap_err().kind, ErrorKind::Broken);
}

/// Proxies that cut text by UTF-16 units send the halves of a character in two pieces.
#[rstest]
#[case(r#""a\ud83d""#, r#""\ude0ab""#, "a\u{fffd}\u{fffd}b")]
#[case(r#""a\ud83d""#, r#""b""#, "a\u{fffd}b")]
fn half_a_character_breaks_no_reply(
    #[case] first: &str,
    #[case] second: &str,
    #[case] expected: &str,
) {
    let mut parser = StreamParser::new(Wire::OpenAi);
    for piece in [first, second] {
        let event =
            format!(r#"{{"choices":[{{"delta":{{"content":{piece}}},"finish_reason":"stop"}}]}}"#);
        parser.event(&event, &mut |_| ()).unwrap();
    }
    assert_eq!(parser.finish().unwrap().text.as_deref(), Some(expected));
}
