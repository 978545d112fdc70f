//! What to do about a failed model call. There is no second ladder below or above it.

use std::time::Duration;

use foundry_llm::{ErrorKind, LlmError};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// The first wait is not shorter than this (KERN-18).
const SHORTEST_WAIT: Duration = Duration::from_millis(500);

/// No computed wait is longer than this (KERN-18).
const LONGEST_WAIT: Duration = Duration::from_secs(32);

/// Retries of one turn, unless set (KERN-18).
const DEFAULT_RETRIES: u32 = 6;

/// Retries of an agent's evaluation; its next cycle is a retry of its own.
const AGENT_RETRIES: u32 = 2;

/// An attended turn does not sit out more than this (KERN-22).
const ATTENDED_PATIENCE: Duration = Duration::from_secs(30);

/// An unattended run looks again after this long at the latest (KERN-21).
const UNATTENDED_WAIT_CAP: Duration = Duration::from_mins(5);

/// Waits after a 200 without a completion, where those are retried twice (CODE-43).
const NO_COMPLETION_WAITS: [Duration; 2] =
    [Duration::from_millis(500), Duration::from_millis(1500)];

/// How a run retries its model calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ladder {
    /// Retries of one turn.
    pub retries: u32,
    /// Whether errors of capacity count against `retries`.
    pub capacity: Capacity,
    /// What to do when the server asks for a long wait.
    pub long_pacing: LongPacing,
    /// What to do about a 200 without a completion.
    pub no_completion: NoCompletion,
    /// Wall clock of all retries of one turn, from its first failure; no retry begins later.
    pub patience: Option<Duration>,
}

/// How 429, 529 and overloaded are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capacity {
    /// As any other error.
    Counted,
    /// Not at all: they are waited out without limit (KERN-21).
    WithoutLimit,
}

/// What to do when the server asks for a long wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LongPacing {
    /// Wait as long as it says.
    WaitOut,
    /// Wait this long at most, then ask again.
    Cap(Duration),
    /// End with the reason when it is longer than this.
    EndOver(Duration),
}

/// What to do about a 200 without a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoCompletion {
    /// As about any other error (KERN-15).
    AsOthers,
    /// Retry twice, after 500 ms and 1500 ms, each time without a reasoning level (CODE-43).
    Twice,
}

impl Default for Ladder {
    fn default() -> Self {
        Self::coding()
    }
}

impl Ladder {
    /// For an agent's evaluation: two retries, and a long pacing delays the next cycle.
    pub fn agent() -> Self {
        Self { retries: AGENT_RETRIES, ..Self::attended() }
    }

    /// For a turn that a person waits for (KERN-22).
    pub fn attended() -> Self {
        Self {
            retries: DEFAULT_RETRIES,
            capacity: Capacity::Counted,
            long_pacing: LongPacing::EndOver(ATTENDED_PATIENCE),
            no_completion: NoCompletion::AsOthers,
            patience: None,
        }
    }

    /// For a run that nobody watches (KERN-21).
    pub fn unattended() -> Self {
        Self {
            retries: DEFAULT_RETRIES,
            capacity: Capacity::WithoutLimit,
            long_pacing: LongPacing::Cap(UNATTENDED_WAIT_CAP),
            no_completion: NoCompletion::AsOthers,
            patience: None,
        }
    }

    /// For coding, whose task clock bounds every wait (CODE-43).
    pub fn coding() -> Self {
        Self {
            retries: DEFAULT_RETRIES,
            capacity: Capacity::Counted,
            long_pacing: LongPacing::WaitOut,
            no_completion: NoCompletion::Twice,
            patience: None,
        }
    }

    /// Wait and try again, or give up.
    pub fn next(&self, error: &LlmError, tries: Tries, now: Timestamp) -> Next {
        let Self { retries, capacity, long_pacing: _, no_completion: _, patience } = *self;
        if !is_retryable(error.kind) {
            return Next::Halt;
        }
        let unlimited = capacity == Capacity::WithoutLimit && is_capacity(error.kind);
        if !unlimited && tries.retries_made >= retries {
            return Next::Halt;
        }
        let Some((wait, effort)) = self.wait(error, tries) else { return Next::Halt };
        // A pacing of hardly anything would make a run without limit spin.
        let is_counted = tries.retries_made < retries;
        let until = after(now, if is_counted { wait } else { wait.max(SHORTEST_WAIT) });
        if patience.is_some_and(|patience| until > after(tries.since, patience)) {
            return Next::Halt;
        }
        Next::Wait { until, effort }
    }

    /// How long, and with what effort; `None` where it is not worth waiting.
    fn wait(&self, error: &LlmError, tries: Tries) -> Option<(Duration, Effort)> {
        if error.kind == ErrorKind::NoCompletion && self.no_completion == NoCompletion::Twice {
            let made = usize::try_from(tries.without_completion).unwrap_or(usize::MAX);
            return NO_COMPLETION_WAITS.get(made).map(|wait| (*wait, Effort::Dropped));
        }
        if error.kind == ErrorKind::Dialect {
            return Some((Duration::ZERO, Effort::AsSet)); // the next request has another form
        }
        // A pacing of nothing is no pacing.
        let wait = match error.retry_after.filter(|pacing| !pacing.is_zero()) {
            None => backoff(tries),
            Some(pacing) => match self.long_pacing {
                LongPacing::Cap(cap) => pacing.min(cap),
                LongPacing::EndOver(patience) if pacing > patience => return None,
                LongPacing::EndOver(_) | LongPacing::WaitOut => pacing,
            },
        };
        Some((wait, Effort::AsSet))
    }
}

/// What was tried already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tries {
    /// Retries of this turn so far.
    pub retries_made: u32,
    /// How many of the failures before this one were a 200 without a completion.
    pub without_completion: u32,
    /// Decides the jitter.
    pub seed: u64,
    /// When the turn failed first.
    pub since: Timestamp,
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Try again then.
    Wait {
        /// The instant.
        until: Timestamp,
        /// Whether the request keeps its reasoning level.
        effort: Effort,
    },
    /// Give up, and end with the error.
    Halt,
}

/// The reasoning level of a retry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// As the run's settings say.
    #[default]
    AsSet,
    /// None, until the turn has its reply (CODE-43).
    Dropped,
}

/// By true upstream status (KERN-19).
pub(crate) fn is_retryable(kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::Limited
        | ErrorKind::Overloaded
        | ErrorKind::Server
        | ErrorKind::Network
        | ErrorKind::Stalled
        | ErrorKind::Broken
        | ErrorKind::NoCompletion
        | ErrorKind::Dialect => true,
        ErrorKind::Overflow
        | ErrorKind::Auth
        | ErrorKind::Budget
        | ErrorKind::BadRequest
        | ErrorKind::Refused => false,
    }
}

fn is_capacity(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Limited | ErrorKind::Overloaded)
}

/// Between half and all of a step that doubles from one second to the cap, so that the
/// clients of one outage come back spread out.
fn backoff(tries: Tries) -> Duration {
    let step = SHORTEST_WAIT
        .saturating_mul(2_u32.saturating_pow(tries.retries_made.saturating_add(1)))
        .min(LONGEST_WAIT);
    let half = step / 2;
    half + half.mul_f64(jitter(tries))
}

/// A number from 0 up to 1 that looks random and is not: a splitmix64 step.
fn jitter(tries: Tries) -> f64 {
    let mut z = tries.seed.wrapping_add(
        u64::from(tries.retries_made).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
    );
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    let top = u32::try_from((z ^ (z >> 31)) >> 32).unwrap_or_default();
    f64::from(top) / (f64::from(u32::MAX) + 1.0)
}

fn after(now: Timestamp, wait: Duration) -> Timestamp {
    let wait = SignedDuration::try_from(wait).unwrap_or(SignedDuration::MAX);
    now.saturating_add(wait).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
