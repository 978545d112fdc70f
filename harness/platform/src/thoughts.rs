//! The thoughts block of a prompt: the curated core, then what was noted lately.
//!
//! The one renderer, used by the API and by every harness, so that both give the
//! same text for the same rows (MEM-03).

use foundry_client::{AuthorKind, Memory};

use crate::text::instant;

/// What stands there while there is nothing to show.
const EMPTY: &str = "You remember nothing yet.";

/// Renders core rows and recent rows (MEM-02), whatever order they come in.
///
/// Times are absolute, so that the text stays the same until a row changes
/// (LOOP-11, LOOP-12). Superseded rows are left out.
pub fn render(core: &[Memory], recent: &[Memory]) -> String {
    let parts = [section("What you know", core), section("Noted lately, not yet reviewed", recent)];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    if text.is_empty() { EMPTY.to_owned() } else { text }
}

fn section(title: &str, rows: &[Memory]) -> Option<String> {
    let mut rows = rows.iter().filter(|row| !row.superseded).collect::<Vec<_>>();
    rows.sort_by_key(|row| (row.created_at, row.id));
    if rows.is_empty() {
        return None;
    }
    let lines = rows.into_iter().map(line).collect::<Vec<_>>();
    Some(format!("{title}:\n{}", lines.join("\n")))
}

fn line(row: &Memory) -> String {
    let author = match row.author_kind {
        AuthorKind::Person => "a person",
        AuthorKind::Agent => "you",
    };
    // Indented, so that no memory can pass for a heading of the prompt.
    let text = row.text.trim().replace("\r\n", "\n").replace(['\n', '\r'], "\n  ");
    format!("- {}, {author}: {text}", instant(row.created_at))
}

#[cfg(test)]
mod tests;
