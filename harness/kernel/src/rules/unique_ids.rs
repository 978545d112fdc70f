//! Ids of calls are present, unique in the view, and legal on every wire.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use uuid::Uuid;

use super::{Cuts, Repair, Rule, calls};
use crate::view::{Said, Shown};

pub(super) const RULE: Rule =
    Rule { name: "unique_ids", check, repair: Repair::InPlace(repair), cuts: Cuts::Anywhere };

/// The strictest wire's limit.
const LONGEST_ID: usize = 40;

/// Namespace of the ids that this rule makes.
const NAMESPACE: Uuid = Uuid::from_u128(0x6b1f_0f5e_5d5c_4d0b_9a55_0c6c_7d5e_2b41);

fn check(shown: &[Shown<'_>]) -> Vec<(usize, String)> {
    let mut seen = HashSet::with_capacity(shown.len());
    let mut broken = Vec::new();
    for (at, message) in shown.iter().enumerate() {
        for call in calls(message) {
            if !is_legal(&call.id) || !seen.insert(call.id.as_str()) {
                broken.push((at, format!("id {:?} is not unique and legal", call.id)));
            }
        }
    }
    broken
}

/// Renames both ends by position, for the ids cannot tell which result is whose. The
/// new name depends only on what comes before, so a longer view keeps it.
fn repair(shown: &mut [Shown<'_>]) {
    let mut names = Names::default();
    let mut ids: Vec<Option<String>> = Vec::new();
    for message in shown.iter_mut() {
        match &mut message.said {
            Said::Assistant { calls, .. } => {
                ids = calls.iter().map(|call| names.rename(&call.id)).collect();
                for (position, id) in ids.iter().enumerate() {
                    let Some(id) = id else { continue };
                    if let Some(call) = calls.to_mut().get_mut(position) {
                        id.clone_into(&mut call.id);
                    }
                }
            }
            Said::Results { results } => {
                for (result, id) in results.iter_mut().zip(ids.drain(..)) {
                    if let Some(id) = id {
                        result.call_id = Cow::Owned(id);
                    }
                }
            }
            Said::User { .. } => {}
        }
    }
}

/// Names that were given, and how often each bad one was replaced, so that a thousand
/// calls of one id take a thousand steps.
#[derive(Default)]
struct Names {
    taken: BTreeSet<String>,
    replaced: BTreeMap<String, u32>,
}

impl Names {
    /// The new id, where the old one will not do.
    fn rename(&mut self, id: &str) -> Option<String> {
        if is_legal(id) && self.taken.insert(id.to_owned()) {
            return None;
        }
        let occurrence = self.replaced.entry(id.to_owned()).or_default();
        loop {
            let name = derived(id, *occurrence);
            *occurrence = occurrence.saturating_add(1);
            if self.taken.insert(name.clone()) {
                return Some(name);
            }
        }
    }
}

fn derived(id: &str, occurrence: u32) -> String {
    let name = format!("unique_ids/{occurrence}/{id}");
    format!("call_{}", Uuid::new_v5(&NAMESPACE, name.as_bytes()).simple())
}

fn is_legal(id: &str) -> bool {
    (1..=LONGEST_ID).contains(&id.len())
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
