//! The five-minute retry gate: what failed before the model was called is not tried
//! again every 15 seconds (LOOP-30).

use std::time::Duration;

use jiff::Timestamp;

/// How long a failure at the start of a cycle keeps the gate closed.
pub const CLOSED_FOR: Duration = Duration::from_mins(5);

/// Held in the process: a restart opens it. `C` is what an agent is configured with;
/// a changed one passes at once.
#[derive(Clone, Debug)]
pub struct Gate<C> {
    closed: Option<Closed<C>>,
}

#[derive(Clone, Debug)]
struct Closed<C> {
    since: Timestamp,
    until: Timestamp,
    config: C,
    blocker: String,
}

/// Whether a blocker is worth a line (LOOP-31).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// It was not known before.
    New,
    /// It is the one already told.
    Unchanged,
}

impl<C> Default for Gate<C> {
    fn default() -> Self {
        Self { closed: None }
    }
}

impl<C: PartialEq> Gate<C> {
    /// Whether a cycle of an agent configured like this may be tried now.
    pub fn passes(&self, config: &C, now: Timestamp) -> bool {
        match &self.closed {
            Some(Closed { since, until, config: closed_for, blocker: _ }) => {
                // A clock that was set back says nothing of how long we waited.
                !(*since..*until).contains(&now) || config != closed_for
            }
            None => true,
        }
    }

    /// Closes the gate for a while.
    pub fn close(&mut self, config: C, blocker: String, now: Timestamp, time: Duration) -> Blocked {
        let told = match &self.closed {
            Some(closed) if closed.blocker == blocker && closed.config == config => {
                Blocked::Unchanged
            }
            _ => Blocked::New,
        };
        let until = now.saturating_add(time).unwrap_or(Timestamp::MAX);
        self.closed = Some(Closed { since: now, until, config, blocker });
        told
    }

    /// Whether something closed the gate that nothing has opened since.
    pub fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Opens the gate: a cycle got past its start.
    pub fn open(&mut self) {
        self.closed = None;
    }

    /// Opens the gate for a cycle that got past its start, unless it was closed meanwhile
    /// by one that ran beside: what that one found out still holds.
    pub fn open_if_it_passes(&mut self, config: &C, now: Timestamp) {
        if self.passes(config, now) {
            self.open();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// LOOP-30
    #[test]
    fn a_failure_closes_the_gate_for_five_minutes() {
        let mut gate = Gate::default();
        assert!(gate.passes(&"v1", at(0)));
        assert_eq!(gate.close("v1", "no catalog".to_owned(), at(0), CLOSED_FOR), Blocked::New);
        assert!(!gate.passes(&"v1", at(299)));
        assert!(gate.passes(&"v1", at(300)));
    }

    /// LOOP-30
    #[test]
    fn a_changed_configuration_passes_at_once() {
        let mut gate = Gate::default();
        gate.close("v1", "no executor".to_owned(), at(0), CLOSED_FOR);
        assert!(gate.passes(&"v2", at(1)));
    }

    /// LOOP-30
    #[test]
    fn a_clock_that_is_set_back_does_not_keep_the_gate_closed() {
        let mut gate = Gate::default();
        gate.close("v1", "no catalog".to_owned(), at(1_000_000), CLOSED_FOR);
        assert!(gate.passes(&"v1", at(10)));
    }

    /// LOOP-30
    #[test]
    fn a_cycle_that_began_before_the_gate_was_closed_does_not_open_it() {
        let mut gate = Gate::default();
        assert!(gate.passes(&"v1", at(0)));
        gate.close("v1", "the provider asks to wait".to_owned(), at(1), CLOSED_FOR);
        gate.open_if_it_passes(&"v1", at(2));
        assert!(!gate.passes(&"v1", at(3)));
        gate.open_if_it_passes(&"v1", at(301));
        assert!(!gate.is_closed());
    }

    /// LOOP-31
    #[test]
    fn an_unchanged_blocker_is_told_once() {
        let mut gate = Gate::default();
        gate.close("v1", "no executor".to_owned(), at(0), CLOSED_FOR);
        assert_eq!(
            gate.close("v1", "no executor".to_owned(), at(300), CLOSED_FOR),
            Blocked::Unchanged
        );
        assert_eq!(gate.close("v1", "no schema".to_owned(), at(600), CLOSED_FOR), Blocked::New);
        gate.open();
        assert_eq!(gate.close("v1", "no schema".to_owned(), at(900), CLOSED_FOR), Blocked::New);
    }
}
