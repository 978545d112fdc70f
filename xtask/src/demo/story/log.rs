//! The agent's log lines, printed as they come.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use foundry_client::Client;
use foundry_client::wire::LogLine;
use k8s_openapi::jiff::Timestamp;

use super::AGENT;
use crate::printer::say;

/// Characters of a line of which only the beginning is shown.
const BEGINNING: usize = 100;

/// A reader of the log, at some line.
pub(in crate::demo) struct Log {
    api: Client,
    after: i64,
}

/// One line.
pub(in crate::demo) struct Line(LogLine);

impl Line {
    /// Whether this line is about that, in its message or its data.
    pub fn says(&self, word: &str) -> bool {
        let event = &self.0.event;
        event.message.contains(word)
            || event.data.as_ref().is_some_and(|data| data.to_string().contains(word))
    }
}

impl Log {
    /// Reads from here on; an agent that is not there yet has logged nothing.
    pub async fn at_its_end(api: Client) -> Result<Self> {
        let mut after = 0;
        loop {
            let page = match api.read_logs(AGENT, after, Some(500), None).await {
                Ok(page) => page,
                Err(error) if error.status() == Some(404) => break,
                Err(error) => return Err(error.into()),
            };
            if page.items.is_empty() {
                break;
            }
            after = page.next_after;
        }
        Ok(Self { api, after })
    }

    /// Prints lines until one is as wished.
    pub async fn follow_until(
        &mut self,
        what: &str,
        deadline: Duration,
        wished: impl Fn(&Line) -> bool,
    ) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < deadline {
            let page = self.api.read_logs(AGENT, self.after, Some(500), None).await?;
            self.after = page.next_after.max(self.after);
            let lines: Vec<_> = page.items.into_iter().map(Line).collect();
            for line in &lines {
                show(&line.0);
            }
            if lines.iter().any(&wished) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        bail!("{what}: not within {}s", deadline.as_secs())
    }
}

/// Prints one line.
pub(in crate::demo) fn show(line: &LogLine) {
    let event = &line.event;
    say(&format!("  {}  {:<10} {}", clock(event.at), event.kind, event.message));
}

/// Prints the beginning of one line.
pub(in crate::demo) fn show_beginning(line: &LogLine) {
    let event = &line.event;
    let mut message: String = event.message.chars().take(BEGINNING).collect();
    if message.len() < event.message.len() {
        message.push('…');
    }
    say(&format!("  {}  {:<10} {message}", clock(event.at), event.kind));
}

/// Time of day, UTC.
pub(in crate::demo) fn clock(at: Timestamp) -> String {
    at.strftime("%H:%M:%S").to_string()
}
