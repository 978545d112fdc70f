use serde_json::{Value, json};

use super::*;
use crate::model::captured::Text;
use crate::model::reply::{Play, Reply};

fn captured(wire: Wire, body: &Value) -> Captured {
    let key = match wire {
        Wire::Anthropic => ("x-api-key", "sk-secret"),
        Wire::OpenAi => ("authorization", "Bearer sk-secret"),
    };
    let headers = [key, ("anthropic-version", "2023-06-01"), ("content-type", "application/json")];
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let headers = headers.into_iter().map(own).collect();
    Captured::new(wire, "/v1".to_owned(), headers, Text::new(body.to_string()), None)
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

/// What is wrong with a body on a wire, as it is told.
fn told(wire: Wire, body: &Value) -> Vec<String> {
    violations(&captured(wire, body))
}

#[test]
fn no_more_than_four_cache_marks_stand_where_they_may() {
    let mark = json!({"type": "ephemeral"});
    let said = |text: &str| json!({"type": "text", "text": text, "cache_control": mark});
    let marked = |count: usize| {
        let blocks: Vec<Value> = (0..count).map(|n| said(&format!("t{n}"))).collect();
        let mut body = anthropic(&json!([{"role": "user", "content": blocks}]));
        body["system"] = json!([said("s")]);
        body
    };
    assert_eq!(told(Wire::Anthropic, &marked(3)), [""; 0]);
    assert_eq!(told(Wire::Anthropic, &marked(4)), ["cache_marks: there are 5 cache marks"]);
    let signature = crate::model::wire::signature("t");
    let thinking =
        json!({"type": "thinking", "thinking": "t", "signature": signature, "cache_control": mark});
    let messages = json!([hello(), {"role": "assistant", "content": [thinking, use_of("a")]},
        {"role": "user", "content": [result_of("a")]}]);
    assert_eq!(broken_a(&messages), ["cache_marks", "legal"]);
    let mut odd = marked(1);
    odd["system"][0]["cache_control"] = json!({"type": "forever"});
    assert_eq!(
        told(Wire::Anthropic, &odd),
        [r#"cache_marks: system has the mark {"type":"forever"}"#]
    );
    let mut body = openai(&json!([{"role": "user", "content": [{"type": "text", "text": "t"}]}]));
    body["messages"][0]["content"][0]["cache_control"] = mark.clone();
    let found = told(Wire::OpenAi, &body);
    assert_eq!(found, ["legal: a part of message 0 has an unknown field cache_control"]);
}

/// KERN-39
#[test]
fn thinking_has_a_budget_below_the_cap_and_neither_temperature_nor_a_forced_tool() {
    let thinking = |change: &dyn Fn(&mut Value)| {
        let mut body = anthropic(&json!([hello()]));
        body["max_tokens"] = json!(4096);
        body["thinking"] = json!({"type": "enabled", "budget_tokens": 2048});
        change(&mut body);
        told(Wire::Anthropic, &body)
    };
    assert_eq!(thinking(&|_| ()), [""; 0]);
    let cap = thinking(&|body| body["max_tokens"] = json!(2048));
    assert_eq!(cap, ["legal: max_tokens is not above thinking.budget_tokens"]);
    let small = thinking(&|body| body["thinking"]["budget_tokens"] = json!(100));
    assert_eq!(small, ["legal: thinking.budget_tokens is below 1024"]);
    let warm = thinking(&|body| body["temperature"] = json!(0.2));
    assert_eq!(warm, ["legal: a temperature is set while thinking"]);
    let forced = thinking(&|body| body["tool_choice"] = json!({"type": "any"}));
    assert_eq!(forced, ["legal: tool_choice forces a tool while thinking"]);
}

#[test]
fn a_choice_names_a_tool_that_is_offered() {
    let choosing = |choice: Value| {
        let mut body = anthropic(&json!([hello()]));
        body["tool_choice"] = choice;
        told(Wire::Anthropic, &body)
    };
    assert_eq!(choosing(json!({"type": "tool", "name": "recall"})), [""; 0]);
    assert_eq!(choosing(json!({"type": "none"})), [""; 0]);
    let unknown = choosing(json!({"type": "tool", "name": "forget"}));
    assert_eq!(unknown, ["legal: tool_choice names a tool that is not offered"]);
    assert_eq!(choosing(json!({"type": "some"})), [r#"legal: tool_choice has the type "some""#]);
    let mut body = openai(&json!([hello()]));
    body["tool_choice"] = json!("none");
    assert_eq!(told(Wire::OpenAi, &body), [""; 0]);
    body["tools"] = json!([]);
    assert_eq!(told(Wire::OpenAi, &body), ["legal: tool_choice is set without tools"]);
}

#[test]
fn a_conversation_with_calls_defines_tools() {
    let mut body = anthropic(&json!([hello(), {"role": "assistant", "content": [use_of("a")]},
        {"role": "user", "content": [result_of("a")]}]));
    body["tools"] = json!([]);
    assert_eq!(told(Wire::Anthropic, &body), ["legal: there are calls, and no tools are defined"]);
}

#[test]
fn openai_takes_no_long_id_and_no_temperature_above_two() {
    let id = "x".repeat(41);
    let messages = json!([hello(), calls(&[&id]), tool(&id)]);
    assert_eq!(broken_o(&messages), ["unique_ids"]);
    let mut body = openai(&json!([hello()]));
    body["temperature"] = json!(2.5);
    assert_eq!(told(Wire::OpenAi, &body), ["legal: temperature is not between 0 and 2"]);
}

/// The model's own thinking, remembered: what is signed is one thing, what is left out another.
mod remembered {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::model::remembered::Remembered;

    fn said(reply: &Reply) -> Remembered {
        let mut said = Remembered::default();
        let mut request = captured(Wire::Anthropic, &anthropic(&json!([hello()])));
        request.number = 1;
        let Play::Completion(completion) = &reply.play else { panic!("a completion") };
        said.remember(&request, completion);
        said
    }

    fn back(blocks: &Value, then: &Value) -> Vec<String> {
        let said = said(&Reply::thinking("t").and_redacted("sealed").and_call("recall", json!({})));
        let mut content = blocks.as_array().unwrap().clone();
        content.push(use_of("toolu_1_0"));
        let results = json!({"role": "user", "content": [result_of("toolu_1_0")]});
        let mut messages = vec![hello(), json!({"role": "assistant", "content": content}), results];
        messages.extend(then.as_array().unwrap().clone());
        let body = anthropic(&Value::Array(messages));
        rules(&whole_thinking(&captured(Wire::Anthropic, &body), &said))
    }

    fn thinking() -> Value {
        let signature = crate::model::wire::signature("t");
        json!({"type": "thinking", "thinking": "t", "signature": signature})
    }

    fn redacted(data: &str) -> Value {
        json!({"type": "redacted_thinking", "data": data})
    }

    /// KERN-40
    #[test]
    fn all_of_it_comes_back_within_the_tool_loop() {
        let now = |blocks: Value| back(&blocks, &json!([]));
        assert_eq!(now(json!([thinking(), redacted("sealed")])), [""; 0]);
        assert_eq!(now(json!([thinking()])), ["whole_thinking"]);
        assert_eq!(now(json!([redacted("sealed")])), ["whole_thinking"]);
        assert_eq!(now(json!([thinking(), redacted("Sealed")])), ["whole_thinking"]);
        assert_eq!(now(json!([])), ["whole_thinking"]);
    }

    #[test]
    fn an_earlier_turn_may_leave_it_out_and_not_change_it() {
        let later = |blocks: Value| {
            back(&blocks, &json!([{"role": "assistant", "content": "done"}, hello()]))
        };
        assert_eq!(later(json!([])), [""; 0]);
        assert_eq!(later(json!([thinking()])), ["whole_thinking"]);
    }
}
