//! Session memory: what a conversation of many turns is replayed from (KERN-32, KERN-33).
//!
//! A conversation is stored whole. After a successful turn [`Folding::due`] says whether
//! the next one should replay a digest in place of the oldest records, and what a
//! summariser has to be asked for it; [`Folding::accept`] judges the answer. Nothing here
//! asks a model, reads a store or writes to one.

use serde::{Deserialize, Serialize};

use super::summary::{Weight, is_complete, told};
use crate::entry::Entry;
use crate::rules;
use crate::view::{self, Conversation, Marks, Said, Shown};

/// A record of the conversation and its place in it. Places rise.
pub type Record = (u64, Entry);

/// A replay of more characters than this is worth folding (KERN-32).
const LONG_REPLAY_CHARS: usize = 100_000;

/// The newest records, which are never folded (KERN-32).
const NEWEST_RECORDS: usize = 20;

/// Bytes of the records that a summariser is asked about: what a window of 128,000 tokens
/// holds beside its own prompt.
const TOLD_BYTES: usize = 200_000;

const REPLAYED_AS: &str = "What this conversation came to so far:";

/// The digest of a conversation's oldest records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// What the model reads in their place.
    pub memory: String,
    /// Place of the last record it stands for.
    pub memory_through_seq: u64,
}

/// Records that are to be folded, and the question to a summariser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folding {
    /// What to ask, in one user message and without tools.
    pub request: String,
    through_seq: u64,
    replaced_chars: usize,
}

/// The history of the next turn: the digest, then the records that it does not cover
/// (KERN-33). Without a digest, all of them.
///
/// Folds and stubs that a run made count entries of that run's own log. They stay where
/// the replay is that log once more, and are left out where a digest shifts it: the
/// records that they were about are then replayed whole.
pub fn replay(memory: Option<&Memory>, records: &[Record]) -> Vec<Entry> {
    let Some(memory) = memory else {
        return records.iter().map(|(_, entry)| entry.clone()).collect();
    };
    let digest = format!("{REPLAYED_AS}\n\n{}", memory.memory);
    let tail = uncovered(Some(memory), records).filter(|(_, entry)| is_said(entry));
    std::iter::once(Entry::Fold { covers: 0, digest })
        .chain(tail.map(|(_, entry)| entry.clone()))
        .collect()
}

impl Folding {
    /// What is to be folded after a successful turn: the records older than the latest 20,
    /// up to a place where a person speaks and no rule is broken. `None` while the replay
    /// is short, or where there is no such place.
    pub fn due(memory: Option<&Memory>, records: &[Record]) -> Option<Self> {
        let log = replay(memory, records);
        let seen = conversation(&log);
        let (replayed, _) = view::enforced(&seen, Marks::of(&log));
        if replayed.iter().map(chars).sum::<usize>() <= LONG_REPLAY_CHARS {
            return None;
        }
        let tail: Vec<&Record> =
            uncovered(memory, records).filter(|(_, entry)| is_said(entry)).collect();
        let said: Vec<Entry> = tail.iter().map(|(_, entry)| entry.clone()).collect();
        let seen = conversation(&said);
        let (shown, _) = view::enforced(&seen, Marks::default());
        let last = records.len().checked_sub(NEWEST_RECORDS)?;
        let newest_kept = records.get(last).map(|(seq, _)| *seq)?;
        let cut = rules::legal_cuts(&shown, said.len()).into_iter().rev().find(|cut| {
            let begins = shown.get(cut.at).map(|message| &message.said);
            let seq = tail.get(cut.covers).map(|(seq, _)| *seq);
            matches!(begins, Some(Said::User { .. })) && seq.is_some_and(|seq| seq <= newest_kept)
        })?;
        let through_seq = tail.get(cut.covers.checked_sub(1)?).map(|(seq, _)| *seq)?;
        let folded = shown.get(..cut.at)?;
        let earlier = memory.map_or("", |memory| memory.memory.as_str());
        Some(Self {
            request: request(earlier, &told(folded, TOLD_BYTES, Weight::Even)),
            through_seq,
            replaced_chars: earlier.chars().count() + folded.iter().map(chars).sum::<usize>(),
        })
    }

    /// The new digest. `None` when the summariser declines (it says nothing, leaves out a
    /// part of the form, or says more than it replaces): then the replay stays as it was.
    pub fn accept(self, answer: Option<&str>) -> Option<Memory> {
        let memory = answer?.trim();
        let is_shorter = memory.chars().count() < self.replaced_chars;
        (is_complete(memory) && is_shorter)
            .then(|| Memory { memory: memory.to_owned(), memory_through_seq: self.through_seq })
    }
}

fn request(earlier: &str, told: &str) -> String {
    let instruction = super::summary::memory_instruction();
    if earlier.is_empty() {
        format!("{instruction}\n\n<records>\n{told}\n</records>")
    } else {
        format!(
            "{instruction}\n\nWhat was noted of the time before the records; carry on what \
             still holds:\n\n<noted>\n{earlier}\n</noted>\n\n<records>\n{told}\n</records>"
        )
    }
}

fn uncovered<'r>(
    memory: Option<&Memory>,
    records: &'r [Record],
) -> impl Iterator<Item = &'r Record> {
    let through = memory.map(|memory| memory.memory_through_seq);
    records.iter().filter(move |(seq, _)| through.is_none_or(|through| *seq > through))
}

fn is_said(entry: &Entry) -> bool {
    match entry {
        Entry::User { .. } | Entry::Assistant { .. } | Entry::Results { .. } => true,
        Entry::Fold { .. } | Entry::Stubs { .. } => false,
    }
}

/// Stored records: nothing in them belongs to a run that goes on.
fn conversation(log: &[Entry]) -> Conversation<'_> {
    Conversation {
        log,
        began: log.len(),
        fixed_bytes: 0,
        max_output_tokens: 0,
        stays: &|_| false,
        thinking_from: log.len(),
    }
}

fn chars(shown: &Shown<'_>) -> usize {
    match &shown.said {
        Said::User { content } => {
            content.iter().map(|foundry_llm::Content::Text { text }| text.chars().count()).sum()
        }
        Said::Assistant { text, reasoning: _, calls } => {
            let calls = calls.iter().map(|call| call.arguments.chars().count());
            text.map_or(0, |text| text.chars().count()) + calls.sum::<usize>()
        }
        Said::Results { results } => {
            results.iter().map(|result| result.content.chars().count()).sum()
        }
    }
}

#[cfg(test)]
mod tests;
