//! The one clock of a task, shared by planning and building (CODE-24). It stands still
//! while a question or a plan waits for a person.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// How much time a task has, unless set (CODE-24).
pub const WALL_CLOCK: Duration = Duration::from_mins(30);

/// How much of a task's time is used. Told the time, it never looks itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskClock {
    limit: Duration,
    used: Duration,
    /// Since when it runs; nothing while it stands still.
    since: Option<Instant>,
    /// How many wait for a person right now.
    waiting: u32,
}

impl TaskClock {
    /// A clock that starts now.
    pub fn start(limit: Duration, now: Instant) -> Self {
        Self { limit, used: Duration::ZERO, since: Some(now), waiting: 0 }
    }

    /// Somebody waits for a person from now on.
    pub fn stand_still(&mut self, now: Instant) {
        self.waiting += 1;
        self.used = self.used(now);
        self.since = None;
    }

    /// That wait is over; the clock runs again when it was the last one.
    pub fn run_again(&mut self, now: Instant) {
        self.waiting = self.waiting.saturating_sub(1);
        if self.waiting == 0 {
            self.since.get_or_insert(now);
        }
    }

    /// How much time is used.
    pub fn used(&self, now: Instant) -> Duration {
        let running = self.since.map(|since| now.saturating_duration_since(since));
        self.used.saturating_add(running.unwrap_or_default())
    }

    /// How much time is left.
    pub fn left(&self, now: Instant) -> Duration {
        self.limit.saturating_sub(self.used(now))
    }

    /// When the time is up, if nothing stands still before then.
    fn ends_at(&self) -> Option<Instant> {
        Some(self.since? + self.limit.saturating_sub(self.used))
    }
}

/// A task's clock, as its parts share it.
#[derive(Clone, Debug)]
pub struct Stopwatch {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    clock: Mutex<TaskClock>,
    changed: Notify,
}

/// The clock stands still until this is dropped.
#[derive(Debug)]
pub struct StandsStill(Stopwatch);

impl Stopwatch {
    /// A clock that starts now.
    pub fn start(limit: Duration) -> Self {
        let clock = Mutex::new(TaskClock::start(limit, Instant::now()));
        Self { shared: Arc::new(Shared { clock, changed: Notify::new() }) }
    }

    /// Lets the clock stand still while a person is waited for.
    #[must_use]
    pub fn stand_still(&self) -> StandsStill {
        self.clock().stand_still(Instant::now());
        self.shared.changed.notify_one();
        StandsStill(self.clone())
    }

    /// How much time is left.
    pub fn left(&self) -> Duration {
        self.clock().left(Instant::now())
    }

    /// Whether the time is up.
    pub fn is_up(&self) -> bool {
        self.left().is_zero()
    }

    /// Returns when the time is up. One task at a time may wait here.
    pub async fn up(&self) {
        while !self.is_up() {
            let ends_at = self.clock().ends_at();
            let end = async {
                match ends_at {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = end => {}
                () = self.shared.changed.notified() => {}
            }
        }
    }

    fn clock(&self) -> MutexGuard<'_, TaskClock> {
        self.shared.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for StandsStill {
    fn drop(&mut self) {
        self.0.clock().run_again(Instant::now());
        self.0.shared.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// CODE-24
    #[test]
    fn a_task_has_thirty_minutes_unless_told_otherwise() {
        let began = Instant::now();
        let clock = TaskClock::start(WALL_CLOCK, began);
        assert_eq!(clock.left(began + seconds(60)), seconds(29 * 60));
        assert_eq!(clock.left(began + seconds(31 * 60)), Duration::ZERO);
    }

    /// CODE-24
    #[test]
    fn the_clock_stands_still_until_the_last_wait_for_a_person_is_over() {
        let began = Instant::now();
        let mut clock = TaskClock::start(seconds(100), began);
        clock.stand_still(began + seconds(10));
        clock.stand_still(began + seconds(500));
        clock.run_again(began + seconds(600));
        assert_eq!(clock.left(began + seconds(9_000)), seconds(90));
        clock.run_again(began + seconds(9_000));
        assert_eq!(clock.left(began + seconds(9_090)), Duration::ZERO);
        assert_eq!(clock.ends_at(), Some(began + seconds(9_090)));
    }

    /// CODE-24
    #[tokio::test(start_paused = true)]
    async fn whoever_waits_for_the_end_is_not_woken_by_time_that_passed_standing_still() {
        let began = Instant::now();
        let stopwatch = Stopwatch::start(seconds(100));
        let person = async {
            tokio::time::sleep(seconds(40)).await;
            let still = stopwatch.stand_still();
            tokio::time::sleep(seconds(10_000)).await;
            drop(still);
        };
        tokio::join!(stopwatch.up(), person);
        assert_eq!((Instant::now() - began).as_secs(), 10_100);
    }

    proptest! {
        /// CODE-24: what is used is the time outside of waits, whatever their order.
        #[test]
        fn used_time_is_the_time_outside_of_waits(steps in prop::collection::vec((0_u64..50, any::<bool>()), 0..40)) {
            let mut now = Instant::now();
            let mut clock = TaskClock::start(seconds(1_000_000), now);
            let (mut used, mut waiting) = (0, 0_u32);
            for (pass, begins_to_wait) in steps {
                now += seconds(pass);
                used += if waiting == 0 { pass } else { 0 };
                if begins_to_wait {
                    clock.stand_still(now);
                    waiting += 1;
                } else if waiting > 0 {
                    clock.run_again(now);
                    waiting -= 1;
                }
                prop_assert_eq!(clock.used(now), seconds(used));
            }
        }
    }
}
