//! How lines end.

/// How one line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With a line feed.
    Lf,
    /// With a carriage return and a line feed.
    CrLf,
}

/// How the lines of a text end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Endings {
    /// Lines that end with a line feed alone.
    pub lf: usize,
    /// Lines that end with a carriage return and a line feed.
    pub crlf: usize,
}

impl Endings {
    /// Counts them.
    pub fn of(text: &[u8]) -> Self {
        let mut endings = Self::default();
        let mut before = 0;
        for byte in text {
            if *byte == b'\n' {
                if before == b'\r' {
                    endings.crlf += 1;
                } else {
                    endings.lf += 1;
                }
            }
            before = *byte;
        }
        endings
    }

    /// What a new line takes.
    pub fn usual(self) -> Ending {
        if self.crlf > self.lf { Ending::CrLf } else { Ending::Lf }
    }
}

/// Writes text whose lines end with a line feed with another ending.
pub fn with_ending(text: &[u8], ending: Ending) -> Vec<u8> {
    match ending {
        Ending::Lf => text.to_vec(),
        Ending::CrLf => {
            let mut written = Vec::with_capacity(text.len());
            for byte in text {
                if *byte == b'\n' {
                    written.push(b'\r');
                }
                written.push(*byte);
            }
            written
        }
    }
}

/// Text without the carriage returns that end lines, and for each of them the place of
/// its line feed in what is returned.
pub fn without_returns(text: &[u8]) -> (Vec<u8>, Vec<usize>) {
    let mut plain = Vec::with_capacity(text.len());
    let mut removed = Vec::new();
    for (at, byte) in text.iter().enumerate() {
        if *byte == b'\r' && text.get(at + 1) == Some(&b'\n') {
            removed.push(plain.len());
        } else {
            plain.push(*byte);
        }
    }
    (plain, removed)
}
