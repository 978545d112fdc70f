//! Nothing stands between calls and their results, and the results are one group.

use super::{Cuts, Repair, Rule, calls};
use crate::view::{Answer, Said, Shown};

pub(super) const RULE: Rule = Rule {
    name: "one_group",
    check,
    repair: Repair::Rebuild(repair),
    cuts: Cuts::But(super::not_before_results),
};

fn check(shown: &[Shown<'_>]) -> Vec<(usize, String)> {
    let mut broken = Vec::new();
    let mut caller: Option<usize> = None;
    for (at, message) in shown.iter().enumerate() {
        match &message.said {
            Said::Assistant { .. } => caller = (!calls(message).is_empty()).then_some(at),
            Said::Results { .. } if caller.is_some_and(|caller| at > caller + 1) => {
                broken.push((at, "results apart from their calls".to_owned()));
            }
            Said::Results { .. } | Said::User { .. } => {}
        }
    }
    broken
}

/// Moves what stands in between behind the results, in its order.
fn repair(shown: &mut Vec<Shown<'_>>) {
    let mut mended: Vec<Shown<'_>> = Vec::with_capacity(shown.len());
    let mut caller: Option<usize> = None;
    for message in shown.drain(..) {
        let group = caller.map(|caller| caller + 1);
        match (message, group) {
            (message @ Shown { said: Said::Assistant { .. }, .. }, _) => {
                caller = (!calls(&message).is_empty()).then_some(mended.len());
                mended.push(message);
            }
            (Shown { said: Said::Results { results }, own, entry }, Some(group)) => {
                match mended.get_mut(group).and_then(answers) {
                    Some(answers) => answers.extend(results),
                    None => {
                        mended.insert(group, Shown { said: Said::Results { results }, own, entry });
                    }
                }
            }
            (message, _) => mended.push(message),
        }
    }
    *shown = mended;
}

fn answers<'s, 'a>(shown: &'s mut Shown<'a>) -> Option<&'s mut Vec<Answer<'a>>> {
    match &mut shown.said {
        Said::Results { results } => Some(results),
        Said::User { .. } | Said::Assistant { .. } => None,
    }
}
