//! How Rust values become columns and come back.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use crate::Error;

/// Text that both databases can hold: PostgreSQL has no U+0000.
pub(crate) fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Text for comparison without regard to case. Upper then lower, letter by letter,
/// so that ß meets SS and a final sigma meets any other; done here because the two
/// databases fold differently.
pub(crate) fn fold(text: &str) -> String {
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// A LIKE pattern (escape character `\`) for text that contains `part` literally.
pub(crate) fn containing(part: &str) -> String {
    let mut pattern = String::with_capacity(part.len() + 2);
    pattern.push('%');
    for letter in part.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

/// The instant a column holds.
pub(crate) fn instant(micros: i64) -> Result<Timestamp, Error> {
    Timestamp::from_microsecond(micros).map_err(|_| Error::Unreadable { what: "instant" })
}

/// The instant a day before this one, as columns hold it.
pub(crate) fn day_before(now: Timestamp) -> i64 {
    const DAY: i64 = 24 * 60 * 60 * 1_000_000;
    now.as_microsecond().saturating_sub(DAY)
}

/// The optional instant a column holds.
pub(crate) fn optional_instant(micros: Option<i64>) -> Result<Option<Timestamp>, Error> {
    micros.map(instant).transpose()
}

/// The JSON a column holds.
pub(crate) fn json(text: &str) -> Result<Value, Error> {
    serde_json::from_str(text).map_err(|_| Error::Unreadable { what: "json" })
}

/// A new row id: version 7, so that ids sort by the time they were made.
pub fn row_id(now: Timestamp) -> Uuid {
    let seconds = u64::try_from(now.as_second()).unwrap_or(0);
    let nanos = u32::try_from(now.subsec_nanosecond()).unwrap_or(0);
    Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanos))
}

/// A new row id, as it is stored.
pub(crate) fn new_id(now: Timestamp) -> String {
    row_id(now).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_every_script_fold_alike() {
        assert_eq!(fold("STRASSE"), fold("straße"));
        assert_eq!(fold("ΟΔΟΣ"), fold("οδος"));
        assert_eq!(fold("ΟΔΟΣ"), fold("οδοσ"));
        assert_eq!(fold("Ünïted"), fold("üNÏTED"));
    }

    #[test]
    fn wildcards_stand_for_themselves() {
        assert_eq!(containing(r"50%_\"), r"%50\%\_\\%");
    }

    #[test]
    fn a_nul_becomes_a_replacement_character() {
        assert_eq!(storable("a\0b"), "a\u{fffd}b");
        assert!(matches!(storable("ab"), Cow::Borrowed("ab")));
    }
}
