//! Events that wait to be posted. Bounded: while the API is away, the oldest go
//! first, and how many went is said once it is back.

use std::collections::VecDeque;

use foundry_client::LogEvent;

/// Most events that wait.
pub(super) const EVENTS: usize = 2_000;
/// Most bytes of messages and data that wait.
pub(super) const BYTES: usize = 1024 * 1024;
/// Most bytes in one post.
const BATCH_BYTES: usize = 256 * 1024;
/// What an event weighs beside its message and data.
const OVERHEAD: usize = 200;

#[derive(Default)]
pub(super) struct Queue {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    dropped: u64,
}

struct Waiting {
    event: LogEvent,
    bytes: usize,
}

impl Queue {
    pub(super) fn push(&mut self, event: LogEvent) {
        let data = event.data.as_ref().map_or(0, |data| data.to_string().len());
        let bytes = OVERHEAD + event.message.len() + data;
        self.bytes += bytes;
        self.waiting.push_back(Waiting { event, bytes });
        self.fit();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes the oldest events, at most `limit` and at most a post's bytes.
    pub(super) fn take(&mut self, limit: usize) -> Vec<LogEvent> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < limit
            && let Some(next) = self.waiting.front()
            && (batch.is_empty() || bytes + next.bytes <= BATCH_BYTES)
            && let Some(next) = self.waiting.pop_front()
        {
            self.bytes -= next.bytes;
            bytes += next.bytes;
            batch.push(next.event);
        }
        batch
    }

    /// Puts events back that could not be posted, in front of those that came since.
    pub(super) fn put_back(&mut self, batch: Vec<LogEvent>) {
        let since = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        for event in batch.into_iter().chain(since.into_iter().map(|waiting| waiting.event)) {
            self.push(event);
        }
    }

    /// How many events were lost to the bound since this was last asked.
    pub(super) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    fn fit(&mut self) {
        while self.waiting.len() > EVENTS || self.bytes > BYTES {
            let Some(oldest) = self.waiting.pop_front() else { return };
            self.bytes -= oldest.bytes;
            self.dropped += 1;
        }
    }
}
