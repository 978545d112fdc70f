//! Results that are too long for the model.

use crate::entry::Settled;

/// Shortens a text that is over a limit in bytes; its own result must fit in the limit.
/// A host with a form of its own (LOOP-07) puts its function here.
pub type ResultForm = fn(&str, usize) -> String;

/// Shortens what a tool returned, when it is over the limit.
pub fn settled(settled: Settled, limit_bytes: usize, form: ResultForm) -> Settled {
    match settled {
        Settled::Output { content } if content.len() > limit_bytes => {
            Settled::output(form(&content, limit_bytes))
        }
        Settled::Failed { message } if message.len() > limit_bytes => {
            // A failure is prose, whatever form the tool's output has.
            Settled::failed(marked(&message, limit_bytes))
        }
        Settled::Unknown { reason } if reason.len() > limit_bytes => {
            Settled::unknown(marked(&reason, limit_bytes))
        }
        Settled::Output { .. }
        | Settled::Failed { .. }
        | Settled::Unknown { .. }
        | Settled::NotRun { .. } => settled,
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
