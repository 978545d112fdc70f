//! Reasoning goes out byte for byte, and only in the run that made it (KERN-40): a
//! signature of another run, or another model, is refused.

use foundry_llm::Message;

use super::{Repair, Rule};
use crate::view::Shown;

pub(super) const RULE: Rule =
    Rule { name: "whole_thinking", check, repair: Repair::InPlace(repair) };

fn check(shown: &[Shown]) -> Vec<(usize, String)> {
    let foreign = shown.iter().enumerate().filter(|(_, shown)| is_foreign(shown));
    foreign.map(|(at, _)| (at, "reasoning of an earlier run".to_owned())).collect()
}

fn repair(shown: &mut [Shown]) {
    for shown in shown.iter_mut().filter(|shown| is_foreign(shown)) {
        if let Message::Assistant { reasoning, .. } = &mut shown.message {
            reasoning.clear();
        }
    }
}

fn is_foreign(shown: &Shown) -> bool {
    let Message::Assistant { reasoning, .. } = &shown.message else { return false };
    !shown.own && !reasoning.is_empty()
}
