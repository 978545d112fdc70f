//! Wakes, drained beside the think cycle (LOOP-26).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foundry_client::{RunRecord, Wake};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::api::Api;
use crate::events::EventLog;
use crate::retry::Backoff;
use crate::runs::Recorder;
use crate::text::instant;

/// First and longest wait after a failed read.
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// The least time between two reads: an inbox that answers at once, with nothing or
/// with what was left pending, must not make us spin.
const APART: Duration = Duration::from_secs(1);

/// Does what a wake asks for.
#[async_trait]
pub trait Handler: Send {
    /// Handles one wake. A record that names the wake acknowledges it; none, or one
    /// that does not, leaves it pending, to be handed out again.
    async fn handle(&mut self, wake: &Wake) -> Option<RunRecord>;
}

/// What draining an inbox takes.
pub struct Inbox {
    /// Where wakes come from.
    pub api: Arc<dyn Api>,
    /// Where failures are told.
    pub log: EventLog,
    /// Where run records go.
    pub runs: Arc<Recorder>,
    /// Whether the agent should be running: a stopped one leaves its wakes where
    /// they are (LIFE-17).
    pub active: watch::Receiver<bool>,
}

impl Inbox {
    /// Hands wakes to `handler`, one after another, until `stop`.
    pub async fn drain(mut self, handler: &mut dyn Handler, stop: &CancellationToken) {
        // Dropped at `stop`: an unrecorded wake is handed out again.
        stop.run_until_cancelled(self.drain_for_ever(handler)).await;
    }

    async fn drain_for_ever(&mut self, handler: &mut dyn Handler) {
        let mut backoff = Backoff::new(WAITS.0, WAITS.1);
        // Ends with the sender: the process is on its way out.
        while self.active.wait_for(|active| *active).await.is_ok() {
            let next = Instant::now() + APART;
            match self.api.inbox().await {
                Ok(wakes) => {
                    backoff.succeeded();
                    for wake in &wakes {
                        if let Some(run) = handler.handle(wake).await {
                            self.runs.push(run).await;
                            self.store_runs().await;
                        }
                    }
                    sleep_until(next).await;
                }
                Err(error) => {
                    if !backoff.is_failing() {
                        self.log.error(&error.to_string());
                    }
                    sleep(backoff.failed()).await;
                }
            }
        }
    }

    /// A wake that was handled must be acknowledged before the inbox is read again,
    /// or it would be handled twice.
    async fn store_runs(&self) {
        let mut backoff = Backoff::new(WAITS.0, WAITS.1);
        while let Err(error) = self.runs.store().await {
            if !backoff.is_failing() {
                self.log.error(&error.to_string());
            }
            sleep(backoff.failed()).await;
        }
    }
}

/// What a model is told of a wake.
pub fn woken_by(wake: &Wake) -> String {
    let about = [("message", &wake.message_id), ("thread", &wake.thread_id)]
        .into_iter()
        .filter_map(|(what, id)| Some(format!(" It is about {what} {}.", id.as_ref()?)))
        .collect::<String>();
    let said = match &wake.text {
        Some(text) => format!("\nWhat was said:\n{}", text.trim()),
        None => String::new(),
    };
    format!("You were woken at {} by {}.{about}{said}", instant(wake.created_at), wake.source)
}

#[cfg(test)]
mod tests;
