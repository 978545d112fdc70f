//! What an edit changed, as a short unified diff.

use similar::{ChangeTag, TextDiff};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// Lines compared; more of them are only counted.
const MOST_COMPARED: usize = 4_000;
/// Lines shown.
const MOST_SHOWN: usize = 80;
/// Bytes of them.
const MOST_BYTES: usize = 12_000;
/// Characters of a line shown.
const WIDTH: usize = 300;

/// The change from one text to another. Long changes are cut, and say so.
pub fn diff(before: &str, after: &str) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    // Only what lies between the common ends is compared: a long file costs little.
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let room = old.len().min(new.len()) - head;
    let tail =
        old.iter().rev().zip(new.iter().rev()).take(room).take_while(|(a, b)| a == b).count();
    let (gone, come) = (old.len() - head - tail, new.len() - head - tail);
    if gone == 0 && come == 0 {
        return "(no line changed)".to_owned();
    }
    let from = head.saturating_sub(CONTEXT);
    let end = |all: &[&str]| (all.len() - tail + CONTEXT).min(all.len());
    let old = old.get(from..end(&old)).unwrap_or_default();
    let new = new.get(from..end(&new)).unwrap_or_default();
    if old.len() + new.len() > MOST_COMPARED {
        return format!("(from line {}: {gone} lines became {come})", head + 1);
    }
    hunks(old, new, from)
}

fn hunks(old: &[&str], new: &[&str], from: usize) -> String {
    let diff = TextDiff::from_slices(old, new);
    let mut lines: Vec<String> = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let (a, b) = (first.old_range().start, first.new_range().start);
        let (a_len, b_len) = (last.old_range().end - a, last.new_range().end - b);
        let at = |start: usize, len: usize| if len == 0 { start + from } else { start + from + 1 };
        lines.push(format!("@@ -{},{a_len} +{},{b_len} @@", at(a, a_len), at(b, b_len)));
        for op in &group {
            for change in diff.iter_changes(op) {
                let sign = match change.tag() {
                    ChangeTag::Equal => ' ',
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                };
                let text: &str = change.value();
                let ended = text.strip_suffix('\n').map(|line| line.trim_end_matches('\r'));
                lines.push(format!("{sign}{}", super::line(ended.unwrap_or(text), WIDTH)));
                if ended.is_none() {
                    lines.push("\\ no newline at the end of the file".to_owned());
                }
            }
        }
    }
    let mut bytes = 0;
    let fits = |line: &&String| {
        bytes += line.len() + 1;
        bytes <= MOST_BYTES
    };
    let shown = lines.iter().take(MOST_SHOWN).take_while(fits).count();
    let left_out = lines.len() - shown;
    lines.truncate(shown);
    let mut text = lines.join("\n");
    if left_out > 0 {
        super::push(&mut text, format_args!("\n(… {left_out} more lines of this change)"));
    }
    text
}
