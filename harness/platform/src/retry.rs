//! How long to wait before the next try, for everything a host retries by itself.
//! (Model calls have the kernel's own ladder.)

use std::time::Duration;

/// Doubling waits up to a cap.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    cap: Duration,
    failures: u32,
}

impl Backoff {
    /// Waits `first`, then twice that, and so on, never more than `cap`.
    pub fn new(first: Duration, cap: Duration) -> Self {
        Self { first, cap, failures: 0 }
    }

    /// The wait after one more failure.
    pub fn failed(&mut self) -> Duration {
        let doublings = self.failures.min(16);
        self.failures = self.failures.saturating_add(1);
        self.first.saturating_mul(1 << doublings).min(self.cap)
    }

    /// How many tries have failed since the last success.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Whether the last try failed.
    pub fn is_failing(&self) -> bool {
        self.failures > 0
    }

    /// Starts over after a success; says whether there had been failures.
    pub fn succeeded(&mut self) -> bool {
        std::mem::take(&mut self.failures) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap_and_start_over_after_a_success() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
        let waits = (0..5).map(|_| backoff.failed().as_secs()).collect::<Vec<_>>();
        assert_eq!(waits, [1, 2, 4, 5, 5]);
        assert!(backoff.succeeded());
        assert!(!backoff.succeeded());
        assert_eq!(backoff.failed(), Duration::from_secs(1));
    }
}
