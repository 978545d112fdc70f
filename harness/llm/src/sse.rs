//! Server-sent events out of bytes, in whatever chunks they come.
//!
//! The decoder owns no stream and waits for nothing. An event that lies whole in one
//! chunk is handed on without a copy; what is cut is kept, up to [`MAX_EVENT`].

use std::str::Utf8Error;

use memchr::memchr2;

/// Most bytes of one event, comments and names included. More is refused as soon as it
/// shows, not once it is all there.
pub const MAX_EVENT: usize = 8 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event that carries data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// Its data lines, joined by line breaks.
    pub data: &'a str,
    /// Whether it was called `error`, by its name or (llama.cpp) in place of `data`.
    pub is_error: bool,
}

/// Bytes that are no events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// More than [`MAX_EVENT`].
    #[error("one event of the stream is larger than {MAX_EVENT} bytes")]
    TooLarge,
    /// Data that is no text.
    #[error("the stream is not UTF-8: {0}")]
    NotUtf8(Utf8Error),
}

/// Takes bytes and gives events. After an error it is of no further use.
#[derive(Debug, Default)]
pub struct Decoder {
    /// A line whose end has not come yet.
    line: Vec<u8>,
    /// What of the event under way had to be kept.
    data: Vec<u8>,
    held: Held,
    is_error: bool,
    /// A line ended with a carriage return; a line feed may belong to it.
    after_return: bool,
    /// Some line has been read, so that no byte order mark can follow.
    begun: bool,
}

/// What `data` holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Held {
    /// Nothing of an event.
    #[default]
    Nothing,
    /// Data of the event under way.
    Data,
    /// An event that was handed out.
    Spent,
}

impl Decoder {
    /// A decoder that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next event that ends in `input`, which is shortened by what was read. `None`
    /// when all is read.
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Event<'a>>, Malformed> {
        if self.held == Held::Spent {
            self.data.clear();
            self.held = Held::Nothing;
            self.is_error = false;
        }
        // The event's only data line so far, while it need not be copied.
        let mut whole: Option<&'i [u8]> = None;
        while let Some(part) = self.line_end(input) {
            let ended = if self.line.is_empty() {
                self.read_line(part, &mut whole)?
            } else {
                self.keep_line(part, 0)?;
                let line = std::mem::take(&mut self.line);
                self.read_kept_line(&line, &mut whole)?
            };
            if ended {
                return self.hand_out(whole).map(Some);
            }
        }
        if let Some(first) = whole {
            self.keep_data(first)?;
        }
        let rest = std::mem::take(input);
        self.keep_line(rest, self.data.len())?;
        Ok(None)
    }

    /// Takes a line of the input. Says whether it ended an event.
    fn read_line<'a>(
        &mut self,
        line: &'a [u8],
        whole: &mut Option<&'a [u8]>,
    ) -> Result<bool, Malformed> {
        let line = self.without_mark(line);
        if line.is_empty() {
            return Ok(self.is_over(whole.is_some()));
        }
        let Some(value) = self.data_of(line) else { return Ok(false) };
        if self.held == Held::Data || whole.is_some() {
            self.join(value, whole)?;
        } else {
            *whole = Some(value);
        }
        Ok(false)
    }

    /// Takes a line that came in several chunks, and is ours to copy from.
    fn read_kept_line(
        &mut self,
        line: &[u8],
        whole: &mut Option<&[u8]>,
    ) -> Result<bool, Malformed> {
        let line = self.without_mark(line);
        if line.is_empty() {
            return Ok(self.is_over(whole.is_some()));
        }
        let Some(value) = self.data_of(line) else { return Ok(false) };
        if self.held == Held::Data || whole.is_some() {
            self.join(value, whole)?;
        } else {
            self.keep_data(value)?;
        }
        Ok(false)
    }

    /// A blank line ends an event, if there is one: a name alone is none.
    fn is_over(&mut self, has_whole: bool) -> bool {
        let over = self.held == Held::Data || has_whole;
        self.is_error &= over;
        over
    }

    fn join(&mut self, value: &[u8], whole: &mut Option<&[u8]>) -> Result<(), Malformed> {
        if let Some(first) = whole.take() {
            self.keep_data(first)?;
        }
        self.keep_data(b"\n")?;
        self.keep_data(value)
    }

    /// The last event, where the stream ended without the blank line behind it.
    pub fn finish(&mut self) -> Result<Option<Event<'_>>, Malformed> {
        // Three: the first may belong to a carriage return, the second end a line.
        self.next(&mut b"\n\n\n".as_slice())
    }

    /// The bytes up to the next end of a line, which is passed over.
    fn line_end<'a>(&mut self, input: &mut &'a [u8]) -> Option<&'a [u8]> {
        if self.after_return && !input.is_empty() {
            self.after_return = false;
            *input = input.strip_prefix(b"\n").unwrap_or(input);
        }
        let end = memchr2(b'\n', b'\r', input)?;
        let (line, rest) = input.split_at(end);
        *input = match rest {
            [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
            [] => rest,
        };
        self.after_return = rest == b"\r";
        Some(line)
    }

    fn without_mark<'l>(&mut self, line: &'l [u8]) -> &'l [u8] {
        if std::mem::replace(&mut self.begun, true) {
            line
        } else {
            line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)
        }
    }

    /// The value of a line that carries data.
    fn data_of<'l>(&mut self, line: &'l [u8]) -> Option<&'l [u8]> {
        if let Some(value) = line.strip_prefix(b"data: ") {
            return Some(value); // what nearly every line is
        }
        let (name, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => Some(value),
            b"event" => {
                self.is_error = value == b"error";
                None
            }
            b"error" => {
                self.is_error = true;
                Some(value)
            }
            _ => None, // a comment, or a field of no use here
        }
    }

    fn hand_out<'a>(&'a mut self, whole: Option<&'a [u8]>) -> Result<Event<'a>, Malformed> {
        self.held = Held::Spent;
        let data = whole.unwrap_or(&self.data);
        if data.len() > MAX_EVENT {
            return Err(Malformed::TooLarge);
        }
        let data = std::str::from_utf8(data).map_err(Malformed::NotUtf8)?;
        Ok(Event { data, is_error: self.is_error })
    }

    fn keep_line(&mut self, part: &[u8], beside: usize) -> Result<(), Malformed> {
        if self.line.len() + part.len() + beside > MAX_EVENT {
            return Err(Malformed::TooLarge);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn keep_data(&mut self, value: &[u8]) -> Result<(), Malformed> {
        self.held = Held::Data;
        if self.data.len() + value.len() > MAX_EVENT {
            return Err(Malformed::TooLarge);
        }
        self.data.extend_from_slice(value);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
