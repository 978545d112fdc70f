//! How one piece of text is exchanged for another: exactly, and nothing else moves.
//!
//! Only line endings are compared loosely, for a model never sees them: in old and new
//! text a line feed stands for whatever the file has there.

use super::lines::{Ending, Endings, with_ending, without_returns};
use super::near;

/// Places named in an error.
const MOST_NAMED: usize = 10;
/// Places looked for; nobody needs to know of more.
const MOST_FOUND: usize = 10_000;

/// A text after an exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spliced {
    /// The whole text.
    pub bytes: Vec<u8>,
    /// Places exchanged.
    pub places: usize,
}

/// Why nothing was exchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Miss {
    /// The old text is empty.
    Empty,
    /// Old and new text are the same.
    Same,
    /// The old text is nowhere; what comes near it, in words.
    Nowhere(String),
    /// The old text is in several places; the lines where it begins, not all of them
    /// when there are many.
    Several {
        /// How many places.
        places: usize,
        /// The first lines.
        lines: Vec<usize>,
    },
}

/// How many places are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The only one; it is an error if there are more.
    Only,
    /// Every one.
    All,
}

/// Puts `new` in the place of `old`.
pub fn splice(text: &[u8], old: &str, new: &str, which: Which) -> Result<Spliced, Miss> {
    let (old, new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    if old.is_empty() {
        return Err(Miss::Empty);
    }
    if old == new {
        return Err(Miss::Same);
    }
    let (plain, removed) = without_returns(text);
    let places = find(&plain, &old, which);
    match (places.as_slice(), which) {
        ([], _) => return Err(Miss::Nowhere(near::words(&plain, &old))),
        ([_], _) | (_, Which::All) => {}
        (several, Which::Only) => {
            let line = |at: &usize| {
                let before = plain.get(..*at).unwrap_or_default();
                1 + Endings::of(before).lf
            };
            let lines = several.iter().take(MOST_NAMED).map(line).collect();
            return Err(Miss::Several { places: several.len(), lines });
        }
    }
    // What old and new have in common at either end stays untouched, so that an edit of
    // one word in a file of mixed endings changes one word.
    let (head, tail) = common_ends(&old, &new);
    let fresh = new.as_bytes().get(head..new.len() - tail).unwrap_or_default();
    let raw = |at: usize| at + removed.partition_point(|line_feed| *line_feed < at);
    let usual = Endings::of(text).usual();
    let mut bytes = Vec::with_capacity(text.len() + places.len() * fresh.len());
    let mut copied = 0;
    for place in &places {
        let gone = raw(place + head)..raw(place + old.len() - tail);
        let ending = ending_from(text, raw(*place)).unwrap_or(usual);
        bytes.extend_from_slice(text.get(copied..gone.start).unwrap_or_default());
        bytes.extend(with_ending(fresh, ending));
        copied = gone.end;
    }
    bytes.extend_from_slice(text.get(copied..).unwrap_or_default());
    Ok(Spliced { bytes, places: places.len() })
}

/// Where `needle` begins: for all, places that do not overlap; for the only one, those
/// too, for either of them may be meant.
fn find(text: &[u8], needle: &str, which: Which) -> Vec<usize> {
    let first = needle.chars().next().map_or(1, char::len_utf8);
    let (step, most) = match which {
        Which::Only => (first, MOST_FOUND),
        Which::All => (needle.len(), usize::MAX),
    };
    // The standard library searches strings in linear time, and bytes not at all.
    let as_text = std::str::from_utf8(text).ok();
    let next = |from: usize| {
        if let Some(text) = as_text {
            return text.get(from..)?.find(needle).map(|at| from + at);
        }
        let mut windows = text.get(from..)?.windows(needle.len());
        windows.position(|window| window == needle.as_bytes()).map(|at| from + at)
    };
    let mut places = Vec::new();
    let mut from = 0;
    while places.len() < most
        && let Some(at) = next(from)
    {
        places.push(at);
        from = at + step;
    }
    places
}

/// Bytes that two texts have in common at the beginning and at the end, cut between
/// characters and, at the end, not overlapping the beginning.
fn common_ends(old: &str, new: &str) -> (usize, usize) {
    let same = |(a, b): &(char, char)| a == b;
    let length = |(character, _): (char, char)| character.len_utf8();
    let head: usize = old.chars().zip(new.chars()).take_while(same).map(length).sum();
    let (old, new) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old.chars().rev().zip(new.chars().rev()).take_while(same).map(length).sum();
    (head, tail)
}

/// How the line ends in which something is exchanged.
fn ending_from(text: &[u8], start: usize) -> Option<Ending> {
    let at = start + text.get(start..)?.iter().position(|byte| *byte == b'\n')?;
    let is_crlf = at > 0 && text.get(at - 1) == Some(&b'\r');
    Some(if is_crlf { Ending::CrLf } else { Ending::Lf })
}
