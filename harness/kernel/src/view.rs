//! What the model sees of the log.

mod shown;

use std::collections::BTreeMap;

use foundry_llm::{Message, ToolCall};

use crate::entry::Entry;
use crate::policy::{kept, stub};
use crate::rules::{self, Violation};

pub(crate) use shown::{Answer, Said, Shown, as_u64, as_usize};

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

/// A log and what a look at it depends on.
#[derive(Clone, Copy)]
pub(crate) struct Conversation<'a> {
    /// Everything said so far.
    pub(crate) log: &'a [Entry],
    /// Index of the current run's first entry.
    pub(crate) began: usize,
    /// Bytes of system prompt and tools, which go out with each request.
    pub(crate) fixed_bytes: u64,
    /// Output cap in tokens, a thinking budget included.
    pub(crate) max_output_tokens: u32,
    /// Whether results of the tool of this name survive micro-compaction (SKILL-13).
    pub(crate) stays: &'a dyn Fn(&str) -> bool,
    /// Index of the first entry whose reasoning goes back: the run's first, or the first
    /// after a change of model.
    pub(crate) thinking_from: usize,
}

/// How far the log is told in fewer words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks<'a> {
    /// What the newest fold covers, and its digest.
    pub(crate) fold: Option<(usize, &'a str)>,
    /// Results of entries before this index are stubs.
    pub(crate) stubs: usize,
}

impl<'a> Marks<'a> {
    /// As the log says: the newest fold, and the stubs that reach farthest, for what was
    /// a stub once stays one. Neither covers what came after it.
    pub(crate) fn of(log: &'a [Entry]) -> Self {
        let mut marks = Self::default();
        for (at, entry) in log.iter().enumerate() {
            match entry {
                Entry::Fold { covers, digest } => marks.fold = Some(((*covers).min(at), digest)),
                Entry::Stubs { covers } => marks.stubs = marks.stubs.max((*covers).min(at)),
                Entry::User { .. } | Entry::Assistant { .. } | Entry::Results { .. } => {}
            }
        }
        marks
    }

    /// Index of the first entry that is shown itself.
    pub(crate) fn start(&self) -> usize {
        self.fold.map_or(0, |(covers, _)| covers)
    }
}

/// The view of a log: the newest fold stands for what it covers, older results are
/// stubs where the log says so, and the transcript rules are enforced. `began` is the
/// index of the current run's first entry.
pub fn view(log: &[Entry], began: usize) -> View {
    view_of(&Conversation {
        log,
        began,
        fixed_bytes: 0,
        max_output_tokens: 0,
        stays: &|_| false,
        thinking_from: began,
    })
}

/// The view of a conversation.
pub(crate) fn view_of(conversation: &Conversation<'_>) -> View {
    let (shown, repaired) = enforced(conversation, Marks::of(conversation.log));
    View { messages: shown.into_iter().map(Shown::into_message).collect(), repaired }
}

/// What would be shown under these marks, every rule enforced; nothing of the log is copied.
pub(crate) fn enforced<'a>(
    conversation: &Conversation<'a>,
    marks: Marks<'a>,
) -> (Vec<Shown<'a>>, Vec<Violation>) {
    let mut shown = unfolded(conversation, marks);
    let repaired = rules::enforce(&mut shown);
    (shown, repaired)
}

/// What the rules have against a view. Empty, unless a rule's repair is wrong.
pub(crate) fn violations(view: &View) -> Vec<Violation> {
    let messages = view.messages.iter().enumerate();
    let shown = |(entry, message)| Shown { said: Said::of(message), own: true, entry };
    rules::check(&messages.map(shown).collect::<Vec<_>>())
}

/// Says what was wrong with a stored history, once for each rule; the log itself stays
/// as it is.
pub(crate) fn report_repairs(repaired: &[Violation]) {
    let mut by_rule: BTreeMap<&str, (usize, &Violation)> = BTreeMap::new();
    for found in repaired.iter().filter(|found| rules::is_fault(found)) {
        by_rule.entry(found.rule).or_insert((0, found)).0 += 1;
    }
    for (count, Violation { rule, at, entry, what }) in by_rule.into_values() {
        tracing::warn!(rule, count, at, entry, what, "repaired a stored conversation for this run");
    }
}

fn unfolded<'a>(conversation: &Conversation<'a>, marks: Marks<'a>) -> Vec<Shown<'a>> {
    let &Conversation { log, began, stays, thinking_from, .. } = conversation;
    let own_from = began.max(thinking_from);
    let start = marks.start();
    let stubs_until = marks.stubs.min(log.len());
    let kept = kept::Kept::among(log, start..stubs_until, stays);
    let digest = marks.fold.map(|(_, digest)| Shown {
        said: Said::user(digest),
        own: false,
        entry: start.saturating_sub(1),
    });
    let mut shown: Vec<Shown<'a>> = digest.into_iter().collect();
    let mut calls: &[ToolCall] = &[];
    for (entry, record) in log.iter().enumerate().skip(start) {
        let Some(mut said) = Said::of_entry(record) else { continue };
        let own = entry >= own_from;
        match (&mut said, record) {
            (Said::Assistant { reasoning, .. }, Entry::Assistant { reply }) => {
                calls = &reply.calls;
                if !own {
                    *reasoning = &[];
                }
            }
            (Said::Results { results }, _) if entry < stubs_until => {
                stub::shorten(results, calls, |position| kept.of(entry, position));
            }
            (Said::User { .. } | Said::Assistant { .. } | Said::Results { .. }, _) => {}
        }
        shown.push(Shown { said, own, entry });
    }
    shown
}

#[cfg(test)]
mod tests;
