//! Signs of life: one at once, then one each 30 seconds (LOOP-02).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::time::Duration;

use foundry_client::Heartbeat;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::api::Api;
use crate::clock::Clock;
use crate::events::{EventLog, kind};

/// Stands for a context that was not measured yet.
const UNKNOWN: u8 = u8::MAX;

/// What a heartbeat tells of the process, kept up to date by whoever knows it.
#[derive(Debug)]
pub struct Vitals {
    process_id: Uuid,
    generation: AtomicI64,
    context_percent: AtomicU8,
}

impl Vitals {
    /// A process that has read nothing yet.
    pub fn new(process_id: Uuid) -> Self {
        Self { process_id, generation: AtomicI64::new(0), context_percent: AtomicU8::new(UNKNOWN) }
    }

    /// Takes note of a start number that was read. Numbers only rise: a lower one was
    /// read earlier.
    pub fn set_generation(&self, generation: i64) {
        self.generation.fetch_max(generation, Ordering::Relaxed);
    }

    /// Takes note of how full the model's window is; says whether that is another
    /// percentage than before (CODE-40).
    pub fn set_context_percent(&self, percent: u8) -> bool {
        let percent = percent.min(100);
        self.context_percent.swap(percent, Ordering::Relaxed) != percent
    }

    fn beat(&self, clock: &Clock) -> Heartbeat {
        let context_percent = self.context_percent.load(Ordering::Relaxed);
        Heartbeat {
            at: clock.now(),
            process_id: self.process_id,
            generation: self.generation.load(Ordering::Relaxed),
            context_percent: (context_percent != UNKNOWN).then_some(context_percent),
        }
    }
}

/// Beats until `stop`. A heartbeat is one row at the API and one line on the
/// output, never a log line.
pub async fn run(
    api: Arc<dyn Api>,
    log: EventLog,
    clock: Clock,
    vitals: Arc<Vitals>,
    every: Duration,
    stop: CancellationToken,
) {
    let mut ticks = interval(every);
    // One that was late is not made up for.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut failing = false;
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        let beat = vitals.beat(&clock);
        log.print(kind::HEARTBEAT, "alive", serde_json::to_value(beat).ok());
        let Some(sent) = stop.run_until_cancelled(api.heartbeat(&beat)).await else { return };
        match sent {
            Ok(()) => failing = false,
            Err(error) if !failing => {
                log.error(&error.to_string());
                failing = true;
            }
            // Said once; the next beat tries again.
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
