//! Holds calls back while the service is in trouble, so that ten thousand agents do not
//! hammer it: a pure machine, told the time.

use std::time::Duration;

use tokio::time::Instant;

use super::Trouble;

/// Failures in a row after which calls are held back.
const PATIENCE: u32 = 3;
/// How long the first time; twice as long after each further failure.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
/// The longest pause that nobody asked for.
pub const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// The longest that a service may ask for: a wrong clock there must not be for ever here.
const LONGEST_ASKED: Duration = Duration::from_hours(1);

/// Failures of the service in a row, and what follows from them.
#[derive(Debug, Default)]
pub struct Breaker {
    failures: u32,
    /// While calls are held back: until when, and why.
    held: Option<(Instant, Trouble)>,
}

/// Whether a call may be made.
#[derive(Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may.
    Open,
    /// One may, to see whether the service is back.
    One,
    /// None may, until then.
    NoneUntil(Instant),
}

impl Breaker {
    /// Whether a call may be made now.
    pub fn admits(&self, now: Instant) -> Admission {
        match &self.held {
            None => Admission::Open,
            Some((until, _)) if *until <= now => Admission::One,
            Some((until, _)) => Admission::NoneUntil(*until),
        }
    }

    /// Why calls are held back, while they are.
    pub fn trouble(&self, now: Instant) -> Option<&Trouble> {
        self.held.as_ref().filter(|(until, _)| *until > now).map(|(_, trouble)| trouble)
    }

    /// The service answered: says whether it had been in trouble.
    pub fn succeeded(&mut self) -> bool {
        self.failures = 0;
        self.held.take().is_some()
    }

    /// The service failed, and may have said when it wants to be asked again. Gives the
    /// pause, when calls are held back from now on.
    pub fn failed(
        &mut self,
        trouble: &Trouble,
        asked: Option<Duration>,
        now: Instant,
    ) -> Option<Duration> {
        self.failures = self.failures.saturating_add(1);
        let own = (self.failures >= PATIENCE || trouble.is_for_all()).then(|| {
            let doublings = self.failures.saturating_sub(PATIENCE).min(10);
            FIRST_PAUSE.saturating_mul(1 << doublings).min(LONGEST_PAUSE)
        });
        let asked = asked.map(|asked| asked.clamp(Duration::from_secs(1), LONGEST_ASKED));
        let pause = own.max(asked)?;
        // Calls that were under way together must not shorten what one of them was told.
        let until = self.held.as_ref().map_or(now, |(until, _)| *until).max(now + pause);
        self.held = Some((until, trouble.clone()));
        Some(pause)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn after_three_failures_in_a_row_it_holds_calls_back_for_ever_longer_up_to_five_minutes() {
        let start = Instant::now();
        let mut breaker = Breaker::default();
        let pauses: Vec<_> = (0..12)
            .map(|minutes| breaker.failed(&Trouble::Silent, None, start + seconds(minutes * 600)))
            .map(|pause| pause.map(|pause| pause.as_secs()))
            .collect();
        let expected = [0, 0, 5, 10, 20, 40, 80, 160, 300, 300, 300, 300];
        assert_eq!(pauses, expected.map(|pause| (pause > 0).then_some(pause)));
    }

    #[test]
    fn when_the_pause_is_over_one_call_looks_and_a_success_lets_all_through() {
        let start = Instant::now();
        let mut breaker = Breaker::default();
        for _ in 0..3 {
            assert_eq!(breaker.admits(start), Admission::Open);
            breaker.failed(&Trouble::Unreachable, None, start);
        }
        let until = start + seconds(5);
        assert_eq!(breaker.admits(start), Admission::NoneUntil(until));
        assert_eq!(breaker.trouble(start), Some(&Trouble::Unreachable));
        assert_eq!(breaker.admits(until), Admission::One);
        assert!(breaker.succeeded(), "it had been in trouble");
        assert_eq!((breaker.admits(until), breaker.trouble(until)), (Admission::Open, None));
        assert!(!breaker.succeeded());
    }

    #[test]
    fn what_the_service_asks_for_is_obeyed_at_once_and_within_an_hour() {
        let start = Instant::now();
        for (asked, obeyed) in [(0, 1), (30, 30), (900, 900), (999_999, 3_600)] {
            let mut breaker = Breaker::default();
            let trouble = Trouble::Answers(429);
            assert_eq!(
                breaker.failed(&trouble, Some(seconds(asked)), start),
                Some(seconds(obeyed)),
                "asked for {asked} s"
            );
            // A call that was under way fails too, without being told anything.
            breaker.failed(&Trouble::Silent, None, start);
            assert_eq!(breaker.admits(start), Admission::NoneUntil(start + seconds(obeyed)));
        }
    }

    #[test]
    fn a_token_that_is_refused_is_refused_for_all() {
        let now = Instant::now();
        let mut breaker = Breaker::default();
        assert_eq!(breaker.failed(&Trouble::TokenRefused, None, now), Some(FIRST_PAUSE));
    }
}
