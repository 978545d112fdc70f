//! Nothing stands between calls and their results, and the results are one group.

use foundry_llm::{Message, ToolResult};

use super::{Repair, Rule, calls};
use crate::view::Shown;

pub(super) const RULE: Rule = Rule { name: "one_group", check, repair: Repair::Rebuild(repair) };

fn check(shown: &[Shown]) -> Vec<(usize, String)> {
    let mut broken = Vec::new();
    let mut caller: Option<usize> = None;
    for (at, message) in shown.iter().enumerate() {
        match &message.message {
            Message::Assistant { .. } => caller = (!calls(message).is_empty()).then_some(at),
            Message::ToolResults { .. } if caller.is_some_and(|caller| at > caller + 1) => {
                broken.push((at, "results apart from their calls".to_owned()));
            }
            Message::ToolResults { .. } | Message::User { .. } => {}
        }
    }
    broken
}

/// Moves what stands in between behind the results, in its order.
fn repair(shown: &mut Vec<Shown>) {
    let mut mended: Vec<Shown> = Vec::with_capacity(shown.len());
    let mut caller: Option<usize> = None;
    for message in shown.drain(..) {
        match (&message.message, caller) {
            (Message::Assistant { .. }, _) => {
                caller = (!calls(&message).is_empty()).then_some(mended.len());
                mended.push(message);
            }
            (Message::ToolResults { results }, Some(caller)) => {
                if let Some(group) = group_of(&mut mended, caller) {
                    group.extend(results.iter().cloned());
                } else {
                    mended.insert(caller + 1, message);
                }
            }
            (Message::ToolResults { .. }, None) | (Message::User { .. }, _) => mended.push(message),
        }
    }
    *shown = mended;
}

fn group_of(mended: &mut [Shown], caller: usize) -> Option<&mut Vec<ToolResult>> {
    match &mut mended.get_mut(caller + 1)?.message {
        Message::ToolResults { results } => Some(results),
        Message::User { .. } | Message::Assistant { .. } => None,
    }
}
