//! `read_file`

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};

use foundry_kernel::Effect;
use serde::Deserialize;

use super::{Job, MOST_LOADED, load, too_large};
use crate::locate::Last;
use crate::text::{self, Ending, Endings, Text};
use crate::walk::Cancel;
use crate::{Error, Workspace, shown};

/// Lines in one answer (CODE-11).
const MOST_LINES: usize = 2_000;
/// Bytes in one answer.
const MOST_BYTES: usize = 64_000;
/// Characters of a line.
const WIDTH: usize = 2_000;

pub struct ReadFile;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
}

impl Job for ReadFile {
    const NAME: &'static str = "read_file";
    const DESCRIPTION: &'static str =
        "Read a text file, at most 2,000 lines at a time. Binary files are refused.";
    const SCHEMA: &'static str = r#"{"type": "object", "additionalProperties": false, "required": ["path"], "properties": {
        "path": {"type": "string", "minLength": 1, "description": "File, from the root of the clone."},
        "offset": {"type": "integer", "minimum": 1, "default": 1, "description": "First line to read."},
        "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "default": 2000, "description": "Most lines to read."}}}"#;
    const EFFECT: Effect = Effect::Read;
    const MOST_BYTES: usize = 80_000;

    type Arguments = Arguments;

    fn run(
        &self,
        workspace: &Workspace,
        Arguments { path, offset, limit }: Arguments,
        cancel: &Cancel,
    ) -> Result<String, Error> {
        let place = workspace.locate(&path, Last::Follow)?;
        let (file, found) = place.open_file("use list_dir")?;
        let path = place.shown();
        let first = offset.unwrap_or(1).max(1);
        let most = limit.unwrap_or(u64::MAX).clamp(1, MOST_LINES as u64);
        let mut page = Page::new(first, most);
        if found.len() > MOST_LOADED {
            return stream(file, &path, page, cancel);
        }
        let Some(raw) = load(file, &path)? else { return Err(too_large(&path)) };
        let text =
            Text::decode(raw).map_err(|text::NotText| Error::Binary { path: path.clone() })?;
        let readable = text.readable();
        if readable.is_empty() {
            return Ok(format!("[{path} is empty]"));
        }
        let mut all = 0;
        for line in readable.split_inclusive('\n') {
            all += 1;
            page.line(line);
        }
        let ends = readable.ends_with('\n');
        let peculiarities = peculiarities(&text, ends && page.next() > all);
        page.end(Some(all), &peculiarities).map_err(|only| past_the_end(&path, first, only))
    }
}

/// The lines of one answer.
struct Page {
    first: u64,
    most: u64,
    /// Number of the next line that comes by.
    next: u64,
    shown: u64,
    text: String,
    is_full: bool,
}

impl Page {
    fn new(first: u64, most: u64) -> Self {
        Self { first, most, next: 1, shown: 0, text: String::new(), is_full: false }
    }

    /// Takes the next line of the file, with its ending.
    fn line(&mut self, line: &str) {
        let number = self.next;
        self.next += 1;
        if number < self.first || self.is_full {
            return;
        }
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = shown::line(line.strip_suffix('\r').unwrap_or(line), WIDTH);
        if self.shown == self.most || (self.shown > 0 && self.text.len() + line.len() > MOST_BYTES)
        {
            self.is_full = true;
            return;
        }
        shown::push(&mut self.text, format_args!("{number:>6}\t{line}\n"));
        self.shown += 1;
    }

    /// Number of the line after the last one shown.
    fn next(&self) -> u64 {
        self.first + self.shown
    }

    /// The answer; how many lines there are when none of them was wanted.
    fn end(self, all: Option<u64>, peculiarities: &str) -> Result<String, u64> {
        let (first, next) = (self.first, self.next());
        if self.shown == 0 {
            return Err(all.unwrap_or(self.next - 1));
        }
        let note = match all {
            Some(all) if next > all && first == 1 => String::new(),
            Some(all) if next > all => format!("[lines {first}-{all} of {all}]"),
            Some(all) => {
                format!("[lines {first}-{} of {all}; go on with offset {next}]", next - 1)
            }
            None => format!("[lines {first}-{}; go on with offset {next}]", next - 1),
        };
        Ok((self.text + &note + peculiarities).trim_end_matches('\n').to_owned())
    }
}

/// What an edit of this text will keep, where it is not the usual.
fn peculiarities(text: &Text, ends_with_line: bool) -> String {
    let mut words: Vec<&str> = text.form.name().into_iter().collect();
    let endings = Endings::of(&text.bytes);
    match (endings.usual(), endings) {
        (_, Endings { lf: 1.., crlf: 1.. }) => words.push("mixed line endings"),
        (Ending::CrLf, _) => words.push("CRLF line endings"),
        (Ending::Lf, _) => {}
    }
    if !ends_with_line && !text.bytes.ends_with(b"\n") {
        words.push("no line feed at the end");
    }
    if words.is_empty() { String::new() } else { format!("[{}]", words.join(", ")) }
}

fn past_the_end(path: &str, first: u64, all: u64) -> Error {
    let all = shown::count(usize::try_from(all).unwrap_or(usize::MAX), "line");
    Error::Refused(format!("{path} has {all}: there is no line {first}"))
}

/// Reads a file that is too large to be held: UTF-8 only, and its length in lines stays
/// unknown.
fn stream(file: File, path: &str, mut page: Page, cancel: &Cancel) -> Result<String, Error> {
    let failed = |source| Error::io("read", path)(source);
    let mut reader = BufReader::with_capacity(text::HEAD, file);
    let head = reader.fill_buf().map_err(failed)?;
    if text::is_binary(head) {
        return Err(Error::Binary { path: path.to_owned() });
    }
    // An error of length none is a character cut at the end of what was read.
    if std::str::from_utf8(head).is_err_and(|error| error.error_len().is_some()) {
        return Err(too_large(path));
    }
    let first = page.first;
    let mut line = Vec::new();
    while !page.is_full {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        line.clear();
        // Of an endless line only the beginning is kept.
        let most = WIDTH as u64 * 4 + 1;
        let read = reader.by_ref().take(most).read_until(b'\n', &mut line).map_err(failed)?;
        if read == 0 {
            let all = page.next - 1;
            return page.end(Some(all), "").map_err(|only| past_the_end(path, first, only));
        }
        let is_cut = line.last() != Some(&b'\n') && read as u64 == most;
        if is_cut {
            reader.skip_until(b'\n').map_err(failed)?;
        }
        let text = String::from_utf8_lossy(&line);
        if is_cut {
            let start: String = text.chars().take(WIDTH).collect();
            page.line(&(start + " [… cut: a very long line]"));
        } else {
            page.line(&text);
        }
    }
    page.end(None, "").map_err(|only| past_the_end(path, first, only))
}
