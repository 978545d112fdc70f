//! What every reconcile shares.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::Client;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::caches::Caches;
use crate::clock::Clock;
use crate::config::Config;
use crate::error::Error;
use crate::events::Events;
use crate::mailboxes::Mailboxes;
use crate::metrics::Metrics;
use crate::runtime::Runtime;
use crate::slugs::Slugs;

/// Longest wait after a failed reconcile.
const LONGEST_BACKOFF: Duration = Duration::from_mins(2);

/// What every reconcile shares.
pub struct Context {
    /// The control plane.
    pub client: Client,
    /// Settings.
    pub config: Config,
    /// The time.
    pub clock: Clock,
    /// Where harnesses run.
    pub runtime: Arc<dyn Runtime>,
    /// Caches by namespace.
    pub caches: BTreeMap<String, Caches>,
    /// Who has which slug.
    pub slugs: Arc<Slugs>,
    /// Registration of mailboxes, where the installation has a place for it.
    pub mailboxes: Option<Arc<Mailboxes>>,
    /// The one recorder of events.
    pub events: Events,
    /// Counters.
    pub metrics: Metrics,
    /// Failures of each object since its last success.
    pub backoff: Backoff,
    /// Turns of reconciles, over all namespaces.
    pub turns: Semaphore,
}

/// Reconciles at once over all namespaces, beside the bounds of each. More of them would not
/// be done sooner: each has a connection of its own, and a control plane with more to do than
/// it can answers none of them in time, and the renewal of the lease neither. Whoever came
/// first has the next turn, whatever its namespace.
pub const RECONCILES_AT_ONCE: usize = 64;

impl Context {
    /// The caches of a watched namespace, once they are whole.
    pub async fn caches(&self, namespace: &str) -> Result<&Caches, Error> {
        for caches in self.caches.values() {
            // Slugs are unique over all of them, so all must be whole.
            caches.wait_until_whole().await?;
        }
        self.caches.get(namespace).ok_or(Error::CachesNotReady)
    }
}

/// Failures of each object in a row, by UID.
#[derive(Debug, Default)]
pub struct Backoff {
    failures: Mutex<HashMap<String, Failures>>,
}

#[derive(Debug, Default)]
struct Failures {
    count: u32,
    /// Before this the control plane does not want to hear of the object.
    not_before: Option<Instant>,
}

impl Backoff {
    /// Most objects remembered: an object that is gone leaves by this bound.
    const MOST: usize = 10_000;

    /// Forgets the failures of an object that went well.
    pub fn reset(&self, uid: &str) {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).remove(uid);
    }

    /// Counts one more failure and says how long to wait: `first` after the first one,
    /// and twice as long after each further one.
    pub fn next(&self, uid: &str, first: Duration) -> Duration {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.len() >= Self::MOST && !failures.contains_key(uid) {
            failures.clear();
        }
        let Failures { count, .. } = failures.entry(uid.to_owned()).or_default();
        let wait = first.saturating_mul(1 << (*count).min(10)).min(LONGEST_BACKOFF);
        *count += 1;
        wait
    }

    /// Takes note that the control plane wants to be left alone with an object; gives the
    /// time that will be kept to.
    pub fn leave_alone(&self, uid: &str, asked: Duration, now: Instant) -> Duration {
        let wait = asked.min(LONGEST_BACKOFF);
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.entry(uid.to_owned()).or_default().not_before = Some(now + wait);
        wait
    }

    /// How long an object is to be left alone yet. A watch wakes it sooner.
    pub fn left_alone(&self, uid: &str, now: Instant) -> Option<Duration> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let left = failures.get(uid)?.not_before?.saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }

    /// How often in a row an object failed.
    pub fn count(&self, uid: &str) -> u32 {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.get(uid).map_or(0, |failures| failures.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_waits_longer_after_each_failure_and_starts_over_after_a_success() {
        let first = Duration::from_millis(500);
        let backoff = Backoff::default();
        assert_eq!(backoff.next("a", first), first);
        assert_eq!(backoff.next("a", first), first * 2);
        assert_eq!(backoff.next("b", first), first, "one object never delays another");
        for _ in 0..40 {
            backoff.next("a", first);
        }
        assert_eq!(backoff.next("a", first), LONGEST_BACKOFF);
        assert_eq!(backoff.count("a"), 43);
        backoff.reset("a");
        assert_eq!(backoff.next("a", first), first);
    }

    #[test]
    fn an_object_is_left_alone_as_long_as_is_asked_and_no_longer_than_the_longest_wait() {
        let (backoff, now) = (Backoff::default(), Instant::now());
        let second = Duration::from_secs(1);
        assert_eq!(backoff.left_alone("a", now), None);
        assert_eq!(backoff.leave_alone("a", second * 7, now), second * 7);
        assert_eq!(backoff.left_alone("a", now + second), Some(second * 6));
        assert_eq!(backoff.left_alone("b", now), None, "one object never delays another");
        assert_eq!(backoff.left_alone("a", now + second * 7), None);
        assert_eq!(backoff.leave_alone("a", second * 9_999, now), LONGEST_BACKOFF);
    }
}
