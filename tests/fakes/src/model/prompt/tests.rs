use serde_json::{Value, json};

use super::*;

fn read(wire: Wire, body: &Value) -> Prompt {
    Prompt::read(wire, &Text::new(body.to_string()), None)
}

fn prints(prompt: &Prompt) -> Vec<u64> {
    prompt.units().map(|(_, unit)| unit.print).collect()
}

fn said(text: &str, marked: bool) -> Value {
    let mut block = json!({"type": "text", "text": text});
    if marked {
        block["cache_control"] = json!({"type": "ephemeral", "ttl": "1h"});
    }
    json!({"model": "m", "messages": [{"role": "user", "content": [block]}]})
}

#[test]
fn a_mark_is_no_part_of_a_piece() {
    let (plain, marked) =
        (read(Wire::Anthropic, &said("t", false)), read(Wire::Anthropic, &said("t", true)));
    assert_eq!(prints(&plain), prints(&marked));
    let unit = |prompt: &Prompt| prompt.messages[0].units[0].clone();
    assert_eq!((unit(&plain).marked, unit(&marked).marked), (false, true));
    assert_eq!(unit(&plain).bytes, unit(&marked).bytes);
    assert_eq!(
        unmarked(r#"{"cache_control":{"type":"ephemeral"},"text":"t"}"#),
        ("{", "\"text\":\"t\"}")
    );
}

#[test]
fn words_that_look_like_a_mark_are_part_of_a_piece() {
    let text = r#","cache_control":{"type":"ephemeral"}"#;
    let prompt = read(Wire::Anthropic, &said(text, false));
    assert!(!prompt.messages[0].units[0].marked);
}

#[test]
fn a_byte_more_is_another_piece() {
    let one = read(Wire::Anthropic, &said("tide", false));
    for other in ["tide ", "Tide", "tid", "", "\u{0}tide"] {
        assert_ne!(prints(&one), prints(&read(Wire::Anthropic, &said(other, false))), "{other:?}");
    }
    let spaced =
        r#"{"model":"m","messages":[{"role":"user","content":[{"text": "tide","type":"text"}]}]}"#;
    let spaced = Prompt::read(Wire::Anthropic, &Text::new(spaced), None);
    assert_ne!(prints(&one), prints(&spaced), "the same meaning in other bytes");
}

#[test]
fn what_is_known_from_the_request_before_is_read_alike() {
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": "r"});
    let mut body = json!({"model": "m", "stream": true, "system": "s", "tools": [{"name": "t"}],
        "messages": [{"role": "user", "content": "hello"}, {"role": "user", "content": [result]}]});
    for wire in [Wire::Anthropic, Wire::OpenAi] {
        let before = read(wire, &body);
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "user", "content": "more"}));
        messages[1]["content"][0]["content"] = json!("other");
        let anew = read(wire, &body);
        let helped = Prompt::read(wire, &Text::new(body.to_string()), Some(&before));
        assert_eq!(prints(&anew), prints(&helped));
        assert_eq!(
            anew.units().map(|(_, unit)| unit).collect::<Vec<_>>(),
            helped.units().map(|(_, unit)| unit).collect::<Vec<_>>()
        );
        assert_ne!(prints(&before), prints(&anew)[..2]);
    }
}

#[test]
fn the_parts_of_a_body_are_found_on_either_wire() {
    let body = json!({"model": "m", "stream": true, "stream_options": {"include_usage": true},
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hello"}]});
    let prompt = read(Wire::OpenAi, &body);
    let Prompt { model, streams, tells_usage, system, first_user, head, messages, .. } = prompt;
    assert_eq!((model.as_str(), system.as_str(), first_user.as_str()), ("m", "s", "hello"));
    assert!(streams && tells_usage);
    assert_eq!((head.len(), messages.len()), (0, 2));
    let body = json!({"model": "m", "system": [{"type": "text", "text": "s"}], "tools": [{"name": "t"}],
        "messages": [{"role": "user", "content": "hello"}]});
    let prompt = read(Wire::Anthropic, &body);
    assert_eq!((prompt.system.as_str(), prompt.first_user.as_str()), ("s", "hello"));
    assert_eq!((prompt.head.len(), prompt.streams), (2, false));
    for nothing in ["", "[]", "{\"messages\": 3}", "{cut"] {
        assert!(Prompt::read(Wire::OpenAi, &Text::new(nothing), None).messages.is_empty());
    }
}
