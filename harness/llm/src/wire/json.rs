//! JSON as servers truly write it: borrowed where it can be, forgiving about forms that
//! mean the same, and bounded where a few bytes would otherwise become many.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::error::{LlmError, kept};

/// Most blocks, calls or choices of one reply. A list longer than this is refused while
/// it is read: two bytes of JSON can become two hundred in memory.
pub(crate) const MAX_PARTS: usize = 1024;

/// A text, borrowed unless it holds escapes. A number counts as its digits, as some
/// servers write their ids; what is no text at all counts as an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text<'a>(pub Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// A text that says something.
pub(super) fn filled(text: Option<Text<'_>>) -> Option<Cow<'_, str>> {
    text.map(|text| text.0).filter(|text| !text.is_empty())
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Text(Cow::Owned(number.to_string())))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Text(Cow::Owned(number.to_string())))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Text(Cow::Owned(number.to_string())))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Text::default())
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Text::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Text::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text::default())
    }
}

/// A count. Whole, with a fraction, as digits in a text: servers write all of them. What
/// is no count at all is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count(pub Option<u64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

struct CountVisitor;

impl<'de> Visitor<'de> for CountVisitor {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a count")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Count, E> {
        Ok(Count(Some(number)))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Count, E> {
        Ok(Count(u64::try_from(number).ok()))
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked, and a fraction of a token is none"
    )]
    fn visit_f64<E: Error>(self, number: f64) -> Result<Count, E> {
        let sensible = (0.0..1e18).contains(&number);
        Ok(Count(sensible.then_some(number as u64)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Count, E> {
        Ok(Count(text.trim().parse().ok()))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_unit<E: Error>(self) -> Result<Count, E> {
        Ok(Count(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Count, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Count(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Count, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Count(None))
    }
}

/// A list of at most [`MAX_PARTS`]; null is an empty one.
#[derive(Debug)]
pub(super) struct Bounded<T>(pub Vec<T>);

impl<T> Default for Bounded<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Bounded<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BoundedVisitor(PhantomData))
    }
}

struct BoundedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for BoundedVisitor<T> {
    type Value = Bounded<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {MAX_PARTS} parts")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Bounded::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            if list.len() == MAX_PARTS {
                return Err(A::Error::invalid_length(MAX_PARTS + 1, &self));
            }
            list.push(item);
        }
        Ok(Bounded(list))
    }
}

/// A part of what a model says, where it says a list of them.
#[derive(Debug, Deserialize)]
pub(super) struct Part<'a> {
    #[serde(borrow)]
    pub text: Option<&'a RawValue>,
    #[serde(borrow)]
    pub thinking: Option<&'a RawValue>,
}

/// The parts of a value that is a list.
pub(super) fn parts(raw: &RawValue) -> Result<Option<Vec<Part<'_>>>, LlmError> {
    if !raw.get().starts_with('[') {
        return Ok(None);
    }
    let Bounded(parts) = serde_json::from_str(raw.get())
        .map_err(|error| LlmError::not_understood(&error, raw.get()))?;
    Ok(Some(parts))
}

/// The text that a value is, unescaped into `buffer` where it must be. Pieces of a reply
/// come by the thousand: read so, none of them allocates. A value that is no text says
/// nothing.
pub(super) fn said<'t>(raw: &'t RawValue, buffer: &'t mut String) -> Result<&'t str, LlmError> {
    let Some(inner) = raw.get().strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return Ok("");
    };
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Ok(inner);
    }
    buffer.clear();
    match unescape(inner, buffer) {
        Some(()) => Ok(buffer),
        None => Err(LlmError::broken(&format!("the reply holds no text: {}", kept(raw.get())))),
    }
}

fn unescape(mut rest: &str, text: &mut String) -> Option<()> {
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        text.push_str(&rest[..at]);
        let (character, length) = match rest.as_bytes().get(at + 1)? {
            b'n' => ('\n', 2),
            b't' => ('\t', 2),
            b'r' => ('\r', 2),
            b'b' => ('\u{8}', 2),
            b'f' => ('\u{c}', 2),
            quoted @ (b'"' | b'\\' | b'/') => (char::from(*quoted), 2),
            b'u' => code_point(rest.get(at..)?)?,
            _ => return None,
        };
        text.push(character);
        rest = &rest[at + length..];
    }
    text.push_str(rest);
    Some(())
}

/// The character of `\uXXXX`, or of the two that stand for one beyond the first plane. Half
/// of such a pair is no character: servers that cut their text by UTF-16 units send it in
/// two pieces, and a reply is not lost for that.
fn code_point(escape: &str) -> Option<(char, usize)> {
    let unit = |at: usize| u32::from_str_radix(escape.get(at..at + 4)?, 16).ok();
    let first = unit(2)?;
    if let Some(character) = char::from_u32(first) {
        return Some((character, 6));
    }
    let second = (escape.get(6..8) == Some("\\u")).then(|| unit(8)).flatten();
    let pair = second
        .filter(|second| (0xd800..0xdc00).contains(&first) && (0xdc00..0xe000).contains(second));
    let code = pair.map(|second| 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
    Some(match code.and_then(char::from_u32) {
        Some(character) => (character, 12),
        None => (char::REPLACEMENT_CHARACTER, 6),
    })
}

#[cfg(test)]
mod tests;
