use serde_json::{Value, json};

use super::*;

fn captured(wire: Wire, body: &Value) -> Captured {
    let headers = match wire {
        Wire::Anthropic => vec![("x-api-key", "sk-secret"), ("anthropic-version", "2023-06-01")],
        Wire::OpenAi => vec![("authorization", "Bearer sk-secret")],
    };
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    Captured {
        number: 1,
        nth: 1,
        at: 0,
        wire,
        path: "/v1".to_owned(),
        headers: headers.into_iter().map(own).collect(),
        raw: body.to_string(),
        body: body.clone(),
        violations: Vec::new(),
    }
}

fn anthropic(messages: &Value) -> Value {
    json!({
        "model": "m", "max_tokens": 10, "system": "s", "messages": messages,
        "tools": [{"name": "recall", "description": "d", "input_schema": {"type": "object"}}],
    })
}

fn openai(messages: &Value) -> Value {
    json!({
        "model": "m", "messages": messages,
        "tools": [{"type": "function", "function": {"name": "recall", "parameters": {"type": "object"}}}],
    })
}

/// The rules broken on Anthropic's wire.
fn broken_a(messages: &Value) -> Vec<String> {
    rules(&violations(&captured(Wire::Anthropic, &anthropic(messages))))
}

/// The rules broken on OpenAI's wire.
fn broken_o(messages: &Value) -> Vec<String> {
    rules(&violations(&captured(Wire::OpenAi, &openai(messages))))
}

fn rules(violations: &[String]) -> Vec<String> {
    let mut rules: Vec<String> =
        violations.iter().map(|one| one.split(':').next().unwrap().to_owned()).collect();
    rules.dedup();
    rules
}

fn hello() -> Value {
    json!({"role": "user", "content": "hello"})
}

fn use_of(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "recall", "input": {}})
}

fn result_of(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "r"})
}

fn call_of(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "recall", "arguments": "{}"}})
}

fn calls(ids: &[&str]) -> Value {
    let calls: Vec<Value> = ids.iter().map(|id| call_of(id)).collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn tool(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "r"})
}

#[test]
fn a_lawful_conversation_breaks_no_rule() {
    let messages = json!([
        hello(),
        {"role": "assistant", "content": [{"type": "text", "text": "t"}, use_of("a"), use_of("b")]},
        {"role": "user", "content": [result_of("a"), result_of("b"), {"type": "text", "text": "go"}]},
    ]);
    assert_eq!(broken_a(&messages), [""; 0]);
    let messages = json!([
        {"role": "system", "content": "s"}, hello(), calls(&["a", "b"]), tool("a"), tool("b"), hello(),
    ]);
    assert_eq!(broken_o(&messages), [""; 0]);
}

#[test]
fn each_call_has_its_result_right_behind_it_and_in_order() {
    let spoken = json!({"role": "assistant", "content": [use_of("a"), use_of("b")]});
    let missing = json!([hello(), spoken, {"role": "user", "content": [result_of("a")]}]);
    assert_eq!(broken_a(&missing), ["answered"]);
    let turned =
        json!([hello(), spoken, {"role": "user", "content": [result_of("b"), result_of("a")]}]);
    assert_eq!(broken_a(&turned), ["answered"]);
    assert_eq!(broken_o(&json!([hello(), calls(&["a"]), hello()])), ["answered"]);
    let turned = json!([hello(), calls(&["a", "b"]), tool("b"), tool("a")]);
    assert_eq!(broken_o(&turned), ["answered"]);
    let parted = json!([hello(), calls(&["a"]), hello(), tool("a")]);
    assert_eq!(broken_o(&parted), ["answered", "no_orphan"]);
}

#[test]
fn each_result_has_its_call_just_before() {
    let orphan = json!([hello(), {"role": "user", "content": [result_of("x")]}]);
    assert_eq!(broken_a(&orphan), ["no_orphan"]);
    assert_eq!(broken_o(&json!([hello(), tool("x")])), ["no_orphan"]);
}

#[test]
fn results_stand_before_text_in_one_anthropic_message() {
    let spoken = json!({"role": "assistant", "content": [use_of("a")]});
    let late = json!([hello(), spoken,
        {"role": "user", "content": [{"type": "text", "text": "x"}, result_of("a")]}]);
    assert_eq!(broken_a(&late), ["one_group"]);
}

#[test]
fn ids_are_there_once_and_legal() {
    let twice = json!([hello(), calls(&["a"]), tool("a"), calls(&["a"]), tool("a")]);
    assert_eq!(broken_o(&twice), ["unique_ids"]);
    let illegal = json!([hello(), calls(&["a b"]), tool("a b")]);
    assert_eq!(broken_o(&illegal), ["unique_ids"]);
}

#[test]
fn arguments_are_an_object() {
    let spoken = json!({"role": "assistant",
        "content": [{"type": "tool_use", "id": "a", "name": "recall", "input": "{cut"}]});
    let messages = json!([hello(), spoken, {"role": "user", "content": [result_of("a")]}]);
    assert_eq!(broken_a(&messages), ["object_arguments"]);
    let mut spoken = calls(&["a"]);
    spoken["tool_calls"][0]["function"]["arguments"] = json!("{cut");
    assert_eq!(broken_o(&json!([hello(), spoken, tool("a")])), ["object_arguments"]);
}

/// KERN-09
#[test]
fn nothing_is_empty_and_calls_alone_have_content_null() {
    let mut spoken = calls(&["a"]);
    spoken["content"] = json!("");
    assert_eq!(broken_o(&json!([hello(), spoken, tool("a")])), ["never_empty"]);
    assert_eq!(broken_o(&json!([{"role": "user", "content": ""}])), ["never_empty"]);
    assert_eq!(broken_a(&json!([{"role": "user", "content": []}])), ["never_empty"]);
    let blank = json!([{"role": "user", "content": [{"type": "text", "text": " "}]}]);
    assert_eq!(broken_a(&blank), ["never_empty"]);
}

#[test]
fn a_conversation_starts_with_the_user_and_ends_open() {
    let said = json!({"role": "assistant", "content": "hi"});
    assert_eq!(broken_o(&json!([said, hello()])), ["ends_open"]);
    assert_eq!(broken_o(&json!([hello(), said])), ["ends_open"]);
    assert_eq!(broken_a(&json!([])), ["ends_open"]);
}

#[test]
fn thinking_comes_back_as_it_was_signed() {
    let spoken = |text: &str| {
        let signature = crate::model::wire::signature("as it was");
        json!([hello(), {"role": "assistant", "content": [
            {"type": "thinking", "thinking": text, "signature": signature}, use_of("a")]},
            {"role": "user", "content": [result_of("a")]}])
    };
    assert_eq!(broken_a(&spoken("as it was")), [""; 0]);
    assert_eq!(broken_a(&spoken("as it was ")), ["whole_thinking"]);
}

#[test]
fn roles_and_fields_are_legal_for_the_wire() {
    assert_eq!(broken_a(&json!([{"role": "system", "content": "s"}, hello()])), ["legal"]);
    assert_eq!(broken_o(&json!([hello(), {"role": "system", "content": "s"}])), ["legal"]);
    let mut body = openai(&json!([hello()]));
    body["max_turns"] = json!(3);
    let found = violations(&captured(Wire::OpenAi, &body));
    assert_eq!(found, ["legal: the body has an unknown field max_turns"]);
    let mut body = anthropic(&json!([hello()]));
    body["tools"][0]["name"] = json!("no blanks");
    let found = violations(&captured(Wire::Anthropic, &body));
    assert_eq!(found, ["legal: \"no blanks\" is no name of a tool"]);
}

/// BIND-11
#[test]
fn a_key_stands_in_its_header_and_nowhere_else() {
    let body = openai(&json!([{"role": "user", "content": "my key is sk-secret"}]));
    let found = violations(&captured(Wire::OpenAi, &body));
    assert_eq!(found, ["no_key: the API key stands in the body"]);
}
