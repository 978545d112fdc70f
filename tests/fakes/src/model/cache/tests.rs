use serde_json::{Value, json};

use super::*;
use crate::model::captured::Text;

fn captured(wire: Wire, body: &Value) -> Captured {
    Captured::new(wire, "/v1".to_owned(), Vec::new(), Text::new(body.to_string()), None)
}

fn block(text: &str, marked: bool) -> Value {
    let mut block = json!({"type": "text", "text": text});
    if marked {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
    block
}

fn anthropic(system_marked: bool, said: &[(&str, bool)]) -> Captured {
    let message =
        |(text, marked): &(&str, bool)| json!({"role": "user", "content": [block(text, *marked)]});
    let messages: Vec<Value> = said.iter().map(message).collect();
    let system = block(&"You keep the tide table. ".repeat(40), system_marked);
    captured(Wire::Anthropic, &json!({"model": "m", "system": [system], "messages": messages}))
}

fn sum(usage: Usage) -> u64 {
    usage.input + usage.cache_read + usage.cache_write
}

#[test]
fn what_stands_before_a_mark_is_written_once_and_read_then() {
    let mut cache = Cache::default();
    let first = anthropic(true, &[("hello", false)]);
    let usage = cache.input(&first);
    assert_eq!(usage.cache_read, 0);
    assert!(usage.cache_write > 200 && usage.input > 0, "{usage:?}");
    assert_eq!(sum(usage), tokens(first.raw.len()));
    cache.remember(&first);
    let next = cache.input(&anthropic(true, &[("hello", false), ("again", false)]));
    assert_eq!((next.cache_read, next.cache_write), (usage.cache_write, 0));
}

#[test]
fn a_moving_mark_reads_what_the_one_before_wrote() {
    let mut cache = Cache::default();
    let long = "a result of some length ".repeat(50);
    let first = anthropic(true, &[(&long, true)]);
    let written = cache.input(&first).cache_write;
    cache.remember(&first);
    let next = anthropic(true, &[(&long, false), ("and more", true)]);
    let usage = cache.input(&next);
    assert_eq!(usage.cache_read, written);
    assert!(usage.cache_write > 0 && usage.cache_write < written / 10, "{usage:?}");
    let without = cache.input(&anthropic(false, &[(&long, false), ("and more", false)]));
    assert_eq!((without.cache_read, without.cache_write), (0, 0), "no mark, no cache");
}

#[test]
fn a_changed_byte_before_the_mark_reads_nothing_behind_it() {
    let mut cache = Cache::default();
    let long = "a result of some length ".repeat(50);
    cache.remember(&anthropic(true, &[(&long, true)]));
    let changed = long.replacen('a', "A", 1);
    let usage = cache.input(&anthropic(true, &[(&changed, false), ("more", true)]));
    let system_alone = cache.input(&anthropic(true, &[("other", false)])).cache_read;
    assert_eq!(usage.cache_read, system_alone, "the system's own mark still holds");
    assert!(system_alone > 0);
}

/// Anthropic looks back twenty pieces from a mark, and no further.
#[test]
fn a_mark_too_far_from_what_is_known_reads_nothing() {
    let texts: Vec<String> = (0..30).map(|n| format!("message {n}")).collect();
    let talk = |marked: usize, length: usize| {
        let said: Vec<(&str, bool)> = texts[..length]
            .iter()
            .enumerate()
            .map(|(place, text)| (text.as_str(), place == marked))
            .collect();
        anthropic(false, &said)
    };
    let mut cache = Cache::default();
    cache.remember(&talk(0, 1));
    assert!(cache.input(&talk(19, 20)).cache_read > 0);
    assert_eq!(cache.input(&talk(20, 21)).cache_read, 0);
}

#[test]
fn openai_knows_every_beginning_it_has_seen() {
    let said = |texts: &[&str]| {
        let message = |text: &&str| json!({"role": "user", "content": text});
        let messages: Vec<Value> = texts.iter().map(message).collect();
        captured(Wire::OpenAi, &json!({"model": "m", "messages": messages}))
    };
    let mut cache = Cache::default();
    let long = "a result of some length ".repeat(50);
    let first = said(&["hello", &long]);
    assert_eq!(cache.input(&first).cache_read, 0);
    cache.remember(&first);
    let grown = said(&["hello", &long, "more"]);
    let usage = cache.input(&grown);
    assert!(usage.cache_read > 250 && usage.cache_write == 0, "{usage:?}");
    assert_eq!(sum(usage), tokens(grown.raw.len()));
    let changed = cache.input(&said(&["hello", "other"])).cache_read;
    assert!(changed > 0 && changed < 20, "only the first message: {changed}");
    let other = captured(
        Wire::OpenAi,
        &json!({"model": "n", "messages": [{"role": "user", "content": "hello"}]}),
    );
    assert_eq!(cache.input(&other).cache_read, 0, "another model has another cache");
}
