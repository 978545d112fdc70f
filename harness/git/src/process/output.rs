//! What a command wrote, bounded while it streams: the beginning, the end, the true
//! size, and the whole in a file.

use std::collections::VecDeque;
use std::fmt;
use std::fs::{DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::process::geteuid;

/// How much of an output is kept where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimits {
    /// Bytes of the beginning kept in memory.
    pub head: usize,
    /// Bytes of the end kept in memory.
    pub tail: usize,
    /// Bytes written to the file of the full text.
    pub file: u64,
}

impl Default for OutputLimits {
    fn default() -> Self {
        // Together below what one tool result may hold.
        Self { head: 12 * 1024, tail: 28 * 1024, file: 256 * 1024 * 1024 }
    }
}

/// What a command wrote to stdout and stderr, in the order in which it came.
/// Its `Display` is the form a model reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The beginning; all of it when nothing was left out.
    pub head: String,
    /// The end; empty when nothing was left out.
    pub tail: String,
    /// Bytes that the command wrote.
    pub total_bytes: u64,
    /// Bytes between head and tail that are not here.
    pub omitted_bytes: u64,
    /// Where the full text is, when something was left out.
    pub full_text: Option<FullText>,
}

/// The file of an output that was too long to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FullText {
    /// The file.
    pub path: PathBuf,
    /// Bytes in it: fewer than the command wrote when even the file's limit was passed.
    pub bytes: u64,
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.head)?;
        if self.omitted_bytes == 0 {
            return Ok(());
        }
        if !self.head.ends_with('\n') {
            f.write_str("\n")?;
        }
        let (omitted, total) = (self.omitted_bytes, self.total_bytes);
        write!(f, "[{omitted} of {total} bytes left out")?;
        match &self.full_text {
            Some(file) if file.bytes == total => {
                write!(f, "; full output in {}", file.path.display())?;
            }
            Some(file) => {
                let (bytes, path) = (file.bytes, file.path.display());
                write!(f, "; its first {bytes} bytes are in {path}")?;
            }
            None => {}
        }
        f.write_str("]\n")?;
        f.write_str(&self.tail)
    }
}

/// Takes an output in as it comes.
pub(crate) struct Collector {
    limits: OutputLimits,
    path: PathBuf,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    file: Option<File>,
    written: u64,
    failed: Option<io::Error>,
}

impl Collector {
    /// Collects, and writes the full text to `path` once it does not fit.
    pub(crate) fn new(limits: OutputLimits, path: PathBuf) -> Self {
        Self {
            limits,
            path,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
            file: None,
            written: 0,
            failed: None,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let before = self.head.len() + self.tail.len();
        self.total += bytes.len() as u64;
        // Until now all of it is in memory: the last moment to write it out whole.
        if self.file.is_none() && before + bytes.len() > self.limits.head + self.limits.tail {
            self.spill();
        }
        if self.file.is_some() {
            self.write(bytes);
        }
        let free = self.limits.head - self.head.len();
        let (head, rest) = bytes.split_at(free.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.push_tail(rest);
    }

    fn push_tail(&mut self, bytes: &[u8]) {
        let limit = self.limits.tail;
        let bytes = &bytes[bytes.len().saturating_sub(limit)..];
        let surplus = (self.tail.len() + bytes.len()).saturating_sub(limit);
        self.tail.drain(..surplus);
        self.tail.extend(bytes);
    }

    fn spill(&mut self) {
        if self.failed.is_some() {
            return;
        }
        match create(&self.path) {
            Ok(file) => self.file = Some(file),
            Err(error) => return self.failed = Some(error),
        }
        let head = std::mem::take(&mut self.head);
        self.write(&head);
        self.head = head;
        let tail = std::mem::take(&mut self.tail);
        let (front, back) = tail.as_slices();
        self.write(front);
        self.write(back);
        self.tail = tail;
    }

    fn write(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.file else { return };
        let free = self.limits.file.saturating_sub(self.written);
        let length = usize::try_from(free).unwrap_or(usize::MAX).min(bytes.len());
        if let Err(error) = file.write_all(&bytes[..length]) {
            self.failed.get_or_insert(error);
            self.file = None;
            self.limits.file = 0;
            return;
        }
        self.written += length as u64;
    }

    /// What came. An error says that the file of the full text could not be written.
    pub(crate) fn finish(self) -> Result<Output, (PathBuf, io::Error)> {
        let Self { limits: _, path, head, tail, total, file, written, failed } = self;
        if let Some(error) = failed {
            return Err((path, error));
        }
        let tail: Vec<u8> = tail.into();
        let kept = (head.len() + tail.len()) as u64;
        if kept == total {
            let whole = [head, tail].concat();
            return Ok(Output {
                head: String::from_utf8_lossy(&whole).into_owned(),
                tail: String::new(),
                total_bytes: total,
                omitted_bytes: 0,
                full_text: None,
            });
        }
        let head = without_cut_end(&head);
        let tail = without_cut_start(&tail);
        Ok(Output {
            head: String::from_utf8_lossy(head).into_owned(),
            tail: String::from_utf8_lossy(tail).into_owned(),
            total_bytes: total,
            omitted_bytes: total - (head.len() + tail.len()) as u64,
            full_text: file.map(|_| FullText { path, bytes: written }),
        })
    }
}

/// Makes the file in a folder of our own: elsewhere somebody may have laid a link in its
/// place.
fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let found = std::fs::symlink_metadata(folder)?;
        if !found.is_dir() || found.uid() != geteuid().as_raw() {
            return Err(io::Error::other("its folder belongs to somebody else"));
        }
    }
    let no_link = i32::try_from(OFlags::NOFOLLOW.bits()).map_err(io::Error::other)?;
    File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(no_link)
        .open(path)
}

/// Leaves off a character that our own cut has parted.
fn without_cut_end(bytes: &[u8]) -> &[u8] {
    let from = bytes.len().saturating_sub(3);
    let last = (from..bytes.len()).rev().find(|&at| bytes[at] >= 0xC0);
    match last {
        Some(at) if is_incomplete(&bytes[at..]) => &bytes[..at],
        _ => bytes,
    }
}

fn is_incomplete(character: &[u8]) -> bool {
    std::str::from_utf8(character).is_err_and(|error| error.error_len().is_none())
}

fn without_cut_start(bytes: &[u8]) -> &[u8] {
    let cut = bytes.iter().take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count();
    &bytes[cut..]
}

#[cfg(test)]
mod tests;
