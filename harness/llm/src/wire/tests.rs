use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::dialect::{Dialect, Echo, Field, OutputCap};
use crate::endpoint::Auth;
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
        {"type": "text", "text": "hurry", "cache_control": {"type": "ephemeral"}},
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
#[case(r#"{"note": "cut \ud83d"}"#)]
#[case(r#"{"\ude0a": 1}"#)]
#[case(r#"{"note": "\ud83d\u0041"}"#)]
fn arguments_that_are_no_object_are_shown_back_as_an_empty_one(#[case] arguments: &str) {
    let request = request(vec![user("hello"), calls(arguments), results("cut")]);
    let body = written(Wire::OpenAi, &request);
    assert_eq!(body["messages"][2]["tool_calls"][0]["function"]["arguments"], "{}");
    let body = written(Wire::Anthropic, &request);
    assert_eq!(body["messages"][1]["content"][0]["input"], json!({}));
}

#[rstest]
#[case(r#"{"n": 12345678901234567890123,  "b":1e2}"#)]
#[case(r#"{"whole": "\ud83d\ude0a \u00e9 \uD83D\uDE0A", "no escape": "\\ud83d \" \n"}"#)]
fn arguments_are_shown_back_byte_for_byte(#[case] arguments: &str) {
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
    endpoint.dialect.echo_reasoning = Echo::ReasoningContent;
    let echoed = messages(&endpoint, &request).unwrap();
    assert!(echoed[2].contains(r#""reasoning_content":"hm  \n""#), "{}", echoed[2]);
    endpoint.dialect.echo_reasoning = Echo::Reasoning;
    let echoed = messages(&endpoint, &request).unwrap();
    assert!(echoed[2].contains(r#""reasoning":"hm  \n""#), "{}", echoed[2]);
    assert!(!echoed[2].contains("reasoning_content"), "{}", echoed[2]);
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

fn marks(body: &Value) -> Vec<String> {
    let mut marks = Vec::new();
    let mut look = |place: String, blocks: &Value| {
        for (at, block) in blocks.as_array().into_iter().flatten().enumerate() {
            if block.get("cache_control").is_some() {
                marks.push(format!("{place}.{at}"));
            }
        }
    };
    look("tools".to_owned(), &body["tools"]);
    look("system".to_owned(), &body["system"]);
    for (at, message) in body["messages"].as_array().into_iter().flatten().enumerate() {
        look(format!("messages.{at}"), &message["content"]);
    }
    marks
}

/// LOOP-13
#[test]
fn a_moving_mark_stands_at_the_end_and_is_no_part_of_the_messages() {
    let first = request(vec![user("hello")]);
    assert_eq!(marks(&written(Wire::Anthropic, &first)), ["system.0", "messages.0.0"]);
    let second = request(vec![user("hello"), calls("{}"), results("none")]);
    assert_eq!(marks(&written(Wire::Anthropic, &second)), ["system.0", "messages.2.0"]);
    let all = messages(&endpoint(Wire::Anthropic), &second).unwrap();
    assert!(all.iter().all(|message| !message.contains("cache_control")), "{all:?}");
    let mut bare = first;
    bare.system.clear();
    assert_eq!(marks(&written(Wire::Anthropic, &bare)), ["tools.0", "messages.0.0"]);
}

#[test]
fn a_long_turn_keeps_the_mark_before_it_within_reach() {
    let call = |id: usize| ToolCall {
        id: format!("c{id}"),
        name: "recall".to_owned(),
        arguments: "{}".to_owned(),
    };
    let result = |id: usize| ToolResult {
        call_id: format!("c{id}"),
        name: "recall".to_owned(),
        content: "none".to_owned(),
        is_error: false,
    };
    let turn = |size: usize| {
        request(vec![
            user("hello"),
            Message::Assistant {
                text: None,
                reasoning: Vec::new(),
                calls: (0..size).map(call).collect(),
            },
            Message::ToolResults { results: (0..size).map(result).collect() },
        ])
    };
    assert_eq!(marks(&written(Wire::Anthropic, &turn(9))), ["system.0", "messages.2.8"]);
    let expected = ["system.0", "messages.0.0", "messages.2.9"];
    assert_eq!(marks(&written(Wire::Anthropic, &turn(10))), expected);
}

#[test]
fn what_the_api_calls_empty_is_not_sent() {
    let mut message = calls("{}");
    if let Message::Assistant { text, .. } = &mut message {
        *text = Some("\n\n".to_owned());
    }
    let request = request(vec![user("hello"), message, results(" \n")]);
    let body = written(Wire::Anthropic, &request);
    assert_eq!(body["messages"][1]["content"].as_array().unwrap().len(), 1);
    // A failed tool must have said something.
    assert_eq!(body["messages"][2]["content"][0]["content"], "failed without a word");
}

#[rstest]
#[case("recall<|channel|>commentary", "recall__channel__commentary")]
#[case("functions.recall", "functions_recall")]
#[case("", "unnamed")]
#[case("suche_größe", "suche_gr__e")]
fn a_name_that_no_wire_takes_is_shown_back_as_one_that_it_does(
    #[case] called: &str,
    #[case] shown: &str,
) {
    let mut message = calls("{}");
    if let Message::Assistant { calls, .. } = &mut message {
        called.clone_into(&mut calls[0].name);
    }
    let request = request(vec![user("hello"), message, results("there is no such tool")]);
    assert_eq!(written(Wire::Anthropic, &request)["messages"][1]["content"][0]["name"], shown);
    let call = &written(Wire::OpenAi, &request)["messages"][2]["tool_calls"][0];
    assert_eq!(call["function"]["name"], shown);
    let long = super::reply::shown_name(&"x".repeat(100)).into_owned();
    assert_eq!(long.len(), 64);
}

/// KERN-39
#[test]
fn thinking_is_not_asked_for_where_the_api_refuses_it() {
    let thought = |signature: &str| Reasoning::Thinking {
        text: "hm".to_owned(),
        signature: signature.to_owned(),
    };
    let with = |reasoning: Vec<Reasoning>| {
        let mut message = calls("{}");
        if let Message::Assistant { reasoning: kept, .. } = &mut message {
            *kept = reasoning;
        }
        message
    };
    let thinks = |messages: Vec<Message>, choice: ToolChoice| {
        let mut request = request(messages);
        request.thinking_budget = Some(100);
        request.temperature = Some(0.5);
        request.tool_choice = choice;
        let body = written(Wire::Anthropic, &request);
        let budget = body["thinking"]["budget_tokens"].as_u64();
        assert_eq!(body.get("temperature").is_some(), budget.is_none());
        assert_eq!(body["max_tokens"].as_u64().unwrap(), 8192 + budget.unwrap_or(0));
        budget
    };
    let least = Some(1024);
    assert_eq!(thinks(vec![user("hello")], ToolChoice::Auto), least);
    assert_eq!(thinks(vec![user("hello")], ToolChoice::Required), None);
    assert_eq!(thinks(vec![user("hello")], ToolChoice::Tool("recall".to_owned())), None);
    let turn = |message: Message| vec![user("hello"), message, results("ok")];
    assert_eq!(thinks(turn(with(vec![thought("s")])), ToolChoice::Auto), least);
    assert_eq!(thinks(turn(with(Vec::new())), ToolChoice::Auto), None);
    let other = with(vec![Reasoning::Text { text: "of another wire".to_owned() }]);
    assert_eq!(thinks(turn(other), ToolChoice::Auto), None);
}

/// KERN-03
#[test]
fn a_learned_dialect_leaves_out_what_was_refused() {
    let mut request = request(vec![user("hello")]);
    request.temperature = Some(0.5);
    request.reasoning_effort = Some("low".to_owned());
    let body = |dialect: Dialect| -> Value {
        let body = write(Wire::OpenAi, dialect, &request, Mode::Stream).unwrap();
        serde_json::from_slice(&body).unwrap()
    };
    let fields = ["temperature", "reasoning_effort", "stream_options"];
    let there = |body: &Value| fields.map(|field| body.get(field).is_some());
    assert_eq!(there(&body(Dialect::default())), [true; 3]);
    let bare = Dialect {
        temperature: Field::LeftOut,
        reasoning_effort: Field::LeftOut,
        stream_options: Field::LeftOut,
        ..Dialect::default()
    };
    assert_eq!(there(&body(bare)), [false; 3]);
}

#[test]
fn a_body_is_written_without_being_moved() {
    let text = "x".repeat(100_000);
    let request = request(vec![user(&text), calls("{}"), results(&text)]);
    for wire in [Wire::Anthropic, Wire::OpenAi] {
        let body = body(&endpoint(wire), &request, Mode::Stream).unwrap();
        assert!(body.len() <= size(&request), "{} bytes, {} expected", body.len(), size(&request));
        assert!(size(&request) < 2 * body.len());
    }
}

mod calls;
mod replies;
