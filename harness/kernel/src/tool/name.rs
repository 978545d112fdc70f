//! Names that both providers accept.

use uuid::Uuid;

/// Longest tool name that both wires accept.
const LIMIT: usize = 64;

/// Letters of the mark on a name that had to be changed: 48 bits of a hash.
const MARK: usize = 12;

/// What stands between server and tool.
const BETWEEN: &str = "__";

/// Whether both wires accept a name.
pub fn is_legal(name: &str) -> bool {
    (1..=LIMIT).contains(&name.len()) && name.chars().all(is_legal_letter)
}

fn is_legal_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || letter == '-'
}

/// The name under which a model calls a tool of a server: `server__tool`, where that is
/// legal and cannot be read in two ways, and else as much of it as is, with a mark made of
/// both true names. Two tools never share a name, and the same tool always has the same.
pub fn safe(server: &str, tool: &str) -> String {
    let plain = format!("{server}{BETWEEN}{tool}");
    if is_legal(&plain) && is_unmistakable(server, tool) {
        return plain;
    }
    let letters = plain.chars().map(|letter| if is_legal_letter(letter) { letter } else { '_' });
    // Each letter is one byte by now.
    let kept: String = letters.take(LIMIT - MARK - BETWEEN.len()).collect();
    format!("{kept}{BETWEEN}{}", mark(server, tool))
}

/// Whether a plain name says where the server's ends, and cannot be one with a mark.
fn is_unmistakable(server: &str, tool: &str) -> bool {
    let parted = !server.is_empty() && !tool.is_empty();
    let one_way = !server.contains(BETWEEN) && !server.ends_with('_') && !tool.starts_with('_');
    let is_mark = |end: &str| {
        end.len() == MARK && end.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    let unmarked = !tool.rsplit(BETWEEN).next().is_some_and(is_mark);
    parted && one_way && unmarked
}

fn mark(server: &str, tool: &str) -> String {
    // The length says where the server's name ends.
    let both = format!("{}:{server}{tool}", server.len());
    let hash = Uuid::new_v5(&Uuid::NAMESPACE_OID, both.as_bytes()).simple().to_string();
    hash.chars().take(MARK).collect()
}

#[cfg(test)]
mod tests;
