//! The host of a run: calls the broker, keeps time, and tells what happens, line by
//! line (LOOP-21, LOOP-24, LOOP-25). What a run is for, and what is kept of it, is its
//! owner's, who hosts it through this.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foundry_client::LogLevel;
use foundry_kernel::{Control, Entry, Event, Failure, Host, ModelCall, Purpose, Settled, Stage};
use foundry_llm::{LlmError, Provider, Reply};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::clock::Clock;
use crate::events::{EventLog, kind};
use crate::heartbeat::Vitals;
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
    /// The model that takes over when that one fails for good, where there is one.
    pub fallback: Option<Fallback>,
    /// The time.
    pub clock: Clock,
    /// Where lines go.
    pub lines: Arc<dyn Lines>,
    /// What the heartbeat tells; here, how full the window is.
    pub vitals: Arc<Vitals>,
}

/// A model that takes over for another (KERN-42).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fallback {
    /// Its name, which must differ from the other's.
    pub model: String,
    /// Who serves it.
    pub provider: Provider,
}

impl Means {
    /// Who serves the model that a request names.
    fn provider(&self, model: &str) -> Provider {
        match &self.fallback {
            Some(fallback) if fallback.model == model => fallback.provider,
            Some(_) | None => self.route.provider,
        }
    }
}

/// One run, hosted.
pub struct Teller {
    means: Means,
    run: Uuid,
    control: Control,
    /// Calls that have begun, by id.
    begun: Vec<(String, String)>,
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
        Self { means, run, control, begun: Vec::new() }
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
                let (failed, until) = (call_failed(error), instant(*until));
                let line = format!("{failed}; retry {attempt} at {until}");
                self.line(kind::ERROR, LogLevel::Error, &line); // LOOP-24
            }
            Event::Fallback { from, to, error } => {
                let failed = call_failed(error);
                let line = format!("model {to} takes over from {from}: {failed}");
                self.line(kind::WARNING, LogLevel::Warn, &line); // KERN-42
            }
            Event::Compacted { stage, before_tokens, after_tokens } => {
                let how = shortened(*stage);
                let line = format!("about {before_tokens} tokens became {after_tokens}: {how}");
                self.line(kind::COMPACTION, LogLevel::Info, &line);
            }
            Event::Context { percent } => self.gauge(*percent),
            Event::Truncated { turn } => {
                let line = format!("step {turn}: the reply was cut by the output limit");
                self.line(kind::WARNING, LogLevel::Warn, &line);
            }
            Event::Entry(
                Entry::User { .. }
                | Entry::Assistant { .. }
                | Entry::Results { .. }
                | Entry::Fold { .. }
                | Entry::Stubs { .. },
            )
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

    /// At each change of the percentage and not otherwise, whichever run it is of
    /// (CODE-40).
    fn gauge(&self, percent: u8) {
        if self.means.vitals.set_context_percent(percent) {
            let line = format!("{percent} % of the model's window is used");
            self.line(kind::CONTEXT, LogLevel::Info, &line);
        }
    }
}

fn shortened(stage: Stage) -> &'static str {
    match stage {
        Stage::Micro => "older results are shown as a line each",
        Stage::Summary => "the older part is shown as a summary by the model",
        Stage::Structural => "the older part is shown as a list of what was done",
    }
}

/// `broker relay failed: HTTP 502: …` (LOOP-24), or what else stopped a run.
pub fn failed(failure: &Failure) -> String {
    match failure {
        Failure::Model(error) => call_failed(error),
        Failure::Refused(_)
        | Failure::ContextTooSmall { .. }
        | Failure::Empty
        | Failure::Repeating { .. }
        | Failure::NoOutput => failure.to_string(),
    }
}

fn call_failed(error: &LlmError) -> String {
    format!("broker relay failed: {error}")
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
        let (broker, request) = (&self.means.broker, &call.request);
        let provider = self.means.provider(&request.model);
        match call.purpose {
            Purpose::Turn => broker.ask(provider, request).await,
            Purpose::Summary => broker.complete(provider, request).await, // KERN-04
        }
    }

    async fn wait_until(&mut self, at: Timestamp) {
        let wait = Duration::try_from(at.duration_since(self.now())).unwrap_or_default();
        tokio::time::sleep(wait).await;
    }

    async fn on_event(&mut self, event: Event<'_>) {
        drop(self.tell(&event));
    }
}

#[cfg(test)]
mod tests;
