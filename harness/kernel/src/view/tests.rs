use std::fmt::Write as _;

use foundry_llm::{Content, Reasoning};
use pretty_assertions::assert_eq;

use super::*;
use crate::entry::{CallResult, Settled, UserInput};
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

/// A fallback brings a model that knows nothing of the one before.
#[test]
fn reasoning_of_the_model_before_a_change_stays_out() {
    let thought = Reasoning::Thinking { text: "hm".into(), signature: "s1gn3d==".into() };
    let thinking = |text: &str| {
        let reply = foundry_llm::Reply { reasoning: vec![thought.clone()], ..says(text) };
        Entry::Assistant { reply }
    };
    let log = [said("go"), thinking("one"), said("on"), thinking("two"), said("and")];
    let seen = view_of(&Conversation {
        log: &log,
        began: 0,
        fixed_bytes: 0,
        max_output_tokens: 0,
        stays: &|_| false,
        thinking_from: 3,
    });
    let reasoning = |at: usize| match &seen.messages[at] {
        Message::Assistant { reasoning, .. } => reasoning.clone(),
        Message::User { .. } | Message::ToolResults { .. } => panic!("not an assistant"),
    };
    assert_eq!(reasoning(1), []);
    assert_eq!(reasoning(3), std::slice::from_ref(&thought));
    assert_eq!(seen.repaired, []);
}

#[test]
fn a_fold_of_a_fold_and_stubs_behind_it_are_applied_together() {
    let mut log = conversation();
    log.push(Entry::Fold { covers: 3, digest: "one".into() });
    log.push(Entry::Stubs { covers: 4 });
    log.push(Entry::Fold { covers: 6, digest: "one and two".into() });
    log.push(said("three"));
    assert_eq!(texts(&view(&log, 0)), ["user: one and two", "user: three"]);
}

/// Hears what is logged, one line an event.
#[derive(Clone, Default)]
struct Heard(std::sync::Arc<std::sync::Mutex<Vec<String>>>);

impl tracing::Subscriber for Heard {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = event.metadata().level().to_string();
        event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            write!(line, " {field}={value:?}").unwrap();
        });
        self.0.lock().unwrap().push(line);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn what_was_mended_in_a_stored_history_is_logged_once_a_rule_and_counted() {
    let mut log = vec![said("one")];
    for _ in 0..3 {
        log.extend([Entry::Assistant { reply: calls([("a", "echo", "{}")]) }, said("on")]);
    }
    let seen = view(&log, log.len());
    let heard = Heard::default();
    tracing::subscriber::with_default(heard.clone(), || report_repairs(&seen.repaired));
    let lines = heard.0.lock().unwrap().clone();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let begins =
        r#"WARN message=repaired a stored conversation for this run rule="answered" count=3"#;
    assert!(lines[0].starts_with(begins), "{lines:?}");
    assert!(lines[1].contains(r#"rule="unique_ids" count=2"#), "{lines:?}");
}
