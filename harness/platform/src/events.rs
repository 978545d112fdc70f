//! The event log: each event is one JSON object on one line of the output and the
//! same event in the agent's log at the API (LOOP-01).

pub mod kind;
mod queue;
mod shipper;

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use foundry_client::{LogEvent, LogLevel};
use serde_json::Value;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::clock::Clock;
use crate::redact::{redact, redact_value};
use crate::text::cut;

use queue::Queue;
pub use shipper::Shipper;

/// Longest message of an event, in bytes.
const MESSAGE_BYTES: usize = 4 * 1024;
/// Longest data of an event, in bytes of JSON.
const DATA_BYTES: usize = 8 * 1024;

/// Where events go. Clones write to the same log.
#[derive(Clone)]
pub struct EventLog {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Clock,
    output: Mutex<Box<dyn Write + Send>>,
    queue: Mutex<Queue>,
    queued: Notify,
}

/// An event log, and the task that posts what is written to it.
pub fn event_log(
    clock: Clock,
    output: Box<dyn Write + Send>,
    api: Arc<dyn crate::api::Api>,
) -> (EventLog, Shipper) {
    let shared = Arc::new(Shared {
        clock,
        output: Mutex::new(output),
        queue: Mutex::new(Queue::default()),
        queued: Notify::new(),
    });
    (EventLog { shared: shared.clone() }, Shipper::new(shared, api))
}

impl EventLog {
    /// The ordinary course of things.
    pub fn info(&self, kind: &str, message: &str) {
        self.write(kind, LogLevel::Info, message, None);
    }

    /// Something to look at: kind `warning`.
    pub fn warn(&self, message: &str) {
        self.write(kind::WARNING, LogLevel::Warn, message, None);
    }

    /// Something failed: kind `error` (LOOP-24).
    pub fn error(&self, message: &str) {
        self.write(kind::ERROR, LogLevel::Error, message, None);
    }

    /// An event with details.
    pub fn write(&self, kind: &str, level: LogLevel, message: &str, data: Option<Value>) {
        let event = self.shared.event(kind, level, message, data);
        self.shared.print(&event);
        self.shared.enqueue(event);
    }

    /// A line on the output alone, for what has a route of its own at the API.
    pub fn print(&self, kind: &str, message: &str, data: Option<Value>) {
        self.shared.print(&self.shared.event(kind, LogLevel::Info, message, data));
    }
}

impl Shared {
    /// An event as it may be shown: redacted and bounded (LOOP-22).
    fn event(&self, kind: &str, level: LogLevel, message: &str, data: Option<Value>) -> LogEvent {
        LogEvent {
            id: Uuid::now_v7(),
            at: self.clock.now(),
            kind: kind.to_owned(),
            level,
            message: cut(&redact(message), MESSAGE_BYTES),
            data: data.map(redact_value).map(bounded),
        }
    }

    fn print(&self, event: &LogEvent) {
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        // A closed output must not stop an agent, and there is nowhere to say it.
        drop(output.write_all(&line).and_then(|()| output.flush()));
    }

    fn enqueue(&self, event: LogEvent) {
        self.queue().push(event);
        self.queued.notify_one();
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bounded(data: Value) -> Value {
    let bytes = data.to_string().len();
    if bytes <= DATA_BYTES {
        return data;
    }
    serde_json::json!({ "truncated": true, "bytes": bytes })
}

#[cfg(test)]
mod tests;
