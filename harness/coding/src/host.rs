//! The host of an attempt's run: tells it line by line, counts its turns, and says to the
//! model what is to be said in the middle of it.

use std::sync::Arc;

use async_trait::async_trait;
use foundry_kernel::{Control, Entry, Event, Host, ModelCall, UserInput};
use foundry_llm::{LlmError, Reply};
use foundry_platform::tell::Teller;
use jiff::Timestamp;

use crate::prompt::{self, Delivery};
use crate::task::attempt::{Phase, Watch};
use crate::task::ledger::Ledger;

/// One attempt, hosted.
pub(crate) struct AttemptHost {
    pub teller: Teller,
    pub watch: Watch,
    pub phase: Phase,
    pub delivery: Delivery,
    pub max_turns: u32,
    pub ledger: Arc<Ledger>,
    /// Whether any tool was run.
    pub acted: bool,
}

impl AttemptHost {
    fn replied(&mut self, reply: &Reply) {
        self.ledger.turn();
        let control = self.teller.control();
        for hint in self.watch.replied(!reply.calls.is_empty()) {
            let words = prompt::hint(hint, self.phase, self.delivery, self.max_turns);
            control.steer(UserInput::from(words));
        }
    }
}

#[async_trait]
impl Host for AttemptHost {
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
        drop(self.teller.tell(&event));
        match event {
            Event::Entry(Entry::Assistant { reply }) => self.replied(reply),
            Event::ToolStarted { .. } => self.acted = true,
            Event::Entry(
                Entry::User { .. }
                | Entry::Results { .. }
                | Entry::Fold { .. }
                | Entry::Stubs { .. },
            )
            | Event::Calling(_)
            | Event::Retry { .. }
            | Event::Fallback { .. }
            | Event::Compacted { .. }
            | Event::Context { .. }
            | Event::Truncated { .. }
            | Event::ToolSettled { .. } => {}
        }
    }
}
