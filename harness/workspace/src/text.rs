//! What a file says, in whatever encoding it says it, and how that is written back.

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

mod lines;
mod near;
mod splice;

pub use lines::{Ending, Endings};
#[cfg(test)]
pub use splice::Spliced;
pub use splice::{Miss, Which, splice};

/// Bytes at the beginning of a file by which it is judged.
pub const HEAD: usize = 64 << 10;

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF16LE_MARK: &[u8] = b"\xff\xfe";
const UTF16BE_MARK: &[u8] = b"\xfe\xff";

/// The text of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Its characters as UTF-8, without a mark at the beginning. In a damaged file the
    /// bytes that are no character stay as they are.
    pub bytes: Vec<u8>,
    /// How it is written.
    pub form: Form,
}

/// How a text is written in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// UTF-8.
    Utf8,
    /// UTF-8 behind a byte order mark.
    MarkedUtf8,
    /// UTF-8 with some bytes in it that are not.
    DamagedUtf8,
    /// UTF-16 behind a byte order mark, little end first.
    Utf16Le,
    /// UTF-16 behind a byte order mark, big end first.
    Utf16Be,
    /// An older encoding, as guessed from the bytes.
    Legacy(&'static Encoding),
}

/// The file is not text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotText;

/// A text that cannot be written in its file's encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwritable {
    /// A character that the encoding does not have.
    Character(char),
    /// The file does not come out as it was, even unchanged.
    Unfaithful,
}

impl Text {
    /// Reads the whole content of a file.
    pub fn decode(raw: Vec<u8>) -> Result<Self, NotText> {
        if let Some(rest) = raw.strip_prefix(UTF8_MARK)
            && std::str::from_utf8(rest).is_ok()
        {
            return Ok(Self { bytes: rest.to_vec(), form: Form::MarkedUtf8 });
        }
        for (mark, encoding, form) in
            [(UTF16LE_MARK, UTF_16LE, Form::Utf16Le), (UTF16BE_MARK, UTF_16BE, Form::Utf16Be)]
        {
            if let Some(rest) = raw.strip_prefix(mark) {
                let (text, _) = encoding.decode_without_bom_handling(rest);
                return Ok(Self { bytes: text.into_owned().into_bytes(), form });
            }
        }
        if is_binary(raw.get(..HEAD).unwrap_or(&raw)) {
            return Err(NotText);
        }
        if std::str::from_utf8(&raw).is_ok() {
            return Ok(Self { bytes: raw, form: Form::Utf8 });
        }
        if is_mostly_utf8(&raw) {
            return Ok(Self { bytes: raw, form: Form::DamagedUtf8 });
        }
        let encoding = guess(&raw);
        let (text, _) = encoding.decode_without_bom_handling(&raw);
        Ok(Self { bytes: text.into_owned().into_bytes(), form: Form::Legacy(encoding) })
    }

    /// The text for reading; what is no character becomes a replacement sign.
    pub fn readable(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }

    /// Whether the file can be written back byte for byte, so that an edit leaves
    /// everything else as it is.
    pub fn check_faithful(&self, raw: &[u8]) -> Result<(), Unwritable> {
        match self.form {
            Form::Utf8 | Form::MarkedUtf8 | Form::DamagedUtf8 => Ok(()),
            Form::Utf16Le | Form::Utf16Be | Form::Legacy(_) => {
                let same = self.form.encode(&self.bytes).is_ok_and(|written| written == raw);
                same.then_some(()).ok_or(Unwritable::Unfaithful)
            }
        }
    }
}

impl Form {
    /// The bytes of a file that says this.
    pub fn encode(self, text: &[u8]) -> Result<Vec<u8>, Unwritable> {
        let marked = |mark: &[u8], rest: &mut dyn Iterator<Item = u8>| -> Vec<u8> {
            mark.iter().copied().chain(rest).collect()
        };
        match self {
            Self::Utf8 | Self::DamagedUtf8 => Ok(text.to_vec()),
            Self::MarkedUtf8 => Ok(marked(UTF8_MARK, &mut text.iter().copied())),
            Self::Utf16Le => {
                let units = units(text)?;
                Ok(marked(UTF16LE_MARK, &mut units.into_iter().flat_map(u16::to_le_bytes)))
            }
            Self::Utf16Be => {
                let units = units(text)?;
                Ok(marked(UTF16BE_MARK, &mut units.into_iter().flat_map(u16::to_be_bytes)))
            }
            Self::Legacy(encoding) => {
                let text = std::str::from_utf8(text).map_err(|_| Unwritable::Unfaithful)?;
                let (bytes, _, unmappable) = encoding.encode(text);
                if !unmappable {
                    return Ok(bytes.into_owned());
                }
                let lacks = |character: &char| {
                    let mut buffer = [0; 4];
                    encoding.encode(character.encode_utf8(&mut buffer)).2
                };
                let character = text.chars().find(lacks);
                Err(character.map_or(Unwritable::Unfaithful, Unwritable::Character))
            }
        }
    }

    /// Its name, where it is worth telling.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Utf8 => None,
            Self::MarkedUtf8 => Some("UTF-8 with byte order mark"),
            Self::DamagedUtf8 => Some("UTF-8 with invalid bytes, shown as \u{fffd}"),
            Self::Utf16Le => Some("UTF-16LE"),
            Self::Utf16Be => Some("UTF-16BE"),
            Self::Legacy(encoding) => Some(encoding.name()),
        }
    }
}

fn units(text: &[u8]) -> Result<Vec<u16>, Unwritable> {
    let text = std::str::from_utf8(text).map_err(|_| Unwritable::Unfaithful)?;
    Ok(text.encode_utf16().collect())
}

/// Whether the beginning of a file shows that it is not text: a NUL, as git judges it,
/// or more control characters than any text has.
pub fn is_binary(head: &[u8]) -> bool {
    if head.starts_with(UTF16LE_MARK) || head.starts_with(UTF16BE_MARK) {
        return false;
    }
    let is_odd = |byte: &&u8| **byte < 0x20 && !b"\t\n\r\x0c\x08\x1b".contains(byte);
    head.contains(&0) || head.iter().filter(is_odd).count() * 20 > head.len()
}

/// Whether the characters beyond ASCII are UTF-8 more often than not: in an older
/// encoding they are so only by rare accident.
fn is_mostly_utf8(raw: &[u8]) -> bool {
    let (mut valid, mut invalid) = (0, 0);
    for chunk in raw.utf8_chunks() {
        valid += chunk.valid().chars().filter(|one| !one.is_ascii()).count();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    valid >= invalid
}

fn guess(raw: &[u8]) -> &'static Encoding {
    use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(raw, true);
    detector.guess(None, Utf8Detection::Deny)
}

#[cfg(test)]
mod tests;
