//! Each result has its call in the assistant message just before; others are dropped
//! (KERN-23).

use std::collections::BTreeSet;

use foundry_llm::ToolCall;

use super::{Cuts, Repair, Rule, calls};
use crate::view::{Said, Shown};

pub(super) const RULE: Rule = Rule {
    name: "no_orphan",
    check,
    repair: Repair::Rebuild(repair),
    cuts: Cuts::But(super::not_before_results),
};

fn check(shown: &[Shown<'_>]) -> Vec<(usize, String)> {
    let mut broken = Vec::new();
    let mut before: &[ToolCall] = &[];
    for (at, message) in shown.iter().enumerate() {
        if let Said::Results { results } = &message.said {
            let called = ids(before);
            let orphans = results.iter().filter(|result| !called.contains(result.call_id.as_ref()));
            broken.extend(orphans.map(|orphan| (at, format!("no call {:?}", orphan.call_id))));
        }
        before = calls(message);
    }
    broken
}

fn repair(shown: &mut Vec<Shown<'_>>) {
    let mut mended: Vec<Shown<'_>> = Vec::with_capacity(shown.len());
    for mut message in shown.drain(..) {
        if let Said::Results { results } = &mut message.said {
            let called = ids(mended.last().map(calls).unwrap_or_default());
            results.retain(|result| called.contains(result.call_id.as_ref()));
            if results.is_empty() {
                continue;
            }
        }
        mended.push(message);
    }
    *shown = mended;
}

fn ids(calls: &[ToolCall]) -> BTreeSet<&str> {
    calls.iter().map(|call| call.id.as_str()).collect()
}
