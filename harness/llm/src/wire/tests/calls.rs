//! Tool calls in pieces, as servers truly send them.

use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::{Value, json};

use super::replies::{delta, parsed};
use super::*;
use crate::ErrorKind;

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
