//! Each call has exactly one result, right after it and in call order (KERN-23).

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use foundry_llm::ToolCall;

use super::{Cuts, Repair, Rule, calls};
use crate::entry::Settled;
use crate::view::{Answer, Said, Shown};

pub(super) const RULE: Rule = Rule {
    name: "answered",
    check,
    repair: Repair::Rebuild(repair),
    cuts: Cuts::But(super::not_before_results),
};

fn check(shown: &[Shown<'_>]) -> Vec<(usize, String)> {
    let broken = shown.iter().enumerate().filter_map(|(at, message)| {
        let calls = calls(message).iter().map(|call| call.id.as_str());
        let answers = results_after(shown, at).iter().map(|result| result.call_id.as_ref());
        if calls.len() == 0 || calls.clone().eq(answers.clone()) {
            return None;
        }
        Some((at, format!("{} calls, {} results", calls.len(), answers.len())))
    });
    broken.collect()
}

fn repair(shown: &mut Vec<Shown<'_>>) {
    let mut mended: Vec<Shown<'_>> = Vec::with_capacity(shown.len());
    let mut unmended = shown.drain(..).peekable();
    while let Some(message) = unmended.next() {
        let calls = calls(&message);
        if calls.is_empty() {
            mended.push(message);
            continue;
        }
        let after = unmended.next_if(|next| matches!(next.said, Said::Results { .. }));
        let results = match after {
            Some(Shown { said: Said::Results { results }, .. }) => results,
            Some(_) | None => Vec::new(),
        };
        let (own, entry) = (message.own, message.entry);
        let said = Said::Results { results: in_call_order(calls, results) };
        mended.extend([message, Shown { said, own, entry }]);
    }
    drop(unmended);
    *shown = mended;
}

fn results_after<'s, 'a>(shown: &'s [Shown<'a>], at: usize) -> &'s [Answer<'a>] {
    match shown.get(at + 1).map(|shown| &shown.said) {
        Some(Said::Results { results }) => results,
        Some(Said::User { .. } | Said::Assistant { .. }) | None => &[],
    }
}

/// The first unused result with its id for each call; a made one where there is none.
fn in_call_order<'a>(calls: &[ToolCall], results: Vec<Answer<'a>>) -> Vec<Answer<'a>> {
    let mut unused: BTreeMap<String, VecDeque<Answer<'a>>> = BTreeMap::new();
    for result in results {
        unused.entry(result.call_id.clone().into_owned()).or_default().push_back(result);
    }
    let answer = |call: &ToolCall| {
        let kept = unused.get_mut(&call.id).and_then(VecDeque::pop_front);
        kept.unwrap_or_else(|| unanswered(call))
    };
    calls.iter().map(answer).collect()
}

fn unanswered<'a>(call: &ToolCall) -> Answer<'a> {
    let settled = Settled::unknown("no result of this call was kept");
    Answer {
        call_id: Cow::Owned(call.id.clone()),
        name: Cow::Owned(call.name.clone()),
        content: Cow::Owned(settled.text()),
        is_error: settled.is_error(),
    }
}
