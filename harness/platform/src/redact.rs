//! Phone numbers leave a log line before it is written anywhere (LOOP-22).

use std::borrow::Cow;
use std::net::Ipv4Addr;

use serde_json::Value;

use crate::text::CUT;

/// What stands where a phone number stood.
pub const REPLACEMENT: &str = "[phone number]";

/// Digits in a number written with a leading `+` (E.164).
const INTERNATIONAL: std::ops::RangeInclusive<usize> = 7..=15;
/// Digits in a number written without one.
const NATIONAL: std::ops::RangeInclusive<usize> = 9..=15;

/// Digits that may be the beginning of a number that was cut off, by how it is written.
const BEGUN_INTERNATIONAL: usize = 2;
const BEGUN_NATIONAL: usize = 5;

/// The text with every phone number replaced, and what is left of one where the text was
/// cut (by [`cut`](crate::text::cut)).
///
/// Instants, dates, addresses, ids and numbers of JSON are left alone: a log line that
/// hides its own timestamps helps nobody. Where a bare run of digits could be either, it is
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
    if let Some(end) = end_of_date_or_address(text, start) {
        return Some(Candidate { start, end, digits: 0 });
    }
    let mut whole = Candidate { start, end: start + 1, digits: 0 };
    let mut separators = 0;
    let mut first_word = None;
    let mut first_number = None;
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            b'0'..=b'9' => {
                let after_blank = at > start && bytes[at - 1] == b' ';
                if after_blank && end_of_date_or_address(text, at).is_some() {
                    break;
                }
                whole.digits += 1;
                whole.end = at + 1;
                separators = 0;
            }
            b'+' if at == start => {}
            // `030 / 123` has three separators in a row, and no number has more.
            b' ' | b'-' | b'.' | b'(' | b')' | b'/' if separators < 3 => {
                separators += 1;
                if *byte == b' ' {
                    let so_far = Candidate { ..whole };
                    if NATIONAL.contains(&so_far.digits) {
                        first_number.get_or_insert(so_far);
                    } else {
                        first_word.get_or_insert(so_far);
                    }
                }
            }
            _ => break,
        }
        // Too long for one number: several, with blanks between.
        if whole.digits > *NATIONAL.end()
            && let Some(first) = first_number.take().or(first_word.take())
        {
            return Some(first);
        }
    }
    Some(whole)
}

fn begins_number(bytes: &[u8], at: usize) -> bool {
    if !matches!(bytes[at], b'0'..=b'9' | b'+' | b'(') || is_json_number(bytes, at) {
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

/// Whether a number of JSON begins here, as in `"at":1767348000}`. Phone numbers are
/// strings there: a number keeps neither a plus nor a leading zero.
fn is_json_number(bytes: &[u8], at: usize) -> bool {
    let before = bytes[..at].strip_suffix(b" ").unwrap_or(&bytes[..at]);
    if !before.ends_with(b"\":") || !matches!(bytes[at], b'1'..=b'9') {
        return false;
    }
    let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let after = bytes[at + digits..].trim_ascii_start();
    matches!(after.first(), None | Some(b',' | b'}' | b']'))
}

/// The end of a date or an address that begins here.
fn end_of_date_or_address(text: &str, start: usize) -> Option<usize> {
    let rest = &text[start..];
    let date = DATES.iter().find(|date| date.begins(rest.as_bytes())).map(|date| date.shape.len());
    let address = || {
        let dotted = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let dotted = rest[..dotted].trim_end_matches('.');
        dotted.parse::<Ipv4Addr>().ok().map(|_| dotted.len())
    };
    date.or_else(address).map(|length| start + length)
}

/// How a date may be written.
struct DateForm {
    shape: &'static [u8],
    year_at: usize,
}

const DATES: [DateForm; 4] = [
    DateForm { shape: b"0000-00-00", year_at: 0 },
    DateForm { shape: b"0000/00/00", year_at: 0 },
    DateForm { shape: b"00.00.0000", year_at: 6 },
    DateForm { shape: b"00/00/0000", year_at: 6 },
];

impl DateForm {
    /// Whether a text begins with such a date, of this century or the last.
    fn begins(&self, text: &[u8]) -> bool {
        let Some((date, after)) = text.split_at_checked(self.shape.len()) else { return false };
        let shape = date.iter().map(|byte| if byte.is_ascii_digit() { b'0' } else { *byte });
        shape.eq(self.shape.iter().copied())
            && matches!(&date[self.year_at..self.year_at + 2], b"19" | b"20")
            && !after.first().is_some_and(u8::is_ascii_digit)
    }
}

fn is_phone_number(text: &str, candidate: &Candidate) -> bool {
    let written = &text[candidate.start..candidate.end];
    let followed_by_word =
        text[candidate.end..].starts_with(|next: char| next.is_ascii_alphabetic() || next == '_');
    if followed_by_word {
        return false;
    }
    let (international, national) = if is_cut_off(text, candidate.end) {
        (BEGUN_INTERNATIONAL..=*INTERNATIONAL.end(), BEGUN_NATIONAL..=*NATIONAL.end())
    } else {
        (INTERNATIONAL, NATIONAL)
    };
    if written.starts_with('+') {
        return international.contains(&candidate.digits);
    }
    national.contains(&candidate.digits) && !is_decimal(written)
}

/// Whether the text was cut there, or behind the separators of a number.
fn is_cut_off(text: &str, end: usize) -> bool {
    text[end..].trim_start_matches([' ', '-', '.', '(', ')', '/']).starts_with(CUT)
}

/// `3.14159265358`
fn is_decimal(written: &str) -> bool {
    written.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && written.bytes().filter(|byte| *byte == b'.').count() == 1
}

#[cfg(test)]
mod tests;
