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

/// What was learnt while telling.
pub(crate) struct Told {
    /// Calls and what they returned.
    pub lookups: Vec<Lookup>,
    /// How full the model's window was at the last reply.
    pub context_percent: Option<u8>,
}

impl Teller {
    pub(crate) fn new(means: Means, run: Uuid, stop: &CancellationToken) -> Self {
        Self { teller: tell::Teller::new(means, run, stop), lookups: Vec::new() }
    }

    /// Tells how the run ended.
    pub(crate) fn finish(self, outcome: &Outcome) -> Told {
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
            // Told with how long the next cycle waits for it.
            Stop::Budget { .. } => {}
            Stop::Aborted | Stop::Interrupted => {
                teller.line(kind::STEP, LogLevel::Info, "called off: the harness is stopping");
            }
            Stop::Failed(failure) => {
                teller.line(kind::ERROR, LogLevel::Error, &tell::failed(failure));
            }
        }
        Told { lookups, context_percent: teller.context_percent() }
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
