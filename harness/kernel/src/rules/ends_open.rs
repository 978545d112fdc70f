//! A conversation starts with a user message (LOOP-14) and ends with something that the
//! model has not answered yet. There is nothing to repair: a run always adds its input.

use foundry_llm::Message;

use super::{Repair, Rule};
use crate::view::Shown;

pub(super) const RULE: Rule = Rule { name: "ends_open", check, repair: Repair::None };

fn check(shown: &[Shown]) -> Vec<(usize, String)> {
    let mut broken = Vec::new();
    if !matches!(shown.first().map(|first| &first.message), Some(Message::User { .. })) {
        broken.push((0, "does not start with a user message".to_owned()));
    }
    if matches!(shown.last().map(|last| &last.message), Some(Message::Assistant { .. })) {
        broken.push((shown.len() - 1, "ends with an assistant message".to_owned()));
    }
    broken
}
