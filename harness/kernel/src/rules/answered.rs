//! Each call has exactly one result, right after it and in call order (KERN-23).

use foundry_llm::{Message, ToolCall, ToolResult};

use super::{Repair, Rule, calls};
use crate::entry::Settled;
use crate::view::Shown;

pub(super) const RULE: Rule = Rule { name: "answered", check, repair: Repair::Rebuild(repair) };

fn check(shown: &[Shown]) -> Vec<(usize, String)> {
    let broken = shown.iter().enumerate().filter_map(|(at, message)| {
        let calls = calls(message);
        let ids: Vec<&str> = results_after(shown, at).iter().map(|r| r.call_id.as_str()).collect();
        (!calls.is_empty() && !calls.iter().map(|call| call.id.as_str()).eq(ids.iter().copied()))
            .then(|| (at, format!("{} calls, answered as {ids:?}", calls.len())))
    });
    broken.collect()
}

fn repair(shown: &mut Vec<Shown>) {
    let mut mended: Vec<Shown> = Vec::with_capacity(shown.len());
    let mut after_calls = false;
    for (at, message) in shown.iter().enumerate() {
        let calls = calls(message);
        let is_taken_up = after_calls && matches!(message.message, Message::ToolResults { .. });
        if !is_taken_up {
            mended.push(message.clone());
        }
        if !calls.is_empty() {
            let results = in_call_order(calls, results_after(shown, at));
            mended.push(Shown { message: Message::ToolResults { results }, own: message.own });
        }
        after_calls = !calls.is_empty();
    }
    *shown = mended;
}

fn results_after(shown: &[Shown], at: usize) -> &[ToolResult] {
    match shown.get(at + 1).map(|shown| &shown.message) {
        Some(Message::ToolResults { results }) => results,
        Some(Message::User { .. } | Message::Assistant { .. }) | None => &[],
    }
}

/// The first unused result with its id for each call; a made one where there is none.
fn in_call_order(calls: &[ToolCall], results: &[ToolResult]) -> Vec<ToolResult> {
    let mut unused: Vec<&ToolResult> = results.iter().collect();
    let answer = |call: &ToolCall| match unused.iter().position(|result| result.call_id == call.id)
    {
        Some(found) => unused.remove(found).clone(),
        None => unanswered(call),
    };
    calls.iter().map(answer).collect()
}

fn unanswered(call: &ToolCall) -> ToolResult {
    let settled = Settled::unknown("no result of this call was kept");
    ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content: settled.text(),
        is_error: settled.is_error(),
    }
}
