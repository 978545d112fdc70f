use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::endpoint::{Auth, OutputCap};
use crate::message::{
    Content, Message, Reasoning, StopReason, ToolCall, ToolChoice, ToolResult, ToolSpec, Usage,
};

fn endpoint(wire: Wire) -> Endpoint {
    Endpoint::new(wire, &"http://model.test/v1".parse().unwrap(), Auth::None).unwrap()
}

fn request(messages: Vec<Message>) -> Request {
    Request {
        model: "m".to_owned(),
        system: "Be brief.".to_owned(),
        messages,
        tools: vec![ToolSpec {
            name: "recall".to_owned(),
            description: "Looks up memories.".to_owned(),
            input_schema: json!({"type": "object", "properties": {"query": {"type": "string"}}}),
        }],
        tool_choice: ToolChoice::Auto,
        max_output_tokens: 8192,
        temperature: None,
        reasoning_effort: None,
        thinking_budget: None,
    }
}

fn user(text: &str) -> Message {
    Message::User { content: vec![Content::Text { text: text.to_owned() }] }
}

fn calls(arguments: &str) -> Message {
    Message::Assistant {
        text: None,
        reasoning: Vec::new(),
        calls: vec![ToolCall {
            id: "c1".to_owned(),
            name: "recall".to_owned(),
            arguments: arguments.to_owned(),
        }],
    }
}

fn results(content: &str) -> Message {
    Message::ToolResults {
        results: vec![ToolResult {
            call_id: "c1".to_owned(),
            name: "recall".to_owned(),
            content: content.to_owned(),
            is_error: true,
        }],
    }
}

fn written(wire: Wire, request: &Request) -> Value {
    let body = body(&endpoint(wire), request, Mode::Stream).unwrap();
    serde_json::from_slice(&body).unwrap()
}

/// KERN-03
#[rstest]
#[case(Provider::Anthropic, Wire::Anthropic)]
#[case(Provider::OpenAi, Wire::OpenAi)]
#[case(Provider::OpenAiCompatible, Wire::OpenAi)]
fn the_wire_follows_the_provider(#[case] provider: Provider, #[case] wire: Wire) {
    assert_eq!(wire_for(provider), wire);
}

/// LOOP-13
#[test]
fn an_anthropic_call_sets_a_cache_breakpoint_on_the_system_block() {
    let body = written(Wire::Anthropic, &request(vec![user("hello")]));
    let block =
        json!([{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]);
    assert_eq!(body["system"], block);
}

/// KERN-09
#[test]
fn an_assistant_message_with_only_calls_has_content_null() {
    let request = request(vec![user("hello"), calls(r#"{"query": "x"}"#), results("none")]);
    let body = written(Wire::OpenAi, &request);
    let expected = json!({
        "role": "assistant", "content": null,
        "tool_calls": [{"id": "c1", "type": "function",
            "function": {"name": "recall", "arguments": "{\"query\": \"x\"}"}}],
    });
    assert_eq!(body["messages"][2], expected);
    // Anthropic's form has no null: the message has the call's block and no other.
    let body = written(Wire::Anthropic, &request);
    let block =
        json!([{"type": "tool_use", "id": "c1", "name": "recall", "input": {"query": "x"}}]);
    assert_eq!(body["messages"][1], json!({"role": "assistant", "content": block}));
}

#[test]
fn an_empty_text_beside_calls_is_left_out() {
    let mut message = calls("{}");
    if let Message::Assistant { text, .. } = &mut message {
        *text = Some(String::new());
    }
    let request = request(vec![user("hello"), message, results("none")]);
    assert_eq!(written(Wire::OpenAi, &request)["messages"][2]["content"], Value::Null);
    let content = &written(Wire::Anthropic, &request)["messages"][1]["content"];
    assert_eq!(content.as_array().unwrap().len(), 1);
}

#[test]
fn results_and_what_the_host_says_behind_them_are_one_anthropic_message_results_first() {
    let request = request(vec![user("hello"), calls("{}"), results("none"), user("hurry")]);
    let expected = json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "c1", "content": "none", "is_error": true},
        {"type": "text", "text": "hurry"},
    ]});
    assert_eq!(written(Wire::Anthropic, &request)["messages"][2], expected);
    let body = written(Wire::OpenAi, &request);
    let expected = json!([
        {"role": "tool", "tool_call_id": "c1", "content": "none"},
        {"role": "user", "content": "hurry"},
    ]);
    assert_eq!(body["messages"].as_array().unwrap()[3..], *expected.as_array().unwrap());
}

#[rstest]
#[case(r#"{"query": "cut of"#)]
#[case("")]
#[case("[1]")]
#[case("null")]
fn arguments_that_are_no_object_are_shown_back_as_an_empty_one(#[case] arguments: &str) {
    let request = request(vec![user("hello"), calls(arguments), results("cut")]);
    let body = written(Wire::OpenAi, &request);
    assert_eq!(body["messages"][2]["tool_calls"][0]["function"]["arguments"], "{}");
    let body = written(Wire::Anthropic, &request);
    assert_eq!(body["messages"][1]["content"][0]["input"], json!({}));
}

#[test]
fn arguments_are_shown_back_byte_for_byte() {
    let arguments = r#"{"n": 12345678901234567890123,  "b":1e2}"#;
    let request = request(vec![user("hello"), calls(arguments), results("ok")]);
    let body = body(&endpoint(Wire::Anthropic), &request, Mode::Stream).unwrap();
    assert!(String::from_utf8(body).unwrap().contains(arguments));
}

#[rstest]
fn a_longer_conversation_begins_with_the_bytes_of_a_shorter_one(
    #[values(Wire::Anthropic, Wire::OpenAi)] wire: Wire,
) {
    let endpoint = endpoint(wire);
    let mut conversation = vec![user("hello")];
    let mut earlier = messages(&endpoint, &request(conversation.clone())).unwrap();
    for turn in 0..5 {
        conversation.push(calls(&format!("{{\"turn\": {turn}}}")));
        conversation.push(results("fine"));
        let later = messages(&endpoint, &request(conversation.clone())).unwrap();
        assert_eq!(later[..earlier.len()], earlier);
        earlier = later;
    }
}

/// KERN-39
#[test]
fn thinking_raises_the_output_cap_above_its_budget_and_drops_the_temperature() {
    let mut request = request(vec![user("hello")]);
    request.temperature = Some(0.5);
    request.thinking_budget = Some(4096);
    let body = written(Wire::Anthropic, &request);
    assert_eq!(body["max_tokens"], 4096 + 8192);
    assert_eq!(body["thinking"], json!({"type": "enabled", "budget_tokens": 4096}));
    assert_eq!(body.get("temperature"), None);
}

/// KERN-40
#[test]
fn thinking_goes_back_unchanged_and_the_openai_form_drops_it() {
    let mut message = calls("{}");
    if let Message::Assistant { reasoning, .. } = &mut message {
        let (text, signature) = ("hm  \n".to_owned(), "s1".to_owned());
        *reasoning = vec![
            Reasoning::Thinking { text, signature },
            Reasoning::Redacted { data: "x9".to_owned() },
        ];
    }
    let request = request(vec![user("hello"), message, results("ok")]);
    let body = written(Wire::Anthropic, &request);
    let expected = json!([
        {"type": "thinking", "thinking": "hm  \n", "signature": "s1"},
        {"type": "redacted_thinking", "data": "x9"},
        {"type": "tool_use", "id": "c1", "name": "recall", "input": {}},
    ]);
    assert_eq!(body["messages"][1]["content"], expected);
    let body = written(Wire::OpenAi, &request);
    assert_eq!(body["messages"][2].get("reasoning_content"), None);
    let mut endpoint = endpoint(Wire::OpenAi);
    endpoint.dialect.echo_reasoning = true;
    let echoed = messages(&endpoint, &request).unwrap();
    assert!(echoed[2].contains(r#""reasoning_content":"hm  \n""#), "{}", echoed[2]);
}

#[rstest]
#[case(ToolChoice::Auto, None, None)]
#[case(ToolChoice::None, Some(json!({"type": "none"})), Some(json!("none")))]
#[case(ToolChoice::Required, Some(json!({"type": "any"})), Some(json!("required")))]
#[case(
    ToolChoice::Tool("recall".to_owned()),
    Some(json!({"type": "tool", "name": "recall"})),
    Some(json!({"type": "function", "function": {"name": "recall"}}))
)]
fn each_choice_of_tool_is_said_in_the_wires_words(
    #[case] choice: ToolChoice,
    #[case] anthropic: Option<Value>,
    #[case] openai: Option<Value>,
) {
    let mut request = request(vec![user("hello")]);
    request.tool_choice = choice;
    let said = |wire| written(wire, &request).get("tool_choice").cloned();
    assert_eq!((said(Wire::Anthropic), said(Wire::OpenAi)), (anthropic, openai));
    request.tools.clear(); // neither provider takes a choice without tools
    let said = |wire| written(wire, &request).get("tool_choice").cloned();
    assert_eq!((said(Wire::Anthropic), said(Wire::OpenAi)), (None, None));
}

/// KERN-12
#[test]
fn the_output_cap_has_the_name_its_server_knows() {
    let mut endpoint = endpoint(Wire::OpenAi);
    let request = request(vec![user("hello")]);
    let cap = |endpoint: &Endpoint, name: &str| {
        let body = body(endpoint, &request, Mode::OneShot).unwrap();
        serde_json::from_slice::<Value>(&body).unwrap().get(name).and_then(Value::as_u64)
    };
    assert_eq!(cap(&endpoint, "max_completion_tokens"), Some(8192));
    assert_eq!(cap(&endpoint, "max_tokens"), None);
    endpoint.dialect.output_cap = OutputCap::MaxTokens;
    assert_eq!(cap(&endpoint, "max_completion_tokens"), None);
    assert_eq!(cap(&endpoint, "max_tokens"), Some(8192));
}

/// Feeds events and finishes; deltas are dropped.
fn parsed(wire: Wire, events: &[Value]) -> Result<Reply, LlmError> {
    let mut parser = StreamParser::new(wire);
    for event in events {
        if parser.event(&event.to_string(), &mut |_| ())? == Flow::Done {
            break;
        }
    }
    parser.finish()
}

fn delta(delta: &Value) -> Value {
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
        assert_eq!(error.kind, crate::ErrorKind::Broken);
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

/// What a streamed reply of these events comes to.
fn streamed(wire: Wire, events: &[Value]) -> Result<Reply, LlmError> {
    let mut parser = StreamParser::new(wire);
    for event in events {
        parser.event(&event.to_string(), &mut |_| ())?;
    }
    parser.finish()
}

/// KERN-15
#[test]
fn an_empty_word_is_no_stop_reason_so_that_a_cut_stream_is_no_reply() {
    // Some compatible servers write it into every chunk.
    let piece = |reason: &str| json!({"choices": [{"index": 0, "delta": {"content": "So far"}, "finish_reason": reason}]});
    let cut = streamed(Wire::OpenAi, &[piece("")]).unwrap_err();
    assert_eq!(cut.kind, crate::ErrorKind::Broken);
    let whole = streamed(Wire::OpenAi, &[piece(""), piece("stop"), piece("")]).unwrap();
    assert_eq!(whole.stop, StopReason::EndTurn);
}

#[test]
fn an_index_beyond_sense_and_tokens_beyond_sense_break_nothing() {
    let call = |index: Option<u64>, id: &str| {
        let piece = json!({"index": index, "id": id, "function": {"name": "recall"}});
        json!({"choices": [{"delta": {"tool_calls": [piece]}, "finish_reason": "tool_calls"}]})
    };
    let reply = streamed(Wire::OpenAi, &[call(Some(u64::MAX), "a"), call(None, "b")]).unwrap();
    assert_eq!(reply.calls.len(), 1, "the second call is told apart by nothing");

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
    let reply = streamed(Wire::Anthropic, &events).unwrap();
    assert_eq!(reply.calls[0].arguments, expected);
}
