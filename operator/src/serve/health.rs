//! Whether this operator is alive and ready: named checks, pure but for the clock.
//!
//! Alive means that it gets on: a process that cannot is restarted. Ready means that it
//! does its part: it leads with whole caches, or stands by to.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long the executor may leave a task waiting that is due every second.
const HEARTBEAT_WITHIN: Duration = Duration::from_secs(20);
/// How long a round of the lease may take; a leader that cannot renew gives up after ten
/// seconds, and a candidate asks every two.
const ROUND_WITHIN: Duration = Duration::from_mins(1);
/// How long an answer of the control plane says that it is there.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);
/// How long leaving may take: above the grace for what is under way.
const LEAVE_WITHIN: Duration = Duration::from_mins(1);

/// What this operator is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The control plane did not answer, or was not asked yet.
    Asking,
    /// Waiting for the lease: ready to take over.
    Standby,
    /// Leading, and still reading its first lists.
    Reading,
    /// Leading, all caches whole.
    Leading,
    /// Leaving.
    Stopping,
}

/// Shared between the work and the probes.
#[derive(Clone)]
pub struct Health(Arc<Mutex<State>>);

/// Names the caches whose first list is not complete.
type Unread = Box<dyn Fn() -> Vec<String> + Send>;

struct State {
    phase: Phase,
    /// Since when.
    since: Instant,
    /// When the executor last ran what is due every second.
    beat: Instant,
    /// When the lease was last dealt with, whatever came of it.
    round: Instant,
    /// When the control plane last answered about the lease.
    answer: Option<Instant>,
    unread: Option<Unread>,
}

/// A check by name, and what is wrong when something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    name: &'static str,
    /// What a person reads beside `ok`, or what is wrong.
    words: Result<&'static str, String>,
}

impl Health {
    /// Nothing is known yet.
    pub fn new() -> Self {
        let now = Instant::now();
        Self(Arc::new(Mutex::new(State {
            phase: Phase::Asking,
            since: now,
            beat: now,
            round: now,
            answer: None,
            unread: None,
        })))
    }

    /// Says what this operator is doing now.
    pub fn set(&self, phase: Phase) {
        let mut state = self.state();
        if state.phase != phase {
            state.phase = phase;
            state.since = Instant::now();
            state.unread = None;
        }
    }

    /// Says that the executor runs.
    pub fn beat(&self) {
        self.state().beat = Instant::now();
    }

    /// Says that the lease was dealt with, and whether the control plane answered.
    pub fn round(&self, has_answered: bool) {
        let now = Instant::now();
        let mut state = self.state();
        state.round = now;
        if has_answered {
            state.answer = Some(now);
        }
    }

    /// How to learn, while the first lists are read, which caches are not whole.
    pub fn read_by(&self, unread: impl Fn() -> Vec<String> + Send + 'static) {
        self.state().unread = Some(Box::new(unread));
    }

    /// The checks of `/healthz`.
    pub fn alive(&self) -> Vec<Check> {
        self.state().alive(Instant::now())
    }

    /// The checks of `/readyz`.
    pub fn ready(&self) -> Vec<Check> {
        self.state().ready(Instant::now())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn alive(&self, now: Instant) -> Vec<Check> {
        let round = match self.phase {
            Phase::Stopping => Ok(""),
            Phase::Asking | Phase::Standby | Phase::Reading | Phase::Leading => {
                within(ROUND_WITHIN, self.round, now)
                    .map_err(|seconds| format!("the lease was not dealt with for {seconds} s"))
            }
        };
        let leaving = match self.phase {
            Phase::Stopping => within(LEAVE_WITHIN, self.since, now)
                .map_err(|seconds| format!("told to stop {seconds} s ago, and still here")),
            Phase::Asking | Phase::Standby | Phase::Reading | Phase::Leading => Ok(""),
        };
        let beat = within(HEARTBEAT_WITHIN, self.beat, now)
            .map_err(|seconds| format!("the executor has not run a task for {seconds} s"));
        vec![
            Check { name: "heartbeat", words: beat },
            Check { name: "lease", words: round },
            Check { name: "shutdown", words: leaving },
        ]
    }

    fn ready(&self, now: Instant) -> Vec<Check> {
        let silent = || "the control plane does not answer when asked for the lease".to_owned();
        let answered = match self.answer {
            None => Err(silent()),
            Some(answer) => within(ANSWER_WITHIN, answer, now)
                .map_err(|seconds| format!("{}, for {seconds} s now", silent())),
        };
        let lease = match self.phase {
            Phase::Asking => Err("it is asked for".to_owned()),
            Phase::Standby => Ok("another operator leads, this one stands by"),
            Phase::Reading | Phase::Leading => Ok("this operator leads"),
            Phase::Stopping => Ok("it is let go"),
        };
        let caches = match self.phase {
            Phase::Reading => {
                let unread = self.unread.as_ref().map(|unread| unread().join(", "));
                let unread = unread.unwrap_or_default();
                Err(format!("the first lists are not complete yet: {unread}"))
            }
            Phase::Leading => Ok("all are whole"),
            Phase::Asking | Phase::Standby | Phase::Stopping => Ok("only a leader has any"),
        };
        let stopping = match self.phase {
            Phase::Stopping => Err("stopping".to_owned()),
            Phase::Asking | Phase::Standby | Phase::Reading | Phase::Leading => Ok(""),
        };
        vec![
            Check { name: "control-plane", words: answered },
            Check { name: "lease", words: lease },
            Check { name: "caches", words: caches },
            Check { name: "shutdown", words: stopping },
        ]
    }
}

/// Whether something happened lately; else the seconds since.
fn within(limit: Duration, last: Instant, now: Instant) -> Result<&'static str, u64> {
    let since = now.saturating_duration_since(last);
    if since <= limit { Ok("") } else { Err(since.as_secs()) }
}

/// Whether all of these are well.
pub fn is_well(checks: &[Check]) -> bool {
    checks.iter().all(|check| check.words.is_ok())
}

/// The checks as Kubernetes' own components tell theirs, a line each.
pub fn told(probe: &str, checks: &[Check]) -> String {
    let mut text = String::new();
    let mut line = |mark: &str, name: &str, words: &str| {
        let colon = if words.is_empty() { "" } else { ": " };
        // Writing to a String cannot fail.
        writeln!(text, "[{mark}]{name}{colon}{words}").unwrap_or_default();
    };
    for Check { name, words } in checks {
        match words {
            Ok("") => line("+", &format!("{name} ok"), ""),
            Ok(words) => line("+", &format!("{name} ok"), words),
            Err(words) => line("-", &format!("{name} failed"), words),
        }
    }
    let outcome = if is_well(checks) { "passed" } else { "failed" };
    writeln!(text, "{probe} check {outcome}").unwrap_or_default();
    text
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use rstest::rstest;

    use super::*;

    fn state(phase: Phase, answer: Option<Instant>, at: Instant) -> State {
        State { phase, since: at, beat: at, round: at, answer, unread: None }
    }

    /// Names of the checks that fail.
    fn failing(checks: &[Check]) -> Vec<&'static str> {
        checks.iter().filter(|check| check.words.is_err()).map(|check| check.name).collect()
    }

    #[rstest]
    #[case(Phase::Asking, 0, &["lease"])]
    #[case(Phase::Standby, 0, &[])]
    #[case(Phase::Standby, 21, &["control-plane"])]
    #[case(Phase::Reading, 0, &["caches"])]
    #[case(Phase::Leading, 0, &[])]
    #[case(Phase::Leading, 21, &["control-plane"])]
    #[case(Phase::Stopping, 0, &["shutdown"])]
    fn it_is_ready_while_it_does_its_part(
        #[case] phase: Phase,
        #[case] seconds: u64,
        #[case] expected: &[&str],
    ) {
        let at = Instant::now();
        let state = state(phase, Some(at), at);
        assert_eq!(failing(&state.ready(at + Duration::from_secs(seconds))), expected);
    }

    #[rstest]
    #[case(Phase::Leading, 20, &[])]
    #[case(Phase::Leading, 21, &["heartbeat"])]
    #[case(Phase::Leading, 61, &["heartbeat", "lease"])]
    #[case(Phase::Standby, 61, &["heartbeat", "lease"])]
    #[case(Phase::Asking, 61, &["heartbeat", "lease"])]
    #[case(Phase::Stopping, 61, &["heartbeat", "shutdown"])]
    fn it_is_alive_while_it_gets_on(
        #[case] phase: Phase,
        #[case] seconds: u64,
        #[case] expected: &[&str],
    ) {
        let at = Instant::now();
        let state = state(phase, None, at);
        assert_eq!(failing(&state.alive(at + Duration::from_secs(seconds))), expected);
    }

    #[test]
    fn a_leader_that_neither_renews_nor_lets_go_is_named() {
        let at = Instant::now();
        let mut state = state(Phase::Leading, Some(at), at);
        state.beat = at + Duration::from_secs(70);
        let text = told("healthz", &state.alive(at + Duration::from_secs(70)));
        let expected = "[+]heartbeat ok\n[-]lease failed: the lease was not dealt with for 70 s\n\
                        [+]shutdown ok\nhealthz check failed\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn caches_that_are_not_whole_are_named() {
        let health = Health::new();
        health.round(true);
        health.set(Phase::Reading);
        health.read_by(|| vec!["Agent of team".to_owned()]);
        let text = told("readyz", &health.ready());
        assert!(
            text.contains(
                "[-]caches failed: the first lists are not complete yet: Agent of team\n"
            ),
            "{text}"
        );
        health.set(Phase::Leading);
        assert!(is_well(&health.ready()));
    }

    #[test]
    fn who_was_never_answered_is_not_ready_and_alive() {
        let health = Health::new();
        let text = told("readyz", &health.ready());
        assert!(
            text.contains("[-]control-plane failed: the control plane does not answer"),
            "{text}"
        );
        assert!(is_well(&health.alive()));
    }
}
