//! The host of a run: calls the broker, keeps time, and tells what happens, line by
//! line (LOOP-21, LOOP-23 to LOOP-25).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foundry_client::LogLevel;
use foundry_kernel::{Control, Entry, Event, Failure, Host, ModelCall, Outcome, Settled, Stop};
use foundry_llm::{LlmError, Reply};
use foundry_platform::clock::Clock;
use foundry_platform::events::{EventLog, kind};
use foundry_platform::narrate;
use foundry_platform::text::instant;
use jiff::Timestamp;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::relay::{Broker, Route};
use crate::working_set::Lookup;

/// One run, hosted.
pub(crate) struct Teller {
    broker: Arc<dyn Broker>,
    route: Route,
    clock: Clock,
    log: EventLog,
    run: Uuid,
    control: Control,
    /// Calls that have begun, by id.
    begun: Vec<(String, String)>,
    lookups: Vec<Lookup>,
    context_percent: Option<u8>,
}

/// What was learnt while telling.
pub(crate) struct Told {
    /// Calls and what they returned.
    pub lookups: Vec<Lookup>,
    /// How full the model's window was at the last reply.
    pub context_percent: Option<u8>,
}

impl Teller {
    pub(crate) fn new(
        broker: Arc<dyn Broker>,
        route: Route,
        clock: Clock,
        log: EventLog,
        run: Uuid,
        stop: &CancellationToken,
    ) -> Self {
        Self {
            broker,
            route,
            clock,
            log,
            run,
            control: Control::under(stop),
            begun: Vec::new(),
            lookups: Vec::new(),
            context_percent: None,
        }
    }

    /// Tells how the run ended.
    pub(crate) fn finish(self, outcome: &Outcome) -> Told {
        match &outcome.stop {
            Stop::EndTurn => {
                self.line(
                    kind::STEP,
                    LogLevel::Info,
                    &narrate::done(outcome.turns, outcome.text()),
                );
            }
            Stop::MaxTurns => {
                let turns = outcome.turns;
                let line = format!("reached {turns} turns; the rest is left to the next cycle");
                self.line(kind::WARNING, LogLevel::Warn, &line); // LOOP-06
            }
            // Told with how long the next cycle waits for it.
            Stop::Budget { .. } => {}
            Stop::Aborted | Stop::Interrupted => {
                self.line(kind::STEP, LogLevel::Info, "called off: the harness is stopping");
            }
            Stop::Failed(failure) => self.line(kind::ERROR, LogLevel::Error, &failed(failure)),
        }
        Told { lookups: self.lookups, context_percent: self.context_percent }
    }

    /// A line of this run: evaluations and wakes go on side by side.
    fn line(&self, kind: &str, level: LogLevel, line: &str) {
        self.log.write(kind, level, line, Some(json!({ "run": self.run })));
    }

    fn settled(&mut self, turn: u32, call_id: &str, name: &str, settled: &Settled) {
        let text = settled.text();
        let (level, line) = match settled {
            Settled::Output { .. } => (LogLevel::Info, narrate::returned(turn, name, &text)),
            Settled::Failed { .. } | Settled::Unknown { .. } | Settled::NotRun { .. } => {
                (LogLevel::Warn, narrate::failed(turn, name, &text))
            }
        };
        self.line(kind::TOOL, level, &line);
        let begun = self.begun.iter().position(|(id, _)| id == call_id);
        let call = match begun {
            Some(place) => self.begun.swap_remove(place).1,
            None => name.to_owned(),
        };
        self.lookups.push(Lookup::new(call, &text));
    }

    fn measure(&mut self, reply: &Reply) {
        let Some(window) = self.route.window.filter(|window| *window > 0) else { return };
        let percent = reply.usage.total().saturating_mul(100) / window;
        self.context_percent = Some(u8::try_from(percent.min(100)).unwrap_or(100));
    }
}

/// `broker relay failed: HTTP 502: …` (LOOP-24).
fn failed(failure: &Failure) -> String {
    match failure {
        Failure::Model(error) => format!("broker relay failed: {error}"),
        Failure::Refused(_) => failure.to_string(),
    }
}

#[async_trait]
impl Host for Teller {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn control(&self) -> Control {
        self.control.clone()
    }

    async fn call_model(&mut self, call: &ModelCall) -> Result<Reply, LlmError> {
        self.broker.ask(self.route.wire, &call.request).await
    }

    async fn wait_until(&mut self, at: Timestamp) {
        let wait = Duration::try_from(at.duration_since(self.clock.now())).unwrap_or_default();
        tokio::time::sleep(wait).await;
    }

    async fn on_event(&mut self, event: Event<'_>) {
        match event {
            Event::ToolStarted { turn, call } => {
                let told = narrate::call(&call.call.name, &call.call.arguments);
                self.line(kind::TOOL, LogLevel::Info, &narrate::called(turn, &told));
                self.begun.push((call.call.id.clone(), told));
            }
            Event::ToolSettled { turn, call_id, name, settled } => {
                self.settled(turn, call_id, name, settled);
            }
            Event::Retry { attempt, until, error } => {
                let until = instant(until);
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
    }
}
