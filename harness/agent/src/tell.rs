//! The host of a cycle: what the shared teller tells, and what the cycle log keeps of it.

use async_trait::async_trait;
use foundry_client::LogLevel;
use foundry_kernel::{Control, Event, Host, ModelCall, Outcome, Stop};
use foundry_llm::{LlmError, Reply};
use foundry_platform::events::kind;
use foundry_platform::narrate;
use foundry_platform::tell::{self, Ended, Means};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::working_set::Lookup;

/// One run, hosted.
pub(crate) struct Teller {
    teller: tell::Teller,
    lookups: Vec<Lookup>,
}

impl Teller {
    pub(crate) fn new(means: Means, run: Uuid, stop: &CancellationToken) -> Self {
        Self { teller: tell::Teller::new(means, run, stop), lookups: Vec::new() }
    }

    /// A line of this run.
    pub(crate) fn line(&self, kind: &str, level: LogLevel, line: &str) {
        self.teller.line(kind, level, line);
    }

    /// Tells how the run ended, unless that has more to it than a line; gives the calls and
    /// what they returned.
    pub(crate) fn finish(self, outcome: &Outcome) -> Vec<Lookup> {
        let Self { teller, lookups } = self;
        match &outcome.stop {
            // LOOP-23
            Stop::EndTurn => {
                let line = narrate::done(outcome.turns, outcome.text());
                teller.line(kind::STEP, LogLevel::Info, &line);
            }
            Stop::MaxTurns => {
                let turns = outcome.turns;
                let line = format!("reached {turns} turns; the rest is left to the next cycle");
                teller.line(kind::WARNING, LogLevel::Warn, &line); // LOOP-06
            }
            Stop::Aborted | Stop::Interrupted => {
                teller.line(kind::STEP, LogLevel::Info, "called off: the harness is stopping");
            }
            // Told with what follows from it for the next cycle.
            Stop::Budget { .. } | Stop::Failed(_) => {}
        }
        lookups
    }
}

#[async_trait]
impl Host for Teller {
    fn now(&self) -> Timestamp {
        self.teller.now()
    }

    fn control(&self) -> Control {
        self.teller.control()
    }

    async fn call_model(&mut self, call: &ModelCall) -> Result<Reply, LlmError> {
        self.teller.call_model(call).await
    }

    async fn wait_until(&mut self, at: Timestamp) {
        self.teller.wait_until(at).await;
    }

    async fn on_event(&mut self, event: Event<'_>) {
        if let Some(Ended { call, returned }) = self.teller.tell(&event) {
            self.lookups.push(Lookup::new(call, &returned));
        }
    }
}
