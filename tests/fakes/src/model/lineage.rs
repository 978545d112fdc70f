//! How a request follows from those before it in its conversation. A provider's cache
//! holds what two requests begin with, so each shall begin with the messages of the one
//! before, unless the conversation was made shorter on purpose.

use std::collections::VecDeque;
use std::sync::Arc;

use super::prompt::{Prompt, Unit};

/// How many requests back one may go on from: a summary is asked for beside the conversation,
/// and when nothing comes of it the next request is as if it had not been asked.
const BRANCHES: usize = 3;

/// How the messages of a request follow from those before. Marks of a cache count nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lineage {
    /// The first of its conversation.
    First,
    /// The very messages of the one before: a retry.
    Repeated,
    /// It begins with an earlier request's messages, byte for byte.
    Extended,
    /// As extended, but results among them became shorter.
    Stubbed,
    /// It is shorter than the one before: part of the conversation was folded away.
    Folded,
    /// It begins otherwise, and neither stubs nor a fold explain it.
    Broken {
        /// The first message that differs, from 0.
        at: usize,
    },
}

impl Lineage {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Repeated => "repeated",
            Self::Extended => "extended",
            Self::Stubbed => "stubbed",
            Self::Folded => "folded",
            Self::Broken { .. } => "broken",
        }
    }
}

/// What is known of a conversation.
#[derive(Debug, Default)]
pub(super) struct Thread {
    /// How many requests it has had.
    pub requests: usize,
    /// How often the last one was repeated.
    pub retries: usize,
    /// The newest first.
    recent: VecDeque<Arc<Prompt>>,
}

/// Where a request stands in its conversation.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub nth: usize,
    pub retry: usize,
    pub lineage: Lineage,
    pub head_changed: bool,
}

impl Thread {
    /// Takes in the next request.
    pub fn next(&mut self, prompt: &Arc<Prompt>) -> Place {
        let lineage = self.lineage(prompt);
        let last = self.recent.front();
        let head_changed = last.is_some_and(|last| !prints(&last.head).eq(prints(&prompt.head)));
        self.requests += 1;
        self.retries = if lineage == Lineage::Repeated { self.retries + 1 } else { 0 };
        if lineage == Lineage::Repeated {
            self.recent.pop_front(); // however often it comes, what was before stays known
        }
        self.recent.push_front(Arc::clone(prompt));
        self.recent.truncate(BRANCHES);
        Place { nth: self.requests, retry: self.retries, lineage, head_changed }
    }

    fn lineage(&self, prompt: &Prompt) -> Lineage {
        let new = units(prompt);
        let mut recent = self.recent.iter().map(|prompt| units(prompt));
        let Some(last) = recent.next() else { return Lineage::First };
        let shared = shared(&last, &new);
        if shared == last.len() && shared == new.len() {
            return Lineage::Repeated;
        }
        let trunk = recent.find(|old| is_trunk(old, &last));
        let goes_on = |old: &Units<'_>| self::shared(old, &new) == old.len();
        let before = || std::iter::once(&last).chain(&trunk);
        if before().any(goes_on) {
            Lineage::Extended
        } else if before().any(|old| stubbed(old, &new)) {
            Lineage::Stubbed
        } else if new.len() < last.len() || size(&new) < size(&last) {
            Lineage::Folded
        } else {
            let at = new.get(shared).or(new.last()).map_or(0, |(place, _)| *place);
            Lineage::Broken { at }
        }
    }
}

/// All pieces of a request's messages, each with its message's place.
type Units<'a> = Vec<(usize, &'a Unit)>;

fn units(prompt: &Prompt) -> Units<'_> {
    prompt.units().collect()
}

/// With how many pieces both begin.
fn shared(one: &[(usize, &Unit)], other: &[(usize, &Unit)]) -> usize {
    one.iter().zip(other).take_while(|((_, one), (_, other))| one.print == other.print).count()
}

/// Whether `last` only asked one thing more than this earlier request, which a later one may
/// leave out again.
fn is_trunk(old: &[(usize, &Unit)], last: &[(usize, &Unit)]) -> bool {
    let asked = last.last().is_some_and(|(_, unit)| unit.result_of.is_none());
    asked && old.len() + 1 == last.len() && shared(old, last) == old.len()
}

/// Whether all that differs are results that became shorter.
fn stubbed(old: &[(usize, &Unit)], new: &[(usize, &Unit)]) -> bool {
    let pairs = old.iter().zip(new).map(|((_, old), (_, new))| (old, new));
    let alike = |(old, new): (&&Unit, &&Unit)| {
        let shorter = new.bytes < old.bytes;
        old.print == new.print
            || (shorter && new.result_of.is_some() && new.result_of == old.result_of)
    };
    new.len() >= old.len() && pairs.into_iter().all(alike)
}

fn size(units: &[(usize, &Unit)]) -> usize {
    units.iter().map(|(_, unit)| unit.bytes).sum()
}

fn prints(units: &[Unit]) -> impl Iterator<Item = u64> {
    units.iter().map(|unit| unit.print)
}

#[cfg(test)]
mod tests;
