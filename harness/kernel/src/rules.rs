//! What every conversation must keep, or a provider refuses it for ever. Each rule is
//! a file that says what breaks it and how that is mended, on the view and never in
//! the log.

mod answered;
mod ends_open;
mod never_empty;
mod no_orphan;
mod object_arguments;
mod one_group;
mod unique_ids;
mod whole_thinking;

use foundry_llm::{Message, ToolCall};

use crate::view::Shown;

/// A rule of the transcript.
struct Rule {
    name: &'static str,
    /// Where it is broken, as index and words.
    check: fn(&[Shown]) -> Vec<(usize, String)>,
    repair: Repair,
}

/// Mends every break, and leaves a valid view as it is.
enum Repair {
    /// Within the messages.
    InPlace(fn(&mut [Shown])),
    /// By moving, adding or dropping messages.
    Rebuild(fn(&mut Vec<Shown>)),
    /// Not at all: only we ourselves could have broken it.
    None,
}

/// A break of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Name of the rule.
    pub rule: &'static str,
    /// Index of the message.
    pub at: usize,
    /// What is wrong.
    pub what: String,
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

/// Everything that is wrong.
pub(crate) fn check(shown: &[Shown]) -> Vec<Violation> {
    RULES.iter().flat_map(|rule| rule.violations(shown)).collect()
}

/// Mends what is wrong and says what it was.
pub(crate) fn enforce(shown: &mut Vec<Shown>) -> Vec<Violation> {
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

/// Whether a repair tells of a fault. Leaving out the reasoning of earlier runs does
/// not: it is kept in the log on purpose.
pub(crate) fn is_fault(violation: &Violation) -> bool {
    violation.rule != whole_thinking::RULE.name
}

impl Rule {
    fn violations(&self, shown: &[Shown]) -> Vec<Violation> {
        let found = (self.check)(shown).into_iter();
        found.map(|(at, what)| Violation { rule: self.name, at, what }).collect()
    }
}

/// The calls of an assistant message; none for any other.
fn calls(shown: &Shown) -> &[ToolCall] {
    match &shown.message {
        Message::Assistant { calls, .. } => calls,
        Message::User { .. } | Message::ToolResults { .. } => &[],
    }
}

#[cfg(test)]
mod tests;
