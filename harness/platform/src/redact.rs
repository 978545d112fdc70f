//! Phone numbers leave a log line before it is written anywhere (LOOP-22).

use std::borrow::Cow;

use serde_json::Value;

/// What stands where a phone number stood.
pub const REPLACEMENT: &str = "[phone number]";

/// Digits in a number written with a leading `+` (E.164).
const INTERNATIONAL: std::ops::RangeInclusive<usize> = 7..=15;
/// Digits in a number written without one.
const NATIONAL: std::ops::RangeInclusive<usize> = 9..=15;

/// The text with every phone number replaced.
///
/// Instants, dates, addresses and ids are left alone: a log line that hides its
/// own timestamps helps nobody. Where a bare run of digits could be either, it is
/// taken for a phone number.
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut redacted = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(candidate) = next_candidate(text, at) {
        if is_phone_number(text, &candidate) {
            redacted.push_str(&text[copied..candidate.start]);
            redacted.push_str(REPLACEMENT);
            copied = candidate.end;
        }
        at = candidate.end;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    redacted.push_str(&text[copied..]);
    Cow::Owned(redacted)
}

/// The value with every string in it redacted. Numbers and keys stay.
pub fn redact_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact(&text).into_owned()),
        Value::Array(items) => Value::Array(items.into_iter().map(redact_value).collect()),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(key, v)| (key, redact_value(v))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// A stretch of digits and separators, ending with a digit.
struct Candidate {
    start: usize,
    end: usize,
    digits: usize,
}

fn next_candidate(text: &str, from: usize) -> Option<Candidate> {
    let bytes = text.as_bytes();
    let start = (from..bytes.len()).find(|&at| begins_number(bytes, at))?;
    let mut end = start;
    let mut digits = 0;
    let mut separators = 0;
    let mut first_number = None;
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            b'0'..=b'9' => {
                digits += 1;
                separators = 0;
                end = at + 1;
            }
            b'+' if at == start => {}
            // `030 / 123` has three separators in a row, and no number has more.
            b' ' | b'-' | b'.' | b'(' | b')' | b'/' if separators < 3 => {
                separators += 1;
                if *byte == b' ' && first_number.is_none() && NATIONAL.contains(&digits) {
                    first_number = Some((end, digits));
                }
            }
            _ => break,
        }
    }
    // Too long for one number: two of them with a blank between.
    if let Some((first_end, first_digits)) = first_number
        && digits > *NATIONAL.end()
    {
        return Some(Candidate { start, end: first_end, digits: first_digits });
    }
    Some(Candidate { start, end: end.max(start + 1), digits })
}

fn begins_number(bytes: &[u8], at: usize) -> bool {
    if !matches!(bytes[at], b'0'..=b'9' | b'+' | b'(') {
        return false;
    }
    let Some(before) = at.checked_sub(1).map(|before| bytes[before]) else { return true };
    match before {
        // Within a word, an id, a path or a decimal number.
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'-' | b'.' | b'/' | b'#' | b'@' => false,
        // `10:00` is a time, `tel:030…` is not.
        b':' => at < 2 || !bytes[at - 2].is_ascii_digit(),
        _ => true,
    }
}

fn is_phone_number(text: &str, candidate: &Candidate) -> bool {
    let written = &text[candidate.start..candidate.end];
    let followed_by_word =
        text[candidate.end..].starts_with(|next: char| next.is_ascii_alphabetic() || next == '_');
    if followed_by_word {
        return false;
    }
    if written.starts_with('+') {
        return INTERNATIONAL.contains(&candidate.digits);
    }
    NATIONAL.contains(&candidate.digits)
        && !starts_with_date(written)
        && !is_decimal_or_address(written)
}

/// `2026-01-02`, alone or before a time of day.
fn starts_with_date(written: &str) -> bool {
    let shape =
        written.bytes().take(10).map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    shape.eq(*b"0000-00-00")
}

/// `192.168.100.200`, `3.14159265358`.
fn is_decimal_or_address(written: &str) -> bool {
    if written.bytes().any(|byte| !byte.is_ascii_digit() && byte != b'.') {
        return false;
    }
    let groups = written.split('.').collect::<Vec<_>>();
    groups.len() == 2 || (groups.len() == 4 && groups.iter().all(|group| group.len() <= 3))
}

#[cfg(test)]
mod tests;
