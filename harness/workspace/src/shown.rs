//! How names and changes are shown to a model.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

mod diff;

pub use diff::diff;

/// A path on one line: what is not UTF-8, or would break the line, as `\xNN`. The root
/// is `.`.
pub fn path(path: &Path) -> String {
    if path.as_os_str().is_empty() { ".".to_owned() } else { name(path.as_os_str()) }
}

/// A name on one line.
pub fn name(name: &OsStr) -> String {
    let mut text = String::new();
    for chunk in name.as_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() {
                let mut buffer = [0; 4];
                escape(&mut text, character.encode_utf8(&mut buffer).as_bytes());
            } else {
                text.push(character);
            }
        }
        escape(&mut text, chunk.invalid());
    }
    text
}

fn escape(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        push(text, format_args!("\\x{byte:02x}"));
    }
}

/// Adds words to a text.
pub fn push(text: &mut String, words: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    _ = text.write_fmt(words);
}

/// The name that [`name`] shows in this form; none when it holds no `\xNN`.
pub fn unescaped(shown: &str) -> Option<OsString> {
    let bytes = shown.as_bytes();
    let mut name = Vec::with_capacity(bytes.len());
    let mut at = 0;
    let mut any = false;
    while let Some(byte) = bytes.get(at) {
        let is_escape = bytes.get(at..at + 2) == Some(b"\\x");
        let digits = shown.get(at + 2..at + 4).filter(|_| is_escape);
        if let Some(escaped) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            name.push(escaped);
            any = true;
            at += 4;
        } else {
            name.push(*byte);
            at += 1;
        }
    }
    any.then(|| OsString::from_vec(name))
}

/// A line within `limit` characters, with a note where it was cut.
pub fn line(line: &str, limit: usize) -> String {
    match line.char_indices().nth(limit) {
        None => line.to_owned(),
        Some((cut, _)) => {
            let all = line.chars().count();
            format!("{} [… cut: {all} characters in all]", line.get(..cut).unwrap_or_default())
        }
    }
}

/// A size in bytes, for a person.
pub fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    for (unit, word) in UNITS {
        if bytes >= unit {
            let tenths = bytes / (unit / 10);
            return format!("{}.{} {word}", tenths / 10, tenths % 10);
        }
    }
    format!("{bytes} B")
}

/// A number with its noun.
pub fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests;
