//! What survives micro-compaction: the text of loaded skills, newest first, within a budget
//! (SKILL-13).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::entry::{Entry, Settled};

/// Characters that stay of all such results together (SKILL-13).
const BUDGET_CHARS: usize = 24_000;

/// The shortest beginning of a result that is worth keeping.
const WORTH_CHARS: usize = 1_000;

/// Results that stay, by entry and place in it.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    results: BTreeMap<(usize, usize), Keep>,
}

/// How much of a result stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// All of it.
    Whole,
    /// So many characters from its start, a note included.
    Head(usize),
}

impl Kept {
    /// What stays of the results in a stretch of the log. Of equal texts the newest
    /// stays alone.
    pub(crate) fn among(log: &[Entry], range: Range<usize>, stays: &dyn Fn(&str) -> bool) -> Self {
        let mut kept = Self::default();
        let mut texts = BTreeSet::new();
        let mut left = BUDGET_CHARS;
        let stretch = log.get(range.clone()).unwrap_or_default();
        for (entry, record) in range.zip(stretch).rev() {
            let Entry::Results { results } = record else { continue };
            for (position, result) in results.iter().enumerate().rev() {
                let Settled::Output { content } = &result.settled else { continue };
                if !stays(&result.name) || !texts.insert(content.as_str()) {
                    continue;
                }
                let chars = content.chars().count();
                let keep = if chars <= left { Keep::Whole } else { Keep::Head(left) };
                if keep == Keep::Whole || left >= WORTH_CHARS {
                    kept.results.insert((entry, position), keep);
                    left -= chars.min(left);
                }
            }
        }
        kept
    }

    /// What stays of one result.
    pub(crate) fn of(&self, entry: usize, position: usize) -> Option<Keep> {
        self.results.get(&(entry, position)).copied()
    }
}

/// The beginning of a text, in so many characters, saying that it is no more.
pub(crate) fn head(content: &str, chars: usize) -> String {
    const NOTE: &str = "\n[… the rest is left out to save space; load it again when you need it …]";
    let head: String = content.chars().take(chars.saturating_sub(NOTE.chars().count())).collect();
    format!("{head}{NOTE}")
}

#[cfg(test)]
mod tests;
