//! Wakes, drained beside the think cycle (LOOP-26).

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foundry_client::{RunRecord, Wake};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
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
/// How long a handler that a stop meets may take to end well: longer than a finished task
/// takes to bring its result away.
const LAST_MOMENTS: Duration = Duration::from_secs(6);

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

/// When the inbox may be read.
struct Pace {
    backoff: Backoff,
    next: Instant,
}

impl Inbox {
    /// Hands wakes to `handler`, one after another, until `stop`. A wake that is left
    /// without a record by then is handed out again.
    pub async fn drain(mut self, handler: &mut dyn Handler, stop: &CancellationToken) {
        let mut pace = Pace { backoff: Backoff::new(WAITS.0, WAITS.1), next: Instant::now() };
        while let Some(Some(wakes)) = stop.run_until_cancelled(self.read(&mut pace)).await {
            for wake in &wakes {
                // LIFE-17: the agent may have been stopped since they were read.
                if stop.is_cancelled() || !*self.active.borrow() {
                    break;
                }
                if let Some(Some(run)) = at_last(handler.handle(wake), stop).await {
                    self.runs.push(run);
                    // What a stop leaves unstored, the process stores at its end.
                    stop.run_until_cancelled(self.store_runs()).await;
                }
            }
        }
    }

    /// Reads the inbox once the agent should be running, again and again until it can be
    /// read; nothing when the process is on its way out.
    async fn read(&mut self, pace: &mut Pace) -> Option<Vec<Wake>> {
        loop {
            sleep_until(pace.next).await;
            if self.active.wait_for(|active| *active).await.is_err() {
                return None;
            }
            pace.next = Instant::now() + APART;
            match self.api.inbox().await {
                Ok(wakes) => {
                    pace.backoff.succeeded();
                    return Some(wakes);
                }
                Err(error) => {
                    if !pace.backoff.is_failing() {
                        self.log.error(&error.to_string());
                    }
                    sleep(pace.backoff.failed()).await;
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

/// What came of it. Work that is done when the process is told to stop must not be lost
/// over its last steps, or its wake would be handed out and all of it done again.
async fn at_last<T>(handling: impl Future<Output = T>, stop: &CancellationToken) -> Option<T> {
    let mut handling = pin!(handling);
    tokio::select! {
        biased;
        came = &mut handling => Some(came),
        () = stop.cancelled() => timeout(LAST_MOMENTS, handling).await.ok(),
    }
}

/// What a model is told of a wake.
pub fn woken_by(wake: &Wake) -> String {
    let about = [("message", &wake.message_id), ("thread", &wake.thread_id)]
        .into_iter()
        .filter_map(|(what, id)| Some(format!(" It is about {what} {}.", id.as_ref()?)))
        .collect::<String>();
    let instead = match &wake.addressed_to {
        Some(agent) => {
            format!(" It was for {agent}, an agent under you that is over; answer in its place.")
        }
        None => String::new(),
    };
    let said = match &wake.text {
        Some(text) => format!("\nWhat was said:\n{}", text.trim()),
        None => String::new(),
    };
    format!(
        "You were woken at {} by {}.{about}{instead}{said}",
        instant(wake.created_at),
        wake.source
    )
}

#[cfg(test)]
mod tests;
