use serde_json::{Value, json};

use super::*;
use crate::model::captured::{Text, Wire};

struct Talk(Thread);

impl Talk {
    fn new() -> Self {
        Self(Thread::default())
    }

    fn says(&mut self, messages: &[Value]) -> Lineage {
        self.place(&json!({"model": "m", "messages": messages})).lineage
    }

    fn place(&mut self, body: &Value) -> Place {
        let text = Text::new(body.to_string());
        self.0.next(&Arc::new(Prompt::read(Wire::OpenAi, &text, None)))
    }
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn spoken(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

#[test]
fn a_conversation_that_grows_keeps_its_beginning() {
    let mut talk = Talk::new();
    let all = [user("a"), spoken("b"), user("c"), spoken("d"), user("e")];
    let heard: Vec<Lineage> = [1, 3, 3, 5].map(|length| talk.says(&all[..length])).to_vec();
    let expected = [Lineage::First, Lineage::Extended, Lineage::Repeated, Lineage::Extended];
    assert_eq!(heard, expected);
}

#[test]
fn repeats_are_counted_until_something_new_is_said() {
    let mut talk = Talk::new();
    let body = json!({"messages": [user("a")]});
    let retries: Vec<usize> = (0..3).map(|_| talk.place(&body).retry).collect();
    assert_eq!(retries, [0, 1, 2]);
    let next = talk.place(&json!({"messages": [user("a"), spoken("b"), user("c")]}));
    assert_eq!((next.nth, next.retry), (4, 0));
}

#[test]
fn a_changed_message_breaks_the_beginning_and_is_named() {
    let mut talk = Talk::new();
    talk.says(&[user("a"), spoken("b"), user("c")]);
    let changed = [user("a"), spoken("B"), user("c"), spoken("d"), user("e")];
    assert_eq!(talk.says(&changed), Lineage::Broken { at: 1 });
}

#[test]
fn shorter_results_are_stubs_and_longer_ones_are_not() {
    let before = [user("a"), result("1", "a long result"), user("c")];
    let then = |text: &str| [user("a"), result("1", text), user("c"), spoken("d"), user("e")];
    let mut talk = Talk::new();
    talk.says(&before);
    assert_eq!(talk.says(&then("stub")), Lineage::Stubbed);
    let mut talk = Talk::new();
    talk.says(&before);
    assert_eq!(talk.says(&then("a longer result, by far")), Lineage::Broken { at: 1 });
    let mut talk = Talk::new();
    talk.says(&before);
    let other = [user("a"), result("2", "stub"), user("c"), spoken("a reply"), user("e")];
    assert_eq!(talk.says(&other), Lineage::Broken { at: 1 }, "another call's result");
}

#[test]
fn a_shorter_conversation_was_folded() {
    let mut talk = Talk::new();
    talk.says(&[user("a"), spoken("b"), user("c"), spoken("d"), user("e")]);
    assert_eq!(talk.says(&[user("a"), user("the rest in short")]), Lineage::Folded);
    let grown = [user("a"), user("the rest in short"), spoken("f"), user("g")];
    assert_eq!(talk.says(&grown), Lineage::Extended);
}

/// A summary asks at the end of the conversation, and when nothing comes of it the run goes
/// on from before.
#[test]
fn a_request_may_go_on_from_before_a_branch() {
    let mut talk = Talk::new();
    let base = [user("a"), spoken("b"), user("c")];
    talk.says(&base);
    let mut asked = base.to_vec();
    asked.push(user("Sum it up."));
    assert_eq!(talk.says(&asked), Lineage::Extended);
    let mut on = base.to_vec();
    on.extend([spoken("d, at some length, longer than what was asked"), user("e")]);
    assert_eq!(talk.says(&on), Lineage::Extended);
    // What was said once and went into the conversation stays in it.
    let mut forgotten = base.to_vec();
    forgotten
        .extend([spoken("another turn that is longer than all that was forgotten"), user("f")]);
    assert_eq!(talk.says(&forgotten), Lineage::Broken { at: 3 });
}

#[test]
fn other_tools_change_the_head_and_not_the_beginning() {
    let mut talk = Talk::new();
    let body = |tool: &str| json!({"tools": [{"name": tool}], "messages": [user("a")]});
    talk.place(&body("one"));
    let next = talk.place(&body("two"));
    assert_eq!((next.lineage, next.head_changed), (Lineage::Repeated, true));
    assert!(!talk.place(&body("two")).head_changed);
}
