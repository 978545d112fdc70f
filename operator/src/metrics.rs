//! Counters: closed sets of labels, read at `/metrics`. `docs/metrics.md` says what each
//! means and what to alert on.

mod census;
mod pass;

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use crate::error::{Class, Error};
pub use census::{Census, take};
pub use pass::Pass;

/// Bounds of the reconcile histogram, in seconds.
const BOUNDS: [f64; 12] =
    [0.0005, 0.001, 0.002, 0.004, 0.006, 0.008, 0.016, 0.05, 0.1, 0.5, 2.5, 10.0];
/// Bounds of the histogram of waits in the queue, in seconds.
const WAITS: [f64; 12] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];
/// Most objects whose wait is measured at once; beyond that, some are not.
const MOST_WAITS: usize = 20_000;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reconciled {
    kind: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Passed {
    kind: &'static str,
    pass: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Written {
    verb: &'static str,
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Failed {
    class: &'static str,
    category: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    phase: &'static str,
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

/// Everything this operator counts.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    counters: Counters,
    gauges: census::Gauges,
    count: Arc<Mutex<Option<Count>>>,
    arrivals: Arc<Arrivals>,
}

/// Takes the census.
type Count = Box<dyn Fn() -> Census + Send + Sync>;

#[derive(Clone, Default)]
struct Counters {
    reconciles: Family<Reconciled, Counter>,
    seconds: Seconds,
    waits: Waits,
    errors: Family<Failed, Counter>,
    watch_failures: Family<Kind, Counter>,
    writes: Family<Written, Counter>,
    run_ends: Family<Ended, Counter>,
    fences: Family<Outcome, Counter>,
    mailbox_calls: Family<Outcome, Counter>,
    leader: Gauge,
    terms: Counter,
    terms_lost: Counter,
    process_starts: Counter,
}

#[derive(Clone)]
struct Seconds(Family<Passed, Histogram>);

impl Default for Seconds {
    fn default() -> Self {
        Self(Family::new_with_constructor(|| Histogram::new(BOUNDS)))
    }
}

#[derive(Clone)]
struct Waits(Family<Kind, Histogram>);

impl Default for Waits {
    fn default() -> Self {
        Self(Family::new_with_constructor(|| Histogram::new(WAITS)))
    }
}

impl Metrics {
    /// All counters at zero.
    pub fn new() -> Self {
        let counters = Counters::default();
        let mut registry = Registry::with_prefix("foundry_operator");
        counters.register(&mut registry);
        Self {
            gauges: census::Gauges::registered(&mut registry),
            registry: Arc::new(registry),
            counters,
            count: Arc::default(),
            arrivals: Arc::default(),
        }
    }

    /// Takes note that an object came into the queue of its kind.
    pub fn came(&self, kind: &'static str, uid: &str) {
        self.arrivals.note(kind, uid, Instant::now());
    }

    /// Takes note that a reconcile begins.
    pub fn began(&self, kind: &'static str, uid: &str) {
        if let Some(since) = self.arrivals.take(kind, uid) {
            self.counters
                .waits
                .0
                .get_or_create(&Kind { kind })
                .observe(since.elapsed().as_secs_f64());
        }
    }

    /// Counts a reconcile.
    pub fn reconciled(
        &self,
        kind: &'static str,
        pass: Pass,
        error: Option<&Error>,
        took: Duration,
    ) {
        let outcome = error.map_or("ok", Error::category);
        self.counters.reconciles.get_or_create(&Reconciled { kind, outcome }).inc();
        let passed = Passed { kind, pass: pass.as_str() };
        self.counters.seconds.0.get_or_create(&passed).observe(took.as_secs_f64());
        if let Some(error) = error {
            let class = match error.class() {
                Class::Transient => "transient",
                Class::Refused => "refused",
                Class::Bug => "bug",
            };
            self.counters.errors.get_or_create(&Failed { class, category: error.category() }).inc();
        }
    }

    /// Counts a watch that failed and is begun again.
    pub fn watch_failed(&self, kind: &'static str) {
        self.counters.watch_failures.get_or_create(&Kind { kind }).inc();
    }

    /// Counts a write.
    pub fn written(&self, verb: &'static str, kind: &'static str) {
        self.counters.writes.get_or_create(&Written { verb, kind }).inc();
    }

    /// Counts a coding run that came to an end.
    pub fn run_ended(&self, phase: &'static str, reason: &'static str) {
        self.counters.run_ends.get_or_create(&Ended { phase, reason }).inc();
    }

    /// Counts a pod that was to be begun, by whether its network policies stood.
    pub fn fenced(&self, error: Option<&Error>) {
        let outcome = error.map_or("ok", Error::category);
        self.counters.fences.get_or_create(&Outcome { outcome }).inc();
    }

    /// Counts a call of the people service.
    pub fn mailbox_called(&self, outcome: &'static str) {
        self.counters.mailbox_calls.get_or_create(&Outcome { outcome }).inc();
    }

    /// Counts a process of the local runtime.
    pub fn process_started(&self) {
        self.counters.process_starts.inc();
    }

    /// Says whether this operator leads.
    pub fn leads(&self, leads: bool) {
        let led = self.counters.leader.set(i64::from(leads)) == 1;
        if leads && !led {
            self.counters.terms.inc();
        }
        if !leads {
            self.count_by(None);
        }
    }

    /// Counts a lease that was lost, its work dropped.
    pub fn lost_the_lease(&self) {
        self.counters.terms_lost.inc();
    }

    /// How objects are counted when somebody reads; of operators that do not lead, nothing
    /// is, or each object would be counted twice.
    pub fn count_by(&self, count: Option<Count>) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) = count;
    }

    /// The text of `/metrics`.
    pub fn encode(&self) -> Result<String, std::fmt::Error> {
        // Held to the end: two readers at once would each see half of the other's census.
        let count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        self.gauges.set(count.as_ref().map(|count| count()));
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

impl Counters {
    fn register(&self, registry: &mut Registry) {
        let Self {
            reconciles,
            seconds,
            waits,
            errors,
            watch_failures,
            writes,
            run_ends,
            fences,
            mailbox_calls,
            leader,
            terms,
            terms_lost,
            process_starts,
        } = self.clone();
        registry.register("reconciles", "Reconciles by kind and outcome", reconciles);
        registry.register("reconcile_seconds", "Time of a reconcile", seconds.0);
        registry.register("queue_seconds", "Time from a watch event to its reconcile", waits.0);
        registry.register("errors", "Reconciles that failed, by class and category", errors);
        registry.register(
            "watch_failures",
            "Watches that failed and were begun anew",
            watch_failures,
        );
        registry.register("writes", "Writes to the cluster by verb and kind", writes);
        registry.register("coding_run_ends", "Coding runs that ended", run_ends);
        registry.register("fences", "Pods to begin, by whether their policies stood", fences);
        registry.register("mailbox_calls", "Calls of the people service by outcome", mailbox_calls);
        registry.register("leader", "1 while this operator leads", leader);
        registry.register("terms", "Times this operator took the lease", terms);
        registry.register("terms_lost", "Times this operator lost the lease", terms_lost);
        registry.register(
            "process_starts",
            "Harness processes started by the local runtime",
            process_starts,
        );
    }
}

/// When objects came into the queue, until their reconcile begins.
#[derive(Debug, Default)]
struct Arrivals {
    // By the hash of kind and UID: a name would cost more than the instant.
    hasher: RandomState,
    since: Mutex<HashMap<u64, Instant>>,
}

impl Arrivals {
    /// An object that waits already has waited since then.
    fn note(&self, kind: &'static str, uid: &str, now: Instant) {
        let key = self.hasher.hash_one((kind, uid));
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        if since.len() >= MOST_WAITS {
            // Those that were deleted before their turn never leave otherwise.
            since.clear();
        }
        since.entry(key).or_insert(now);
    }

    fn take(&self, kind: &'static str, uid: &str) -> Option<Instant> {
        let key = self.hasher.hash_one((kind, uid));
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let found = since.remove(&key);
        if since.is_empty() && since.capacity() > 1_024 {
            since.shrink_to_fit(); // a first list is long, and comes once
        }
        found
    }
}

#[cfg(test)]
mod tests;
