//! The agent's log lines, printed as they come.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use foundry_client::Client;
use foundry_client::wire::LogLine;
use k8s_openapi::jiff::Timestamp;

use super::AGENT;
use crate::printer::say;

/// A reader of the log, at some line.
pub(super) struct Log<'a> {
    api: &'a Client,
    after: i64,
}

/// One line.
pub(super) struct Line(LogLine);

impl Line {
    /// Whether this line is about that, in its message or its data.
    pub fn says(&self, word: &str) -> bool {
        let event = &self.0.event;
        event.message.contains(word)
            || event.data.as_ref().is_some_and(|data| data.to_string().contains(word))
    }
}

impl<'a> Log<'a> {
    /// Reads from the newest process on: what an earlier demo logged was told then.
    pub async fn from_the_newest_start(api: &'a Client) -> Result<Self> {
        let (mut after, mut newest) = (0, 0);
        loop {
            let page = api.read_logs(AGENT, after, Some(500), None).await?;
            let starts = page.items.iter().filter(|line| line.event.message == "harness started");
            newest = starts.map(|line| line.sequence - 1).max().unwrap_or(newest);
            if page.items.is_empty() {
                return Ok(Self { api, after: newest });
            }
            after = page.next_after;
        }
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
                let event = &line.0.event;
                say(&format!("  {}  {:<10} {}", clock(event.at), event.kind, event.message));
            }
            if lines.iter().any(&wished) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        bail!("{what}: not within {}s", deadline.as_secs())
    }
}

/// Time of day, UTC.
pub(super) fn clock(at: Timestamp) -> String {
    at.strftime("%H:%M:%S").to_string()
}
