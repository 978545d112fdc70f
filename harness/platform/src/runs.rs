//! Run records on their way to the API (LOOP-28).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foundry_client::{ClientError, RunRecord};

use crate::api::Api;
use crate::events::EventLog;

/// Most records that wait while the API is away.
const WAITING: usize = 200;

/// Stores run records, again and again: each has its own id, so that a repeat is
/// stored once.
pub struct Recorder {
    api: Arc<dyn Api>,
    log: EventLog,
    waiting: Mutex<VecDeque<RunRecord>>,
    /// One brings records away at a time.
    storing: tokio::sync::Mutex<()>,
}

impl Recorder {
    /// A recorder with nothing to store.
    pub fn new(api: Arc<dyn Api>, log: EventLog) -> Self {
        Self { api, log, waiting: Mutex::default(), storing: tokio::sync::Mutex::default() }
    }

    /// Takes a record; [`Self::store`] brings it away. It is taken at once, whatever is on
    /// its way: a stop must find every record here.
    pub fn push(&self, run: RunRecord) {
        let mut waiting = self.waiting();
        if waiting.len() == WAITING
            && let Some(lost) = waiting.pop_front()
        {
            self.log.warn(&format!("run record {} is lost: too many wait", lost.id));
        }
        waiting.push_back(run);
    }

    /// Stores what waits, oldest first, up to the first failure that may pass.
    pub async fn store(&self) -> Result<(), ClientError> {
        let _turn = self.storing.lock().await;
        while let Some(run) = self.oldest() {
            match self.api.record_run(&run).await {
                Ok(()) => {}
                Err(error) if may_pass(&error) => return Err(error),
                // It would be refused for ever, and hold up all that come after it.
                Err(error) => self.log.error(&format!("{error}; run record {} is lost", run.id)),
            }
            self.waiting().retain(|waiting| waiting.id != run.id);
        }
        Ok(())
    }

    fn oldest(&self) -> Option<RunRecord> {
        self.waiting().front().cloned()
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<RunRecord>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A refused caller may be let in again: access comes and goes with tokens and
/// policies. A refused record stays refused.
fn may_pass(error: &ClientError) -> bool {
    error.is_transient() || matches!(error.status(), Some(401 | 403 | 404))
}
