//! How fast policies are put right that somebody keeps changing.

use std::time::Duration;

use tokio::time::Instant;

/// So many writes in a row are made at once: a person changes this and that.
const AT_ONCE: u32 = 8;
/// The first rest after them; each is twice as long as the one before.
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(30);
/// After so long without a write, whoever it was has stopped.
const CALM: Duration = Duration::from_mins(2);

/// Rests between writes. Another operator with other settings, or a tool that applies from
/// Git, undoes each write as soon as it is made; without rests the two would never pause.
#[derive(Debug, Default)]
pub struct Pace {
    writes: u32,
    last: Option<Instant>,
}

impl Pace {
    /// Counts a write, and says how long to rest before the next.
    pub fn next(&mut self, now: Instant) -> Duration {
        if self.last.is_some_and(|last| now.saturating_duration_since(last) >= CALM) {
            self.writes = 0;
        }
        self.last = Some(now);
        self.writes = self.writes.saturating_add(1);
        match self.writes.checked_sub(AT_ONCE + 1) {
            Some(further) => FIRST.saturating_mul(1 << further.min(10)).min(LONGEST),
            None => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_keeps_undoing_what_is_written_is_answered_ever_more_slowly_until_it_is_calm() {
        let mut pace = Pace::default();
        let mut now = Instant::now();
        for write in 0..AT_ONCE {
            assert_eq!(pace.next(now), Duration::ZERO, "write {write}");
        }
        let mut rests = Vec::new();
        for _ in 0..12 {
            let rest = pace.next(now);
            rests.push(rest.as_millis());
            now += rest;
        }
        let doubled = [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600];
        assert_eq!(rests[..9], doubled);
        assert_eq!(rests[9..], [30_000; 3]);
        for _ in 0..100 {
            assert_eq!(pace.next(now), LONGEST);
        }
        now += CALM;
        assert_eq!(pace.next(now), Duration::ZERO);
    }
}
