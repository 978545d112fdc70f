//! The terminal: what happens goes to stderr line by line, plans and questions to stdout,
//! answers come from stdin.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use foundry_client::{LogLevel, QuestionKind};
use foundry_platform::events::kind as platform_kind;
use foundry_platform::tell::Lines;
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

use crate::desk::{Desk, DeskError, Question};
use crate::digest::sha256;
use crate::kind;
use crate::task::stage::{Plan, Reply};

/// Longest answer that is read.
const ANSWER_BYTES: usize = 64 * 1024;

/// Where a person reads.
#[derive(Clone)]
pub struct Terminal {
    shared: Arc<Shared>,
}

struct Shared {
    /// Progress.
    progress: Mutex<Box<dyn Write + Send>>,
    /// Plans, questions and the result.
    output: Mutex<Box<dyn Write + Send>>,
}

impl Terminal {
    /// A terminal that shows progress and results there.
    pub fn new(progress: Box<dyn Write + Send>, output: Box<dyn Write + Send>) -> Self {
        let shared = Shared { progress: Mutex::new(progress), output: Mutex::new(output) };
        Self { shared: Arc::new(shared) }
    }

    /// Shows something that a person asked for.
    pub fn show(&self, text: &str) {
        show(&self.shared.output, text);
    }
}

impl Lines for Terminal {
    fn write(&self, kind: &str, level: LogLevel, line: &str, _data: Option<Value>) {
        // Shown in full by other means, or of no use to somebody who sits in front of it.
        if matches!(
            kind,
            kind::PLAN | kind::QUESTION | kind::ANSWER | kind::COMMAND | platform_kind::CONTEXT
        ) {
            return;
        }
        let mark = match level {
            LogLevel::Warn => "! ",
            LogLevel::Error => "!! ",
            LogLevel::Debug | LogLevel::Info if kind == platform_kind::TOOL => "  ",
            LogLevel::Debug | LogLevel::Info => "",
        };
        show(&self.shared.progress, &format!("{mark}{line}\n"));
    }
}

/// A closed terminal must not stop the work, and there is nowhere to say it.
fn show(output: &Mutex<Box<dyn Write + Send>>, text: &str) {
    let text = visible(text);
    let mut output: MutexGuard<'_, _> = output.lock().unwrap_or_else(PoisonError::into_inner);
    drop(output.write_all(text.as_bytes()).and_then(|()| output.flush()));
}

/// The text without what a terminal obeys instead of showing it: a plan must read as it is
/// before a person approves it.
fn visible(text: &str) -> String {
    let is_obeyed = |c: char| match c {
        '\n' | '\t' => false,
        // Directions of writing, which can show words in another order.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        other => other.is_control(),
    };
    text.replace("\r\n", "\n").replace(is_obeyed, "\u{fffd}")
}

/// Asks at the terminal.
pub struct TerminalDesk {
    terminal: Terminal,
    input: tokio::sync::Mutex<Box<dyn AsyncBufRead + Send + Unpin>>,
}

impl TerminalDesk {
    /// Answers are read from `input`, a line each.
    pub fn new(terminal: Terminal, input: Box<dyn AsyncBufRead + Send + Unpin>) -> Self {
        Self { terminal, input: tokio::sync::Mutex::new(input) }
    }

    async fn line(&self) -> io::Result<Option<String>> {
        let mut input = self.input.lock().await;
        let mut line = Vec::new();
        loop {
            let read = input.fill_buf().await?;
            if read.is_empty() {
                // An answer that no line end follows is one; nothing at all is none.
                return Ok((!line.is_empty()).then(|| lossy(&line)));
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(read.len(), |end| end + 1);
            let room = ANSWER_BYTES.saturating_sub(line.len());
            line.extend_from_slice(&read[..taken.min(room)]);
            input.consume(taken);
            if end.is_some() {
                return Ok(Some(lossy(&line)));
            }
        }
    }
}

fn lossy(line: &[u8]) -> String {
    String::from_utf8_lossy(line).trim().to_owned()
}

#[async_trait]
impl Desk for TerminalDesk {
    async fn save_plan(&self, markdown: &str) -> Result<Plan, DeskError> {
        self.terminal.show(&format!("\n{}\n\n", markdown.trim()));
        Ok(Plan { markdown: markdown.to_owned(), sha256: sha256(markdown), location: None })
    }

    async fn ask(&self, question: &Question) -> Result<Reply, DeskError> {
        self.terminal.show(&prompt(question));
        loop {
            let line = self.line().await;
            let line = line
                .map_err(|error| DeskError::Closed(format!("failed to read an answer: {error}")))?;
            let Some(line) = line else {
                let words = "nobody answers: the input has ended; give --approve self to go on \
                             without answers";
                return Err(DeskError::Closed(words.to_owned()));
            };
            match answer(&line, question) {
                Some(text) => return Ok(Reply { text, plan_sha256: question.plan_sha256.clone() }),
                // An empty line approves nothing and changes nothing.
                None => self.terminal.show("> "),
            }
        }
    }

    fn answered_itself(&self, question: &Question, answer: &str) {
        self.terminal.show(&format!("\n? {}\n> {answer}\n", question.text.trim()));
    }
}

fn prompt(question: &Question) -> String {
    let Question { kind, text, options, recommended, plan_sha256: _ } = question;
    match kind {
        QuestionKind::Plan => {
            "Type `build` to begin the work, or say what is to change.\n> ".to_owned()
        }
        QuestionKind::Question => {
            let options: Vec<String> = options
                .iter()
                .enumerate()
                .map(|(place, option)| format!("  {}. {option}\n", place + 1))
                .collect();
            let options = options.concat();
            let recommended = recommended
                .as_ref()
                .map(|answer| format!("  An empty line means: {answer}\n"))
                .unwrap_or_default();
            format!("\n? {}\n{options}{recommended}> ", text.trim())
        }
    }
}

/// What a line means: an option by its number, the recommended answer when it is empty,
/// else its own words.
fn answer(line: &str, question: &Question) -> Option<String> {
    if line.is_empty() {
        return question.recommended.clone().filter(|_| question.kind == QuestionKind::Question);
    }
    let option = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    Some(match option.and_then(|place| question.options.get(place)) {
        Some(option) => option.clone(),
        None => line.to_owned(),
    })
}

#[cfg(test)]
mod tests;
