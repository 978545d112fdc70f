//! Reasoning goes out byte for byte, and only in the run that made it (KERN-40): a
//! signature of another run, or another model, is refused. A tool loop that signed
//! reasoning began is folded whole or not at all; its results may be stubs.

use foundry_llm::Reasoning;

use super::{Cuts, Repair, Rule, calls};
use crate::view::{Said, Shown};

pub(super) const RULE: Rule = Rule {
    name: "whole_thinking",
    check,
    repair: Repair::InPlace(repair),
    cuts: Cuts::But(not_inside_a_loop),
};

fn check(shown: &[Shown<'_>]) -> Vec<(usize, String)> {
    let foreign = shown.iter().enumerate().filter(|(_, shown)| is_foreign(shown));
    foreign.map(|(at, _)| (at, "reasoning of an earlier run".to_owned())).collect()
}

fn repair(shown: &mut [Shown<'_>]) {
    for shown in shown.iter_mut().filter(|shown| is_foreign(shown)) {
        if let Said::Assistant { reasoning, .. } = &mut shown.said {
            *reasoning = &[];
        }
    }
}

fn is_foreign(shown: &Shown<'_>) -> bool {
    let Said::Assistant { reasoning, .. } = &shown.said else { return false };
    !shown.own && !reasoning.is_empty()
}

/// A loop goes from a reply to the next thing that a person says. From its first signed
/// block on it hangs together, whether or not each later reply thinks anew.
fn not_inside_a_loop(shown: &[Shown<'_>], allowed: &mut [bool]) {
    let mut inside = false;
    for (message, allowed) in shown.iter().zip(allowed) {
        match &message.said {
            Said::User { .. } => inside = false,
            Said::Assistant { reasoning, .. } => {
                *allowed &= !inside;
                let thinks = reasoning.iter().any(is_signed);
                inside = (inside || thinks) && !calls(message).is_empty();
            }
            Said::Results { .. } => *allowed &= !inside,
        }
    }
}

fn is_signed(reasoning: &Reasoning) -> bool {
    match reasoning {
        Reasoning::Thinking { .. } | Reasoning::Redacted { .. } => true,
        Reasoning::Text { text: _ } => false,
    }
}
