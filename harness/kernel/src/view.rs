//! What the model sees of the log.

use foundry_llm::{Message, ToolResult};

use crate::entry::{CallResult, Entry};
use crate::rules::{self, Violation};

/// The conversation as it is sent, made from the log and never stored.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The messages; every transcript rule holds.
    pub messages: Vec<Message>,
    /// What had to be repaired for that, on this copy alone.
    pub repaired: Vec<Violation>,
}

impl View {
    /// Whether a provider would take it as the beginning of a conversation (LOOP-14).
    pub fn starts_with_user(&self) -> bool {
        matches!(self.messages.first(), Some(Message::User { .. }))
    }
}

/// A message on its way into a view.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shown {
    pub(crate) message: Message,
    /// Whether the current run made it (KERN-40).
    pub(crate) own: bool,
}

/// The view of a log: the newest fold stands for what it covers, and the transcript
/// rules are enforced. `began` is the index of the current run's first entry.
pub fn view(log: &[Entry], began: usize) -> View {
    let mut shown = unfolded(log, began);
    let repaired = rules::enforce(&mut shown);
    View { messages: shown.into_iter().map(|shown| shown.message).collect(), repaired }
}

/// What the rules have against a view. Empty, unless a rule's repair is wrong.
pub(crate) fn violations(view: &View) -> Vec<Violation> {
    let shown: Vec<Shown> =
        view.messages.iter().map(|message| Shown { message: message.clone(), own: true }).collect();
    rules::check(&shown)
}

/// Says what was wrong with a stored history; the log itself stays as it is.
pub(crate) fn report_repairs(repaired: &[Violation]) {
    for Violation { rule, at, what } in repaired.iter().filter(|found| rules::is_fault(found)) {
        tracing::warn!(rule, at, what, "repaired a stored conversation for this run");
    }
}

fn unfolded(log: &[Entry], began: usize) -> Vec<Shown> {
    let newest_fold = log.iter().enumerate().rev().find_map(|(at, entry)| match entry {
        Entry::Fold { covers, digest } => Some((at, *covers, digest)),
        Entry::User { .. } | Entry::Assistant { .. } | Entry::Results { .. } => None,
    });
    let (start, mut shown) = match newest_fold {
        None => (0, Vec::new()),
        // A fold covers nothing that came after it.
        Some((at, covers, digest)) => {
            (covers.min(at), vec![Shown { message: user(digest), own: at >= began }])
        }
    };
    let rest = log.iter().enumerate().skip(start);
    shown.extend(
        rest.filter_map(|(at, entry)| Some(Shown { message: message(entry)?, own: at >= began })),
    );
    shown
}

fn message(entry: &Entry) -> Option<Message> {
    match entry {
        Entry::User { input } => Some(Message::User { content: input.content.clone() }),
        Entry::Assistant { reply } => Some(Message::Assistant {
            text: reply.text.clone(),
            reasoning: reply.reasoning.clone(),
            calls: reply.calls.clone(),
        }),
        Entry::Results { results } => {
            Some(Message::ToolResults { results: results.iter().map(tool_result).collect() })
        }
        Entry::Fold { .. } => None,
    }
}

fn tool_result(result: &CallResult) -> ToolResult {
    let CallResult { call_id, name, settled } = result;
    ToolResult {
        call_id: call_id.clone(),
        name: name.clone(),
        content: settled.text(),
        is_error: settled.is_error(),
    }
}

fn user(text: &str) -> Message {
    Message::User { content: vec![foundry_llm::Content::Text { text: text.to_owned() }] }
}

#[cfg(test)]
mod tests;
