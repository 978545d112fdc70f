//! `grep`

use std::fs::File;
use std::io;

use cap_std::fs::Metadata;
use foundry_kernel::Effect;
use grep_matcher::{LineTerminator, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch};
use serde::Deserialize;

use super::{Job, only_permitted, root};
use crate::locate::Last;
use crate::walk::{Cancel, Kind, Walk};
use crate::{Error, Workspace, shown};

/// Lines shown in all, and of one file.
const MOST_LINES: usize = 200;
const MOST_IN_FILE: usize = 50;
/// Bytes shown.
const MOST_BYTES: usize = 40_000;
/// Bytes of a line shown, around the match.
const WIDTH: usize = 300;
/// Bytes searched.
const MOST_SEARCHED: u64 = 2 << 30;
/// Memory of one search: for the longest line, and for the pattern.
const MOST_MEMORY: usize = 8 << 20;

pub struct Grep;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    pattern: String,
    #[serde(default = "root")]
    path: String,
}

impl Job for Grep {
    const NAME: &'static str = "grep";
    const DESCRIPTION: &'static str = "Search the files of the clone for a regular expression.";
    const SCHEMA: &'static str = r#"{"type": "object", "additionalProperties": false, "required": ["pattern"], "properties": {
        "pattern": {"type": "string", "minLength": 1, "description": "Regular expression."},
        "path": {"type": "string", "default": ".", "description": "Folder or file to search."}}}"#;
    const EFFECT: Effect = Effect::Read;

    type Arguments = Arguments;

    fn run(
        &self,
        workspace: &Workspace,
        Arguments { pattern, path }: Arguments,
        cancel: &Cancel,
    ) -> Result<String, Error> {
        let mut search = Search::new(&pattern, cancel)?;
        let place = workspace.locate(&path, Last::Follow)?;
        if !place.is_folder() {
            let (file, found) = place.open_file("")?;
            search.file(&place.shown(), &file, &found)?;
            return Ok(search.words(&pattern));
        }
        let mut walk = Walk::new(workspace, &place, cancel)?;
        while !search.is_full()
            && let Some(found) = walk.step()?
        {
            if found.kind != Kind::File {
                continue;
            }
            match walk.open(&found) {
                Ok((file, metadata)) => {
                    search.file(&shown::path(&found.path), &file, &metadata)?;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {} // gone meanwhile
                Err(_) => search.unfinished += 1,
            }
        }
        let notes = walk.left_out().words() + &only_permitted(workspace, &place);
        Ok(search.words(&pattern) + &notes)
    }
}

/// One search through many files.
struct Search<'a> {
    matcher: RegexMatcher,
    searcher: Searcher,
    cancel: &'a Cancel,
    text: String,
    lines: usize,
    files: usize,
    searched: u64,
    unfinished: usize,
}

impl<'a> Search<'a> {
    fn new(pattern: &str, cancel: &'a Cancel) -> Result<Self, Error> {
        let matcher = RegexMatcherBuilder::new()
            .crlf(true)
            .multi_line(true) // so that ^ and $ stand at lines
            .size_limit(MOST_MEMORY)
            .dfa_size_limit(MOST_MEMORY)
            .build(pattern)
            .map_err(|error| {
                Error::Refused(format!(
                    "{pattern:?} is not a regular expression for one line: {error}"
                ))
            })?;
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .heap_limit(Some(MOST_MEMORY))
            .binary_detection(BinaryDetection::quit(0))
            .build();
        let text = String::new();
        Ok(Self { matcher, searcher, cancel, text, lines: 0, files: 0, searched: 0, unfinished: 0 })
    }

    fn is_full(&self) -> bool {
        self.lines >= MOST_LINES || self.text.len() >= MOST_BYTES || self.searched >= MOST_SEARCHED
    }

    fn file(&mut self, path: &str, file: &File, metadata: &Metadata) -> Result<(), Error> {
        let mut hits = Hits {
            matcher: &self.matcher,
            cancel: self.cancel,
            text: String::new(),
            room: MOST_BYTES.saturating_sub(self.text.len()),
            most: MOST_IN_FILE.min(MOST_LINES - self.lines),
            shown: 0,
            more: 0,
            searched: 0,
        };
        let done = self.searcher.search_file(&self.matcher, file, &mut hits);
        if self.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let Hits { text, shown, more, searched, .. } = hits;
        self.searched += searched;
        if done.is_err() {
            // The line that did not fit into memory; what came before it is shown.
            self.searched += metadata.len();
            self.unfinished += 1;
        }
        if shown + more > 0 {
            self.files += 1;
            self.lines += shown;
            shown::push(&mut self.text, format_args!("{path}\n{text}"));
            if more > 0 {
                shown::push(&mut self.text, format_args!("  [{more} more in this file]\n"));
            }
        }
        Ok(())
    }

    fn words(&self, pattern: &str) -> String {
        let mut words = if self.lines == 0 {
            format!("no line matches {pattern:?}")
        } else {
            self.text.trim_end_matches('\n').to_owned()
        };
        if self.searched >= MOST_SEARCHED {
            words += "\n[stopped: too much to search; name a folder further down]";
        } else if self.is_full() {
            shown::push(
                &mut words,
                format_args!(
                    "\n[stopped after {} in {}: there may be more; narrow the pattern or the path]",
                    shown::count(self.lines, "line"),
                    shown::count(self.files, "file")
                ),
            );
        }
        if self.unfinished > 0 {
            shown::push(
                &mut words,
                format_args!(
                    "\n[not searched to the end: {} with lines that are too long, or unreadable]",
                    shown::count(self.unfinished, "file")
                ),
            );
        }
        words
    }
}

/// The matching lines of one file.
struct Hits<'a> {
    matcher: &'a RegexMatcher,
    cancel: &'a Cancel,
    text: String,
    room: usize,
    most: usize,
    shown: usize,
    more: usize,
    searched: u64,
}

impl Sink for Hits<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, hit: &SinkMatch<'_>) -> io::Result<bool> {
        if self.shown < self.most && self.text.len() < self.room {
            let number = hit.line_number().unwrap_or_default();
            let line = excerpt(self.matcher, hit.bytes());
            shown::push(&mut self.text, format_args!("  {number}: {line}\n"));
            self.shown += 1;
        } else {
            self.more += 1;
        }
        Ok(!self.cancel.is_cancelled())
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.searched = finish.byte_count();
        Ok(())
    }
}

/// The line, or of a long line the part around the match.
fn excerpt(matcher: &RegexMatcher, line: &[u8]) -> String {
    let line = line.trim_ascii_end();
    if line.len() <= WIDTH {
        return clean(line);
    }
    let at = matcher.find(line).ok().flatten().map_or(0, |found| found.start());
    let from = at.saturating_sub(WIDTH / 3).min(line.len() - WIDTH);
    let part = clean(line.get(from..from + WIDTH).unwrap_or_default());
    format!("… {} … [column {}, {} bytes in all]", part.trim(), at + 1, line.len())
}

/// Text without characters that a terminal or a model would stumble over.
fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().map(|one| if one.is_control() && one != '\t' { ' ' } else { one }).collect()
}
