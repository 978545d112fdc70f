//! The last stage of compaction, which asks nobody: the goal word for word, a digest made
//! by rule, and the newest messages that may stay.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::fit::{Bounds, Look};
use super::stub::{Target, clip};
use super::summary::{Weight, goal, told, within};
use super::truncate;
use crate::entry::Entry;
use crate::view::{Conversation, Marks, as_u64, as_usize};

const OPENING: &str = "The conversation before this point was folded to save space, by a fixed \
    rule that understands nothing of it. Check what you rely on.";

/// Files that a digest names, and bytes of each path.
const FILES: usize = 40;
const PATH_BYTES: usize = 200;

/// Tools that it counts, the most used first.
const TOOLS: usize = 40;

/// Folds what is older than the newest quarter of the room. `None` where that leaves no
/// less than there was, or the goal alone is more than half of the room: what a person
/// asked is never cut.
pub(crate) fn fold(
    conversation: &Conversation<'_>,
    look: &Look<'_>,
    bounds: Bounds,
) -> Option<Entry> {
    let cut = look.cut_leaving(bounds.room / 4)?;
    let goal = goal(conversation, cut.covers);
    if as_u64(goal.len()) > bounds.room / 2 {
        return None;
    }
    let covered = conversation.log.get(..cut.covers).unwrap_or_default();
    let eighth = as_usize(bounds.room / 8);
    let mut digest = format!("{OPENING}\n\n{goal}");
    if let Some(earlier) = newest_written(covered) {
        push(&mut digest, "What was noted before", &within(earlier, eighth));
    }
    push(&mut digest, "What was called", truncate::prefix(&counts(covered), eighth / 2));
    push(
        &mut digest,
        "Files it named, the newest first",
        truncate::prefix(&files(covered), eighth / 2),
    );
    let folded = look.shown.get(..cut.at).unwrap_or_default();
    // Where nothing stays, the model has not read the newest results yet.
    let told_bytes = if cut.at == look.shown.len() { eighth.saturating_mul(2) } else { eighth };
    push(&mut digest, "The last of what was folded", &told(folded, told_bytes, Weight::Newest));
    let marks = Marks { fold: Some((cut.covers, &digest)), ..Marks::of(conversation.log) };
    let after = Look::at(conversation, marks).bytes();
    (after < look.bytes()).then_some(Entry::Fold { covers: cut.covers, digest })
}

/// The newest digest that a model wrote. One made by rule is not repeated: all that it
/// told is told again from the log.
fn newest_written(covered: &[Entry]) -> Option<&str> {
    covered.iter().rev().find_map(|entry| match entry {
        Entry::Fold { digest, covers: _ } => {
            (!digest.starts_with(OPENING)).then_some(digest.as_str())
        }
        Entry::User { .. }
        | Entry::Assistant { .. }
        | Entry::Results { .. }
        | Entry::Stubs { .. } => None,
    })
}

fn push(digest: &mut String, title: &str, text: &str) {
    let text = text.trim();
    if !text.is_empty() {
        // Writing to a string cannot fail.
        let _written = write!(digest, "## {title}\n\n{text}\n\n");
    }
}

/// How often each tool was called, and how often that failed.
fn counts(covered: &[Entry]) -> String {
    let mut by_tool: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for entry in covered {
        let Entry::Results { results } = entry else { continue };
        for result in results {
            let (called, failed) = by_tool.entry(&result.name).or_default();
            *called = called.saturating_add(1);
            *failed = failed.saturating_add(u32::from(result.settled.is_error()));
        }
    }
    let mut counted: Vec<_> = by_tool.into_iter().collect();
    counted.sort_by_key(|(_, (called, _))| std::cmp::Reverse(*called));
    let line = |(tool, (called, failed)): &(&str, (u32, u32))| {
        format!("- {}: {called} times, {failed} without success", clip(tool, PATH_BYTES))
    };
    counted.iter().take(TOOLS).map(line).collect::<Vec<_>>().join("\n")
}

fn files(covered: &[Entry]) -> String {
    let mut seen = BTreeSet::new();
    let calls = covered.iter().rev().filter_map(|entry| match entry {
        Entry::Assistant { reply } => Some(reply.calls.iter().rev()),
        Entry::User { .. } | Entry::Results { .. } | Entry::Fold { .. } | Entry::Stubs { .. } => {
            None
        }
    });
    let named = calls.flatten().filter_map(|call| Target::of(&call.arguments).file);
    let new = named.filter(|file| seen.insert(file.clone()));
    let lines = new.take(FILES).map(|file| format!("- {}", clip(&file, PATH_BYTES)));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
