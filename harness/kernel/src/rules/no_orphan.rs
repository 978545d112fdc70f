//! Each result has its call in the assistant message just before; others are dropped
//! (KERN-23).

use foundry_llm::{Message, ToolCall};

use super::{Repair, Rule, calls};
use crate::view::Shown;

pub(super) const RULE: Rule = Rule { name: "no_orphan", check, repair: Repair::Rebuild(repair) };

fn check(shown: &[Shown]) -> Vec<(usize, String)> {
    let mut broken = Vec::new();
    let mut before: &[ToolCall] = &[];
    for (at, message) in shown.iter().enumerate() {
        if let Message::ToolResults { results } = &message.message {
            let orphans = results.iter().filter(|result| !is_called(before, &result.call_id));
            broken.extend(orphans.map(|orphan| (at, format!("no call {:?}", orphan.call_id))));
        }
        before = calls(message);
    }
    broken
}

fn repair(shown: &mut Vec<Shown>) {
    let mut mended: Vec<Shown> = Vec::with_capacity(shown.len());
    for mut message in shown.drain(..) {
        if let Message::ToolResults { results } = &mut message.message {
            let before = mended.last().map(calls).unwrap_or_default();
            results.retain(|result| is_called(before, &result.call_id));
            if results.is_empty() {
                continue;
            }
        }
        mended.push(message);
    }
    *shown = mended;
}

fn is_called(calls: &[ToolCall], id: &str) -> bool {
    calls.iter().any(|call| call.id == id)
}
