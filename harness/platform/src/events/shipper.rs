//! Posts events in batches, again and again until they are stored.

use std::sync::Arc;
use std::time::Duration;

use foundry_client::{ClientError, LogEvent, LogLevel, MAX_LOG_EVENTS};
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{Shared, kind};
use crate::api::Api;
use crate::retry::Backoff;

/// How long events gather before they are posted together.
const GATHER: Duration = Duration::from_millis(100);
/// First and longest wait while the API does not take events.
const WAITS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

/// The task that posts what is written to an event log.
pub struct Shipper {
    shared: Arc<Shared>,
    api: Arc<dyn Api>,
    backoff: Backoff,
}

impl Shipper {
    pub(super) fn new(shared: Arc<Shared>, api: Arc<dyn Api>) -> Self {
        Self { shared, api, backoff: Backoff::new(WAITS.0, WAITS.1) }
    }

    /// Posts events as they come, until `stop`; then gives those that still wait
    /// until `flush` has passed.
    pub async fn run(mut self, stop: CancellationToken, flush: Duration) {
        // A post in flight when `stop` falls is dropped and repeated: its event ids
        // make the repeat harmless.
        stop.run_until_cancelled(self.ship_for_ever()).await;
        let deadline = Instant::now() + flush;
        // What is left after the deadline stays on the output; nobody waits longer.
        drop(timeout_at(deadline, self.ship_all()).await);
    }

    async fn ship_for_ever(&mut self) {
        loop {
            self.shared.queued.notified().await;
            sleep(GATHER).await;
            self.ship_all().await;
        }
    }

    /// Posts until nothing waits, however long the API is away.
    async fn ship_all(&mut self) {
        while !self.shared.queue().is_empty() {
            match self.ship_batch().await {
                Ok(()) => {
                    self.backoff.succeeded();
                    self.report_dropped();
                }
                Err(error) => self.wait_after(&error).await,
            }
        }
    }

    /// Posts the oldest events; those not stored are back in the queue after a failure.
    async fn ship_batch(&self) -> Result<(), ClientError> {
        let mut batch = Batch::take(&self.shared, MAX_LOG_EVENTS);
        match self.api.post_logs(&batch.events).await {
            Ok(()) => {
                batch.events.clear();
                Ok(())
            }
            Err(error) if refuses_the_events(&error) => self.ship_one_by_one(&mut batch).await,
            Err(error) => Err(error),
        }
    }

    /// The API will not have this batch as it is: one bad event must not hold up
    /// all that come after it.
    async fn ship_one_by_one(&self, batch: &mut Batch) -> Result<(), ClientError> {
        while let Some(event) = batch.events.first() {
            match self.api.post_logs(std::slice::from_ref(event)).await {
                Ok(()) => {}
                Err(error) if refuses_the_events(&error) => {
                    let line = format!("{error}; event {} is on this output alone", event.id);
                    self.shared.print(&self.shared.event(
                        kind::ERROR,
                        LogLevel::Error,
                        &line,
                        None,
                    ));
                }
                Err(error) => return Err(error),
            }
            batch.events.remove(0);
        }
        Ok(())
    }

    async fn wait_after(&mut self, error: &ClientError) {
        if !self.backoff.is_failing() {
            // Said once an outage, on the output alone: the log is what is away.
            let line = format!("{error}; events wait here until it takes them");
            self.shared.print(&self.shared.event(kind::ERROR, LogLevel::Error, &line, None));
        }
        sleep(self.backoff.failed()).await;
    }

    fn report_dropped(&self) {
        let dropped = self.shared.queue().take_dropped();
        if dropped > 0 {
            let line = format!("{dropped} older events are on the output alone: too many waited");
            let event = self.shared.event(kind::WARNING, LogLevel::Warn, &line, None);
            self.shared.print(&event);
            self.shared.queue().push(event);
        }
    }
}

/// Whether the API refuses these very events, now and always.
fn refuses_the_events(error: &ClientError) -> bool {
    matches!(error.status(), Some(400 | 413 | 422))
}

/// Events taken from the queue; those not stored go back when this is dropped, so
/// that no cancelled post loses any.
struct Batch {
    shared: Arc<Shared>,
    events: Vec<LogEvent>,
}

impl Batch {
    fn take(shared: &Arc<Shared>, limit: usize) -> Self {
        let events = shared.queue().take(limit);
        Self { shared: shared.clone(), events }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if !self.events.is_empty() {
            self.shared.queue().put_back(std::mem::take(&mut self.events));
        }
    }
}
