//! Results that are too long for the model.

use serde_json::json;

use crate::entry::Settled;
use crate::tool::Tool;

/// Shortens a text that is over a limit in bytes; its own result must fit in the limit.
/// A host with a form of its own (LOOP-07) puts its function here.
pub type ResultForm = fn(&str, usize) -> String;

/// Shortens what a tool returned, when it is over one of the tool's limits (KERN-10).
pub(crate) fn settled(settled: Settled, tool: &Tool) -> Settled {
    let (bytes, chars) = (tool.limit_bytes, tool.limit_chars);
    // A failure is prose, whatever form the tool's output has.
    match settled {
        Settled::Output { content } => {
            Settled::Output { content: cut(content, bytes, chars, tool.form) }
        }
        Settled::Failed { message } => {
            Settled::Failed { message: cut(message, bytes, chars, marked) }
        }
        Settled::Unknown { reason } => {
            Settled::Unknown { reason: cut(reason, bytes, chars, marked) }
        }
        Settled::NotRun { reason } => Settled::NotRun { reason: cut(reason, bytes, chars, marked) },
    }
}

/// The text, or what the form makes of it when it is over either limit.
fn cut(content: String, limit_bytes: usize, limit_chars: usize, form: ResultForm) -> String {
    let is_short = |text: &str, bytes: usize| {
        // No text has more characters than bytes.
        text.len() <= bytes && (text.len() <= limit_chars || text.chars().count() <= limit_chars)
    };
    if is_short(&content, limit_bytes) {
        return content;
    }
    let mut bytes = limit_bytes.min(content.len());
    loop {
        let shown = form(&content, bytes);
        // A form is held to bytes, which are at most as few as its characters.
        if is_short(&shown, limit_bytes) || bytes <= limit_chars {
            return shown;
        }
        bytes = (bytes - bytes / 8 - 1).max(limit_chars);
    }
}

/// Keeps head and tail and says between them how much is left out. A limit below the
/// length of that note, about 60 bytes, leaves the note alone.
pub fn marked(content: &str, limit_bytes: usize) -> String {
    let marker =
        |left_out: usize| format!("\n[… {left_out} of {} bytes left out …]\n", content.len());
    // The marker for everything is the longest there can be.
    let room = limit_bytes.saturating_sub(marker(content.len()).len());
    let head = prefix(content, room - room / 4);
    let tail = suffix(content, room / 4);
    let left_out = content.len() - head.len() - tail.len();
    format!("{head}{}{tail}", marker(left_out))
}

/// Bytes that the envelope of [`enveloped`] takes beside the preview.
const ENVELOPE_BYTES: usize = 256;

/// Keeps the head, inside well-formed JSON that says so, with `truncated`, the true size
/// and the preview (LOOP-07). A limit below 256 bytes leaves the envelope alone.
pub fn enveloped(content: &str, limit_bytes: usize) -> String {
    let mut preview = limit_bytes.saturating_sub(ENVELOPE_BYTES);
    loop {
        let envelope = json!({
            "truncated": true,
            "note": "the result was too long and is cut; ask for less",
            "total_bytes": content.len(),
            "preview": prefix(content, preview),
        })
        .to_string();
        // Escaping makes the preview longer than it looks.
        if envelope.len() <= limit_bytes || preview == 0 {
            return envelope;
        }
        preview = preview * 3 / 4;
    }
}

/// The longest start of `text` within `bytes` that cuts no character.
pub fn prefix(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or_default()
}

/// The longest end of `text` within `bytes` that cuts no character.
fn suffix(text: &str, bytes: usize) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(bytes))..).unwrap_or_default()
}

#[cfg(test)]
mod tests;
