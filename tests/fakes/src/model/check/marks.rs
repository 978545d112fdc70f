//! Where a cache mark may stand, and how many there may be (Anthropic).

use serde_json::{Value, json};

use super::Found;

/// More than this many marks are refused.
const MOST: usize = 4;

pub(super) fn check(body: &Value, found: &mut Found) {
    let mut marks = 0;
    for tool in body["tools"].as_array().into_iter().flatten() {
        marks += mark(tool, "a tool", found);
    }
    marks += blocks(&body["system"], "system", found);
    for (place, message) in body["messages"].as_array().into_iter().flatten().enumerate() {
        marks += blocks(&message["content"], &format!("message {place}"), found);
    }
    found.unless(marks <= MOST, "cache_marks", format!("there are {marks} cache marks"));
}

fn blocks(content: &Value, place: &str, found: &mut Found) -> usize {
    let blocks = content.as_array().into_iter().flatten();
    let mut marks = 0;
    for block in blocks {
        marks += mark(block, place, found);
        let kind = block["type"].as_str().unwrap_or_default();
        let thinks = matches!(kind, "thinking" | "redacted_thinking");
        let marked = block.get("cache_control").is_some();
        found.unless(!(thinks && marked), "cache_marks", format!("{kind} in {place} is marked"));
        marks += blocks_within(block, place, found);
    }
    marks
}

/// The blocks of a result may be marked, too.
fn blocks_within(block: &Value, place: &str, found: &mut Found) -> usize {
    if block["type"] == json!("tool_result") { blocks(&block["content"], place, found) } else { 0 }
}

/// One, if this is marked; the mark must be one that is known.
fn mark(marked: &Value, place: &str, found: &mut Found) -> usize {
    let Some(mark) = marked.get("cache_control") else { return 0 };
    let ephemeral = mark["type"] == json!("ephemeral");
    let lives = mark.get("ttl").is_none_or(|ttl| *ttl == json!("5m") || *ttl == json!("1h"));
    found.unless(ephemeral && lives, "cache_marks", format!("{place} has the mark {mark}"));
    found.only(mark, &["type", "ttl"], "a cache mark");
    1
}
