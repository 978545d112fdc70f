//! The first stage of compaction: an older result becomes one line that says what was there.

mod target;

use std::borrow::Cow;

use foundry_llm::ToolCall;

use super::kept::{self, Keep};
use crate::entry::Entry;
use crate::view::{Answer, Said};

pub(crate) use target::Target;

/// Bytes of a call's target, and of a result's first line, that a stub repeats.
const SHOWN_BYTES: usize = 120;

/// Shortens the results of one message, as far as that makes them shorter. `calls` are
/// those that they answer; `keep` says of each, by place, whether it stays.
pub(crate) fn shorten(
    results: &mut [Answer<'_>],
    calls: &[ToolCall],
    keep: impl Fn(usize) -> Option<Keep>,
) {
    for (position, result) in results.iter_mut().enumerate() {
        let shorter = match keep(position) {
            Some(Keep::Whole) => continue,
            Some(Keep::Head(chars)) => kept::head(&result.content, chars),
            None => {
                let call = calls.get(position).filter(|call| call.id == result.call_id);
                line(call, result)
            }
        };
        if shorter.len() < result.content.len() {
            result.content = Cow::Owned(shorter);
        }
    }
}

/// What micro-compaction would cover: every entry of results but the newest few, which
/// stay whole within `keep_bytes`. The very newest stays in any case, for the model has
/// not read it yet.
pub(crate) fn covers(log: &[Entry], from: usize, keep_bytes: u64) -> Option<usize> {
    let mut left = keep_bytes;
    let entries = log.iter().enumerate().skip(from).rev();
    let mut results = entries.filter(|(_, entry)| matches!(entry, Entry::Results { .. }));
    results.next();
    let first_to_go = results.find(|(_, entry)| {
        let size = size(entry);
        let goes = size > left;
        left = left.saturating_sub(size);
        goes
    });
    first_to_go.map(|(at, _)| at + 1)
}

/// One line in place of a result. The size and the first words let the model judge
/// whether it needs the whole again.
fn line(call: Option<&ToolCall>, result: &Answer<'_>) -> String {
    let target = call.map(|call| Target::of(&call.arguments)).and_then(Target::any);
    let target =
        target.map_or_else(String::new, |target| format!(" {}", clip(&target, SHOWN_BYTES)));
    let verb = if result.is_error { "failed with" } else { "returned" };
    let bytes = result.content.len();
    let first = result.content.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let first = clip(first, SHOWN_BYTES);
    format!("[left out to save space: {}{target} {verb} {bytes} bytes: {first:?}]", result.name)
}

/// The beginning of a text as one line, marked where there was more.
pub(crate) fn clip(text: &str, bytes: usize) -> String {
    let head = super::truncate::prefix(text, bytes);
    let line: String = head.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = line.trim();
    if head.len() < text.len() { format!("{line}…") } else { line.to_owned() }
}

fn size(entry: &Entry) -> u64 {
    match Said::of_entry(entry) {
        Some(Said::Results { results }) => {
            results.iter().map(|result| crate::view::as_u64(result.content.len())).sum()
        }
        Some(Said::User { .. } | Said::Assistant { .. }) | None => 0,
    }
}

#[cfg(test)]
mod tests;
