//! Ids of calls are present, unique in the view, and legal on every wire.

use std::collections::BTreeSet;

use foundry_llm::{Message, ToolCall};
use uuid::Uuid;

use super::{Repair, Rule, calls};
use crate::view::Shown;

pub(super) const RULE: Rule = Rule { name: "unique_ids", check, repair: Repair::InPlace(repair) };

/// The strictest wire's limit.
const LONGEST_ID: usize = 40;

/// Namespace of the ids that this rule makes.
const NAMESPACE: Uuid = Uuid::from_u128(0x6b1f_0f5e_5d5c_4d0b_9a55_0c6c_7d5e_2b41);

fn check(shown: &[Shown]) -> Vec<(usize, String)> {
    let mut seen = BTreeSet::new();
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
fn repair(shown: &mut [Shown]) {
    let mut seen = BTreeSet::new();
    let mut ids: Vec<String> = Vec::new();
    for message in shown.iter_mut() {
        match &mut message.message {
            Message::Assistant { calls, .. } => {
                ids = calls.iter_mut().map(|call| renamed(call, &mut seen)).collect();
            }
            Message::ToolResults { results } => {
                for (result, id) in results.iter_mut().zip(ids.drain(..)) {
                    result.call_id = id;
                }
            }
            Message::User { .. } => {}
        }
    }
}

fn renamed(call: &mut ToolCall, seen: &mut BTreeSet<String>) -> String {
    let mut occurrence: u32 = 0;
    let mut id = call.id.clone();
    while !is_legal(&id) || seen.contains(&id) {
        id = derived(&call.id, occurrence);
        occurrence += 1;
    }
    seen.insert(id.clone());
    id.clone_into(&mut call.id);
    id
}

fn derived(id: &str, occurrence: u32) -> String {
    let name = format!("unique_ids/{occurrence}/{id}");
    format!("call_{}", Uuid::new_v5(&NAMESPACE, name.as_bytes()).simple())
}

fn is_legal(id: &str) -> bool {
    (1..=LONGEST_ID).contains(&id.len())
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
