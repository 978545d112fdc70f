use foundry_llm::{Content, Reasoning};
use pretty_assertions::assert_eq;

use super::*;
use crate::entry::{Settled, UserInput};
use crate::scenes::{calls, says};

fn said(text: &str) -> Entry {
    Entry::User { input: UserInput::from(text) }
}

fn answered(id: &str) -> Entry {
    let settled = Settled::output("done");
    Entry::Results {
        results: vec![CallResult { call_id: id.into(), name: "echo".into(), settled }],
    }
}

fn texts(view: &View) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::User { content } => {
            let parts = content.iter().map(|Content::Text { text }| text.clone());
            format!("user: {}", parts.collect::<String>())
        }
        Message::Assistant { text, .. } => format!("assistant: {}", text.as_deref().unwrap_or("-")),
        Message::ToolResults { results } => format!("results: {}", results.len()),
    };
    view.messages.iter().map(text).collect()
}

fn conversation() -> Vec<Entry> {
    vec![
        said("one"),
        Entry::Assistant { reply: calls([("a", "echo", "{}")]) },
        answered("a"),
        Entry::Assistant { reply: says("first answer") },
        said("two"),
    ]
}

#[test]
fn a_log_without_a_fold_is_shown_whole() {
    let seen = view(&conversation(), 4);
    assert_eq!(
        texts(&seen),
        ["user: one", "assistant: -", "results: 1", "assistant: first answer", "user: two"]
    );
    assert_eq!(seen.repaired, []);
}

#[test]
fn the_newest_fold_stands_for_what_it_covers_and_later_entries_stay() {
    let mut log = conversation();
    log.push(Entry::Fold { covers: 1, digest: "an old digest".into() });
    log.push(Entry::Fold { covers: 4, digest: "one was asked and answered".into() });
    log.push(Entry::Assistant { reply: says("second answer") });
    assert_eq!(
        texts(&view(&log, 4)),
        ["user: one was asked and answered", "user: two", "assistant: second answer"]
    );
}

#[test]
fn a_fold_that_claims_more_than_there_was_covers_what_there_was() {
    let mut log = conversation();
    log.push(Entry::Fold { covers: 99, digest: "all of it".into() });
    log.push(said("three"));
    assert_eq!(texts(&view(&log, 0)), ["user: all of it", "user: three"]);
}

/// KERN-40
#[test]
fn reasoning_goes_back_unchanged_in_its_own_run_and_in_no_other() {
    let thought = Reasoning::Thinking { text: "hm".into(), signature: "s1gn3d==".into() };
    let mut log = conversation();
    for entry in &mut log {
        if let Entry::Assistant { reply } = entry {
            reply.reasoning = vec![thought.clone()];
        }
    }
    let reasoning = |began| {
        let seen = view(&log, began).messages;
        let of = |message: &Message| match message {
            Message::Assistant { reasoning, .. } => Some(reasoning.clone()),
            Message::User { .. } | Message::ToolResults { .. } => None,
        };
        seen.iter().filter_map(of).collect::<Vec<_>>()
    };
    assert_eq!(reasoning(0), [vec![thought.clone()], vec![thought.clone()]]);
    assert_eq!(reasoning(3), [vec![], vec![thought]]);
    assert_eq!(reasoning(4), [vec![], vec![]]);
}

/// KERN-09
#[test]
fn an_assistant_message_that_only_calls_has_no_text() {
    let mut reply = calls([("a", "echo", "{}")]);
    reply.text = Some(String::new());
    let seen = view(&[said("one"), Entry::Assistant { reply }, answered("a")], 0);
    assert!(matches!(&seen.messages[1], Message::Assistant { text: None, .. }));
}
