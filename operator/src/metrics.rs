//! Counters: closed sets of labels, read at `/metrics`.

use std::cell::Cell;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Bounds of the reconcile histogram, in seconds.
const BOUNDS: [f64; 12] =
    [0.0005, 0.001, 0.002, 0.004, 0.006, 0.008, 0.016, 0.05, 0.1, 0.5, 2.5, 10.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reconciled {
    kind: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Passed {
    kind: &'static str,
    pass: &'static str,
}

tokio::task_local! {
    static HAS_WRITTEN: Cell<bool>;
}

/// What a reconcile did beside looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// It asked the cluster to change something.
    Writing,
    /// It found everything as it should be.
    Idle,
}

impl Pass {
    /// Runs a reconcile and says which it was.
    pub async fn of<F: Future>(reconcile: F) -> (F::Output, Self) {
        let watched = async {
            let outcome = reconcile.await;
            (outcome, if HAS_WRITTEN.get().get() { Self::Writing } else { Self::Idle })
        };
        HAS_WRITTEN.scope(Cell::new(false), watched).await
    }

    /// Notes a write of the reconcile that this is called in, if it is in one.
    pub fn note_write() {
        HAS_WRITTEN.try_with(|has_written| has_written.set(true)).ok();
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Writing => "writing",
            Self::Idle => "idle",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Written {
    verb: &'static str,
    kind: &'static str,
}

/// Everything this operator counts.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    reconciles: Family<Reconciled, Counter>,
    seconds: Family<Passed, Histogram>,
    writes: Family<Written, Counter>,
    leader: Gauge,
    process_starts: Counter,
}

impl Metrics {
    /// All counters at zero.
    pub fn new() -> Self {
        let reconciles = Family::<Reconciled, Counter>::default();
        let seconds = Family::<Passed, Histogram>::new_with_constructor(|| Histogram::new(BOUNDS));
        let writes = Family::<Written, Counter>::default();
        let leader = Gauge::default();
        let process_starts = Counter::default();
        let mut registry = Registry::with_prefix("foundry_operator");
        registry.register("reconciles", "Reconciles by kind and outcome", reconciles.clone());
        registry.register("reconcile_seconds", "Time of a reconcile", seconds.clone());
        registry.register("writes", "Writes to the cluster by verb and kind", writes.clone());
        registry.register("leader", "1 while this operator leads", leader.clone());
        registry.register(
            "process_starts",
            "Harness processes started by the local runtime",
            process_starts.clone(),
        );
        Self { registry: Arc::new(registry), reconciles, seconds, writes, leader, process_starts }
    }

    /// Counts a reconcile. `outcome` is `ok` or the category of an error.
    pub fn reconciled(
        &self,
        kind: &'static str,
        pass: Pass,
        outcome: &'static str,
        took: Duration,
    ) {
        self.reconciles.get_or_create(&Reconciled { kind, outcome }).inc();
        let passed = Passed { kind, pass: pass.as_str() };
        self.seconds.get_or_create(&passed).observe(took.as_secs_f64());
    }

    /// Counts a write.
    pub fn written(&self, verb: &'static str, kind: &'static str) {
        self.writes.get_or_create(&Written { verb, kind }).inc();
    }

    /// Counts a process of the local runtime.
    pub fn process_started(&self) {
        self.process_starts.inc();
    }

    /// Says whether this operator leads.
    pub fn leads(&self, leads: bool) {
        self.leader.set(i64::from(leads));
    }

    /// The text of `/metrics`.
    pub fn encode(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reconcile_is_a_writing_pass_when_it_wrote_and_others_at_once_are_not() {
        let writes = Pass::of(async {
            tokio::task::yield_now().await;
            Pass::note_write();
        });
        let ((_, one), (_, other)) = tokio::join!(writes, Pass::of(tokio::task::yield_now()));
        assert_eq!((one, other), (Pass::Writing, Pass::Idle));
        Pass::note_write();
    }
}
