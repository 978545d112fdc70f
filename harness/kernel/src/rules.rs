//! What every conversation must keep, or a provider refuses it for ever. Each rule is
//! a file that says what breaks it, how that is mended (on the view and never in the
//! log), and where the conversation may be cut without breaking it.

mod answered;
mod ends_open;
mod never_empty;
mod no_orphan;
mod object_arguments;
mod one_group;
mod unique_ids;
mod whole_thinking;

use foundry_llm::ToolCall;

use crate::view::{Said, Shown};

/// A rule of the transcript.
struct Rule {
    name: &'static str,
    /// Where it is broken, as index and words.
    check: fn(&[Shown<'_>]) -> Vec<(usize, String)>,
    repair: Repair,
    cuts: Cuts,
}

/// Mends every break, and leaves a valid view as it is.
enum Repair {
    /// Within the messages.
    InPlace(fn(&mut [Shown<'_>])),
    /// By moving, adding or dropping messages.
    Rebuild(fn(&mut Vec<Shown<'_>>)),
    /// Not at all: only we ourselves could have broken it.
    None,
}

/// Where a conversation that keeps the rule may be cut: the messages before the cut give
/// way to one user message, and both what is left and what is taken away keep the rule.
enum Cuts {
    /// Everywhere.
    Anywhere,
    /// Not before the messages whose flag this clears.
    But(fn(&[Shown<'_>], &mut [bool])),
}

/// A break of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Name of the rule.
    pub rule: &'static str,
    /// Index of the message.
    pub at: usize,
    /// Index of the log entry that the message shows.
    pub entry: usize,
    /// What is wrong.
    pub what: String,
}

/// A place where all rules allow to cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// How many messages of the view lie before it.
    pub(crate) at: usize,
    /// How many entries of the log lie before it.
    pub(crate) covers: usize,
}

/// In the order in which they are enforced: a rule may rely on those before it, and
/// breaks none of them.
const RULES: [Rule; 8] = [
    whole_thinking::RULE,
    never_empty::RULE,
    one_group::RULE,
    no_orphan::RULE,
    answered::RULE,
    unique_ids::RULE,
    object_arguments::RULE,
    ends_open::RULE,
];

/// The rules that a run keeps by how it builds its log: in what a run said itself, a
/// break of one is our own bug. The others mend what a model may do.
const OURS: [&str; 4] =
    [one_group::RULE.name, no_orphan::RULE.name, answered::RULE.name, ends_open::RULE.name];

/// Everything that is wrong.
pub(crate) fn check(shown: &[Shown<'_>]) -> Vec<Violation> {
    RULES.iter().flat_map(|rule| rule.violations(shown)).collect()
}

/// Mends what is wrong and says what it was.
pub(crate) fn enforce(shown: &mut Vec<Shown<'_>>) -> Vec<Violation> {
    let mut repaired = Vec::new();
    for rule in &RULES {
        let violations = rule.violations(shown);
        if !violations.is_empty() {
            match rule.repair {
                Repair::InPlace(mend) => mend(shown),
                Repair::Rebuild(mend) => mend(shown),
                Repair::None => {}
            }
            repaired.extend(violations);
        }
    }
    repaired
}

/// Where a view that keeps every rule may be cut, from the oldest place to its very end.
/// `log` is the number of entries in the log that it shows.
pub(crate) fn legal_cuts(shown: &[Shown<'_>], log: usize) -> Vec<Cut> {
    let mut allowed = vec![true; shown.len()];
    for rule in &RULES {
        match rule.cuts {
            Cuts::Anywhere => {}
            Cuts::But(bar) => bar(shown, &mut allowed),
        }
    }
    let mut cuts = Vec::new();
    // A repair may have moved messages: a cut also parts the log in two.
    let mut first_behind = log;
    let mut newest_before = newest_before_each(shown);
    if let Some(newest) = newest_before.pop() {
        cuts.extend((newest < log).then_some(Cut { at: shown.len(), covers: log }));
    }
    for (at, message) in shown.iter().enumerate().skip(1).rev() {
        first_behind = first_behind.min(message.entry);
        let parts_the_log = newest_before.pop().is_some_and(|newest| newest < first_behind);
        if parts_the_log && allowed.get(at).copied().unwrap_or(false) {
            cuts.push(Cut { at, covers: first_behind });
        }
    }
    cuts.reverse();
    cuts
}

/// For each cut, from after the first message on: the newest entry before it.
fn newest_before_each(shown: &[Shown<'_>]) -> Vec<usize> {
    let newest = shown.iter().scan(0, |newest: &mut usize, message| {
        *newest = (*newest).max(message.entry);
        Some(*newest)
    });
    newest.collect()
}

/// Whether a repair tells of a fault. Leaving out the reasoning of earlier runs does
/// not: it is kept in the log on purpose.
pub(crate) fn is_fault(violation: &Violation) -> bool {
    violation.rule != whole_thinking::RULE.name
}

/// Whether only this crate can have caused it: in what a run said itself, whose first
/// entry is `began`, calls and results stand as the run put them.
pub(crate) fn is_our_own(violation: &Violation, began: usize) -> bool {
    violation.entry >= began && OURS.contains(&violation.rule)
}

impl Rule {
    fn violations(&self, shown: &[Shown<'_>]) -> Vec<Violation> {
        let found = (self.check)(shown).into_iter();
        let entry = |at: usize| shown.get(at).map_or(0, |message| message.entry);
        found.map(|(at, what)| Violation { rule: self.name, at, entry: entry(at), what }).collect()
    }
}

/// The calls of an assistant message; none for any other.
fn calls<'s>(shown: &'s Shown<'_>) -> &'s [ToolCall] {
    match &shown.said {
        Said::Assistant { calls, .. } => calls,
        Said::User { .. } | Said::Results { .. } => &[],
    }
}

/// Keeps calls and results together.
fn not_before_results(shown: &[Shown<'_>], allowed: &mut [bool]) {
    for (message, allowed) in shown.iter().zip(allowed) {
        *allowed &= !matches!(message.said, Said::Results { .. });
    }
}

#[cfg(test)]
mod tests;
