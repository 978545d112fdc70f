//! A conversation starts with a user message (LOOP-14) and ends with something that the
//! model has not answered yet. There is nothing to repair: a run always adds its input.

use super::{Cuts, Repair, Rule};
use crate::view::{Said, Shown};

/// A cut leaves both ends as they are: what was cut off gives way to a user message, and
/// what is taken away is closed by one.
pub(super) const RULE: Rule =
    Rule { name: "ends_open", check, repair: Repair::None, cuts: Cuts::Anywhere };

fn check(shown: &[Shown<'_>]) -> Vec<(usize, String)> {
    let mut broken = Vec::new();
    if !matches!(shown.first().map(|first| &first.said), Some(Said::User { .. })) {
        broken.push((0, "does not start with a user message".to_owned()));
    }
    if matches!(shown.last().map(|last| &last.said), Some(Said::Assistant { .. })) {
        broken.push((shown.len() - 1, "ends with an assistant message".to_owned()));
    }
    broken
}
