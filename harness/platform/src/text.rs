//! Bounds on text, and how it tells the time.

use std::fmt::Display;

use jiff::Timestamp;

/// What stands where a text was cut.
pub const CUT: &str = "…";

/// The text, cut at a character boundary to at most `limit` bytes; what was cut off
/// shows as `…`.
pub fn cut(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let mut end = limit.saturating_sub(CUT.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{CUT}", &text[..end])
}

/// An instant as people and models read it, to the second: `2026-01-02T10:00:00Z`.
pub fn instant(at: Timestamp) -> impl Display {
    at.strftime("%Y-%m-%dT%H:%M:%SZ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_instant_is_told_to_the_second() {
        let at: Timestamp = "2026-01-02T10:00:59.987654321Z".parse().unwrap();
        assert_eq!(instant(at).to_string(), "2026-01-02T10:00:59Z");
    }

    proptest! {
        #[test]
        fn a_cut_text_fits_and_begins_as_the_whole_did(
            text in "\\PC{0,40}", limit in 3_usize..50
        ) {
            let short = cut(&text, limit);
            prop_assert!(short.len() <= limit);
            if text.len() <= limit {
                prop_assert_eq!(short, text);
            } else {
                prop_assert!(text.starts_with(short.trim_end_matches('…')));
            }
        }
    }
}
