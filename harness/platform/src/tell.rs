//! The host of a run: calls the broker, keeps time, and tells what happens, line by
//! line (LOOP-21, LOOP-24, LOOP-25). What a run is for, and what is kept of it, is its
//! owner's, who hosts it through this.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foundry_client::LogLevel;
use foundry_kernel::{Control, Entry, Event, Failure, Host, ModelCall, Settled};
use foundry_llm::{LlmError, Reply};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::clock::Clock;
use crate::events::{EventLog, kind};
use crate::narrate;
use crate::relay::{Broker, Route};
use crate::text::instant;

/// Takes the lines of a host: the event log, or a terminal.
pub trait Lines: Send + Sync {
    /// A line of this kind, with details.
    fn write(&self, kind: &str, level: LogLevel, line: &str, data: Option<Value>);
}

impl Lines for EventLog {
    fn write(&self, kind: &str, level: LogLevel, line: &str, data: Option<Value>) {
        EventLog::write(self, kind, level, line, data);
    }
}

/// What runs are hosted with; shared by all runs of a process.
#[derive(Clone)]
pub struct Means {
    /// What answers model calls.
    pub broker: Arc<dyn Broker>,
    /// How the model is reached.
    pub route: Route,
    /// The time.
    pub clock: Clock,
    /// Where lines go.
    pub lines: Arc<dyn Lines>,
}

/// One run, hosted.
pub struct Teller {
    means: Means,
    run: Uuid,
    control: Control,
    /// Calls that have begun, by id.
    begun: Vec<(String, String)>,
    context_percent: Option<u8>,
}

/// A tool call that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Tool and arguments, as they were told.
    pub call: String,
    /// What the model reads of it, in full length.
    pub returned: String,
}

impl Teller {
    /// The host of run `run`, which is called off when `stop` is cancelled.
    pub fn new(means: Means, run: Uuid, stop: &CancellationToken) -> Self {
        let control = Control::under(stop);
        Self { means, run, control, begun: Vec::new(), context_percent: None }
    }

    /// How full the model's window was at the last reply, where it is known.
    pub fn context_percent(&self) -> Option<u8> {
        self.context_percent
    }

    /// A line of this run: several may go on side by side.
    pub fn line(&self, kind: &str, level: LogLevel, line: &str) {
        self.means.lines.write(kind, level, line, Some(json!({ "run": self.run })));
    }

    /// Tells what happens; gives the call that ended with it, if one did.
    pub fn tell(&mut self, event: &Event<'_>) -> Option<Ended> {
        match event {
            Event::ToolStarted { turn, call } => {
                let told = narrate::call(&call.call.name, &call.call.arguments);
                self.line(kind::TOOL, LogLevel::Info, &narrate::called(*turn, &told));
                self.begun.push((call.call.id.clone(), told));
            }
            Event::ToolSettled { turn, call_id, name, settled } => {
                return Some(self.settled(*turn, call_id, name, settled));
            }
            Event::Retry { attempt, until, error } => {
                let until = instant(*until);
                let line = format!("broker relay failed: {error}; retry {attempt} at {until}");
                self.line(kind::ERROR, LogLevel::Error, &line); // LOOP-24
            }
            Event::Truncated { turn } => {
                let line = format!("step {turn}: the reply was cut by the output limit");
                self.line(kind::WARNING, LogLevel::Warn, &line);
            }
            Event::Entry(Entry::Assistant { reply }) => self.measure(reply),
            Event::Entry(Entry::User { .. } | Entry::Results { .. } | Entry::Fold { .. })
            | Event::Calling(_) => {}
        }
        None
    }

    fn settled(&mut self, turn: u32, call_id: &str, name: &str, settled: &Settled) -> Ended {
        let returned = settled.text();
        let (level, line) = match settled {
            Settled::Output { .. } => (LogLevel::Info, narrate::returned(turn, name, &returned)),
            Settled::Failed { .. } | Settled::Unknown { .. } | Settled::NotRun { .. } => {
                (LogLevel::Warn, narrate::failed(turn, name, &returned))
            }
        };
        self.line(kind::TOOL, level, &line);
        let begun = self.begun.iter().position(|(id, _)| id == call_id);
        let call = match begun {
            Some(place) => self.begun.swap_remove(place).1,
            None => name.to_owned(),
        };
        Ended { call, returned }
    }

    fn measure(&mut self, reply: &Reply) {
        let Some(window) = self.means.route.window.filter(|window| *window > 0) else { return };
        let percent = reply.usage.total().saturating_mul(100) / window;
        self.context_percent = Some(u8::try_from(percent.min(100)).unwrap_or(100));
    }
}

/// `broker relay failed: HTTP 502: …` (LOOP-24).
pub fn failed(failure: &Failure) -> String {
    match failure {
        Failure::Model(error) => format!("broker relay failed: {error}"),
        Failure::Refused(_) => failure.to_string(),
    }
}

#[async_trait]
impl Host for Teller {
    fn now(&self) -> Timestamp {
        self.means.clock.now()
    }

    fn control(&self) -> Control {
        self.control.clone()
    }

    async fn call_model(&mut self, call: &ModelCall) -> Result<Reply, LlmError> {
        self.means.broker.ask(self.means.route.wire, &call.request).await
    }

    async fn wait_until(&mut self, at: Timestamp) {
        let wait = Duration::try_from(at.duration_since(self.now())).unwrap_or_default();
        tokio::time::sleep(wait).await;
    }

    async fn on_event(&mut self, event: Event<'_>) {
        drop(self.tell(&event));
    }
}
