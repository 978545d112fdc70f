//! Tool calls in pieces, as servers truly send them.

use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::{Value, json};

use super::replies::{delta, parsed};
use super::*;
use crate::ErrorKind;
use crate::dialect::Unsigned;

fn calls_of(events: &[Value]) -> Vec<(String, String, String)> {
    let reply = parsed(Wire::OpenAi, events).unwrap();
    reply.calls.into_iter().map(|call| (call.id, call.name, call.arguments)).collect()
}

fn call_piece(index: &Value, id: &Value, name: &Value, arguments: &Value) -> Value {
    let piece =
        json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}});
    delta(&json!({"tool_calls": [piece]}))
}

fn end_of_calls() -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
}

fn triple(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.to_owned(), name.to_owned(), arguments.to_owned())
}

#[test]
fn calls_that_all_bear_the_same_number_are_told_apart() {
    let events = [
        call_piece(&json!(0), &json!("a"), &json!("recall"), &json!(r#"{"q": 1}"#)),
        call_piece(&json!(0), &json!("b"), &json!("recall"), &json!("")),
        call_piece(&json!(0), &json!("c"), &json!("list"), &json!("{}")),
        end_of_calls(),
    ];
    let expected = [
        triple("a", "recall", r#"{"q": 1}"#),
        triple("b", "recall", ""),
        triple("c", "list", "{}"),
    ];
    assert_eq!(calls_of(&events), expected);
}

#[test]
fn an_id_that_changes_with_each_piece_makes_no_new_call() {
    let events = [
        call_piece(&json!(0), &json!("a1"), &json!("recall"), &json!(r#"{"q": "#)),
        call_piece(&json!(0), &json!("a2"), &json!(null), &json!("1")),
        call_piece(&json!(0), &json!("a3"), &json!("recall"), &json!("}")),
        end_of_calls(),
    ];
    assert_eq!(calls_of(&events), [triple("a1", "recall", r#"{"q": 1}"#)]);
}

#[test]
fn several_calls_come_interleaved_and_out_of_order() {
    let events = [
        call_piece(&json!(7), &json!("late"), &json!("list"), &json!("{\"x\"")),
        call_piece(&json!(2), &json!("early"), &json!("recall"), &json!("{\"q\"")),
        call_piece(&json!(7), &json!(null), &json!(null), &json!(":2}")),
        call_piece(&json!(2), &json!(""), &json!(""), &json!(":1}")),
        end_of_calls(),
    ];
    let expected = [triple("early", "recall", "{\"q\":1}"), triple("late", "list", "{\"x\":2}")];
    assert_eq!(calls_of(&events), expected);
}

#[rstest]
#[case::null(json!(null), "")]
#[case::missing_text(json!(""), "")]
#[case::an_object(json!({"b": [1], "q": 12_345_678_901_234_567_u64}), r#"{"b":[1],"q":12345678901234567}"#)]
#[case::a_text(json!("{\"q\":1}"), "{\"q\":1}")]
fn arguments_come_as_a_text_an_object_or_not_at_all(
    #[case] arguments: Value,
    #[case] expected: &str,
) {
    let events = [call_piece(&json!(0), &json!("a"), &json!("recall"), &arguments), end_of_calls()];
    assert_eq!(calls_of(&events), [triple("a", "recall", expected)]);
    let function = json!({"name": "recall", "arguments": arguments});
    let body = json!({"choices": [{"message": {"tool_calls": [{"id": "a", "function": function}]},
        "finish_reason": "tool_calls"}]});
    let reply = document(Wire::OpenAi, &body.to_string(), &mut |_| ()).unwrap();
    assert_eq!(reply.calls[0].arguments, expected);
}

#[test]
fn an_announced_call_that_never_comes_is_none_and_ids_are_made_up() {
    let ghost = delta(&json!({"tool_calls": [{"index": 0, "type": "function"}]}));
    let named = call_piece(&json!(1), &json!(""), &json!("recall"), &json!("{}"));
    let nameless = call_piece(&json!(2), &json!(null), &json!(null), &json!("{}"));
    let expected = [triple("call_0", "recall", "{}"), triple("call_1", "", "{}")];
    assert_eq!(calls_of(&[ghost, named, nameless, end_of_calls()]), expected);
}

#[test]
fn more_calls_or_blocks_than_anyone_makes_break_the_reply() {
    let many =
        |count: usize| (0..count).map(|index| json!({"index": index, "id": format!("c{index}")}));
    let at_once = [delta(&json!({"tool_calls": many(1025).collect::<Vec<_>>()}))];
    assert_eq!(parsed(Wire::OpenAi, &at_once).unwrap_err().kind, ErrorKind::Broken);
    let one_by_one: Vec<Value> =
        many(1025).map(|call| delta(&json!({"tool_calls": [call]}))).collect();
    let error = parsed(Wire::OpenAi, &one_by_one).unwrap_err();
    assert_eq!(error.message, "the reply has more than 1024 calls");
    let blocks: Vec<Value> = (0..1025)
        .map(|index| json!({"type": "content_block_start", "index": index, "content_block": {"type": "text"}}))
        .collect();
    let error = parsed(Wire::Anthropic, &blocks).unwrap_err();
    assert_eq!(error.message, "the reply has more than 1024 blocks");
}

/// Servers without ids: a name that comes again where arguments begin anew is another call.
#[rstest]
#[case::not_numbered(json!(null), json!(null))]
#[case::numbered_alike(json!(0), json!(""))]
fn calls_without_ids_are_told_apart_by_where_they_begin(#[case] index: Value, #[case] id: Value) {
    let piece = |name: &str, arguments: &str| {
        let name = if name.is_empty() { json!(null) } else { json!(name) };
        call_piece(&index, &id, &name, &json!(arguments))
    };
    let events = [
        piece("recall", "{\"q\":"),
        piece("recall", "1}"),
        piece("recall", ""),
        piece("recall", "{\"q\":2}"),
        piece("list", "{"),
        piece("", "}"),
        end_of_calls(),
    ];
    let expected = [
        triple("call_0", "recall", "{\"q\":1}"),
        triple("call_1", "recall", "{\"q\":2}"),
        triple("call_2", "list", "{}"),
    ];
    assert_eq!(calls_of(&events), expected);
}

#[test]
fn no_two_calls_of_a_document_are_one() {
    let call = |name: &str, arguments: &str| json!({"index": 0, "type": "function", "function": {"name": name, "arguments": arguments}});
    let all = [
        call("list", ""),
        call("read", ""),
        call("recall", "{\"q\":1}"),
        call("recall", "{\"q\":1}"),
    ];
    let body =
        json!({"choices": [{"message": {"tool_calls": all}, "finish_reason": "tool_calls"}]});
    let reply = document(Wire::OpenAi, &body.to_string(), &mut |_| ()).unwrap();
    let made: Vec<_> =
        reply.calls.into_iter().map(|call| (call.id, call.name, call.arguments)).collect();
    let expected = [
        triple("call_0", "list", ""),
        triple("call_1", "read", ""),
        triple("call_2", "recall", "{\"q\":1}"),
        triple("call_3", "recall", "{\"q\":1}"),
    ];
    assert_eq!(made, expected);
}

/// Gemini signs its thoughts beside the first of its calls, and wants that back as it was.
fn signed_calls() -> Reply {
    let signature = json!({"google": {"thought_signature": "Ab+/\u{e9}=="}});
    let call = |index: u64, id: &str, extra: &Value| {
        let function = json!({"name": "recall", "arguments": "{\"q\":1}"});
        json!({"index": index, "id": id, "function": function, "extra_content": extra})
    };
    let calls = [call(0, "a", &signature), call(1, "b", &Value::Null)];
    parsed(Wire::OpenAi, &[delta(&json!({"tool_calls": calls})), end_of_calls()]).unwrap()
}

fn shown_back(reasoning: Vec<Reasoning>, dialect: Dialect) -> Vec<Value> {
    let calls = signed_calls().calls;
    let said = Message::Assistant { text: None, reasoning, calls };
    let request = request(vec![user("hello"), said, results("ok")]);
    let body = write(Wire::OpenAi, dialect, &request, Mode::Stream).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let calls = body["messages"][2]["tool_calls"].as_array().unwrap();
    calls.iter().map(|call| call.get("extra_content").cloned().unwrap_or_default()).collect()
}

/// KERN-40
#[test]
fn what_stands_beside_a_call_goes_back_with_it_unchanged() {
    let signature = json!({"google": {"thought_signature": "Ab+/\u{e9}=="}});
    let reply = signed_calls();
    assert_eq!(shown_back(reply.reasoning, Dialect::default()), [signature, Value::Null]);
    assert_eq!(shown_back(Vec::new(), Dialect::default()), [Value::Null, Value::Null]);
}

/// KERN-40: a signature that is gone is excused once the server asks for one.
#[test]
fn a_call_without_its_signature_is_excused_on_demand() {
    let excused = Dialect { unsigned_calls: Unsigned::Excused, ..Dialect::default() };
    let excuse = json!({"google": {"thought_signature": "skip_thought_signature_validator"}});
    assert_eq!(shown_back(Vec::new(), excused), [excuse, Value::Null]);
    let signature = json!({"google": {"thought_signature": "Ab+/\u{e9}=="}});
    assert_eq!(shown_back(signed_calls().reasoning, excused), [signature, Value::Null]);
}
