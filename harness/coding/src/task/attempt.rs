//! Attempts at a phase: what one may spend, what its end means, and what the model is
//! told on the way (CODE-23 to CODE-27).

use std::time::Duration;

use foundry_client::{CodingOutcome, CodingResult};
use foundry_kernel::{Failure, Stop};
use foundry_llm::ErrorKind;

/// Model turns of one attempt, unless set (CODE-23).
pub const TURNS: u32 = 60;

/// With so many turns left the model is told to come to an end (CODE-26).
const LAST_TURNS: u32 = 5;

/// How often a reply without a call is answered by asking for one.
const ASKED_AGAIN: u32 = 1;

/// First and longest pause after an attempt in which the model called nothing: one that
/// never does must not be paid for as fast as it answers.
const IDLE_PAUSE: (Duration, Duration) = (Duration::from_secs(2), Duration::from_mins(2));

/// A phase the model works in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Reads, and saves a plan.
    Plan,
    /// Edits, checks, and finishes.
    Build,
}

/// What an attempt left behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Left {
    /// Why its run ended.
    pub stop: Stop,
    /// Whether the phase reached its end: a plan saved, a finish accepted.
    pub is_done: bool,
    /// Whether the task's time is up.
    pub is_up: bool,
    /// Model turns it took.
    pub turns: u32,
    /// Whether any tool was run in it.
    pub acted: bool,
}

/// What follows an attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// The phase is done.
    Done,
    /// The phase starts again, with what is known so far (CODE-25).
    Again {
        /// Why the attempt is over, for the log.
        why: String,
        /// Whether the model did anything in it.
        acted: bool,
    },
    /// The task ends so.
    End(CodingResult),
    /// The process is stopping: nothing is said of the task.
    Stopped,
}

/// What follows from how an attempt was left.
pub fn next(left: &Left) -> Next {
    // A phase that is done is done, whatever came after.
    if left.is_done {
        return Next::Done;
    }
    let Left { stop, is_done: _, is_up, turns, acted } = left;
    if *is_up {
        return Next::End(out_of_time());
    }
    let again = |why: String| Next::Again { why, acted: *acted };
    match stop {
        // CODE-27: running out of turns ends an attempt, never the task.
        Stop::MaxTurns => again(format!("its {turns} turns are spent")),
        Stop::EndTurn => again("the model stopped without ending the phase".to_owned()),
        Stop::Budget { reason } => Next::End(CodingResult {
            outcome: CodingOutcome::Budget,
            summary: format!("a budget is spent: {reason}"),
        }),
        Stop::Failed(failure) => match spent(failure, *turns) {
            Some(why) => again(why),
            None => Next::End(CodingResult {
                outcome: CodingOutcome::ModelFailed,
                summary: format!("the model could not be used: {failure}"),
            }),
        },
        Stop::Aborted | Stop::Interrupted => Next::Stopped,
    }
}

/// Why a failed run is an attempt that is spent and no more, if it is: another one begins
/// with a short conversation and what is known (CODE-25), which the model may do better by.
fn spent(failure: &Failure, turns: u32) -> Option<String> {
    match failure {
        // A first request that is too long would be so again.
        Failure::ContextTooSmall { .. } if turns > 0 => {
            Some("the conversation outgrew the model's window, shortened as it was".to_owned())
        }
        Failure::Model(error) if error.kind == ErrorKind::Overflow && turns > 0 => {
            Some("the conversation outgrew the model's window".to_owned())
        }
        // CODE-27: going round in circles spends an attempt, never the task.
        Failure::Repeating { .. } | Failure::Empty => Some(failure.to_string()),
        Failure::ContextTooSmall { .. }
        | Failure::Model(_)
        | Failure::Refused(_)
        | Failure::NoOutput => None,
    }
}

/// The end by the clock (CODE-24).
pub fn out_of_time() -> CodingResult {
    CodingResult {
        outcome: CodingOutcome::OutOfTime,
        summary: "the time for planning and building is up".to_owned(),
    }
}

/// How long to pause before the next attempt, after so many in a row that did nothing.
pub fn pause(idle_in_a_row: u32) -> Duration {
    let (first, longest) = IDLE_PAUSE;
    match idle_in_a_row.checked_sub(1) {
        None => Duration::ZERO,
        Some(doublings) => first.saturating_mul(1 << doublings.min(16)).min(longest),
    }
}

/// What the host says to the model in the middle of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Five turns are left: come to an end (CODE-26).
    LastTurns,
    /// The reply called nothing, and the phase is not done: go on.
    CallSomething,
}

/// Watches an attempt turn by turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    max_turns: u32,
    turns: u32,
    told_to_end: bool,
    asked_again: u32,
}

impl Watch {
    /// An attempt of so many turns.
    pub fn new(max_turns: u32) -> Self {
        Self { max_turns, turns: 0, told_to_end: false, asked_again: 0 }
    }

    /// Model turns so far.
    pub fn turns(&self) -> u32 {
        self.turns
    }

    /// A reply came; what is to be said before the next model call. One that called
    /// nothing is asked once more, and then ends the attempt.
    pub fn replied(&mut self, called: bool) -> Vec<Hint> {
        self.turns += 1;
        let mut hints = Vec::new();
        if !called {
            if self.asked_again == ASKED_AGAIN {
                return hints;
            }
            self.asked_again += 1;
            hints.push(Hint::CallSomething);
        }
        if self.turns + LAST_TURNS >= self.max_turns && !self.told_to_end {
            self.told_to_end = true;
            hints.push(Hint::LastTurns);
        }
        hints
    }
}

#[cfg(test)]
mod tests {
    use foundry_llm::LlmError;
    use pretty_assertions::assert_eq;
    use rstest::rstest;

    use super::*;

    fn left(stop: Stop) -> Left {
        Left { stop, is_done: false, is_up: false, turns: 60, acted: true }
    }

    fn model_error(kind: ErrorKind) -> Stop {
        let message = "HTTP 503: away".to_owned();
        Stop::Failed(Failure::Model(LlmError { kind, status: None, message, retry_after: None }))
    }

    fn too_small() -> Stop {
        Stop::Failed(Failure::ContextTooSmall { needed: 9_000, window: 8_000 })
    }

    fn outcome(next: &Next) -> Option<CodingOutcome> {
        match next {
            Next::End(result) => Some(result.outcome),
            Next::Done | Next::Again { .. } | Next::Stopped => None,
        }
    }

    /// CODE-25, CODE-27
    #[rstest]
    #[case(Stop::MaxTurns)]
    #[case(Stop::EndTurn)]
    #[case(model_error(ErrorKind::Overflow))]
    #[case(too_small())]
    #[case(Stop::Failed(Failure::Empty))]
    #[case(Stop::Failed(Failure::Repeating { what: "grep x, with the same result".to_owned() }))]
    fn a_spent_allowance_with_time_left_starts_the_phase_again(#[case] stop: Stop) {
        let next = next(&left(stop));
        assert!(matches!(next, Next::Again { acted: true, .. }), "{next:?}");
    }

    /// CODE-24
    #[rstest]
    #[case(Stop::MaxTurns)]
    #[case(Stop::EndTurn)]
    #[case(Stop::Aborted)]
    #[case(model_error(ErrorKind::Server))]
    fn without_time_left_the_task_ends_unfinished(#[case] stop: Stop) {
        let next = next(&Left { is_up: true, ..left(stop) });
        assert_eq!(outcome(&next), Some(CodingOutcome::OutOfTime));
    }

    /// CODE-27
    #[rstest]
    #[case(Stop::EndTurn)]
    #[case(Stop::Aborted)]
    fn a_phase_that_is_done_is_done_at_the_last_second_too(#[case] stop: Stop) {
        assert_eq!(next(&Left { is_done: true, is_up: true, ..left(stop) }), Next::Done);
    }

    #[rstest]
    #[case(Stop::Budget { reason: "of the run".to_owned() }, CodingOutcome::Budget)]
    #[case(model_error(ErrorKind::Server), CodingOutcome::ModelFailed)]
    #[case(model_error(ErrorKind::Auth), CodingOutcome::ModelFailed)]
    #[case(Stop::Failed(Failure::Refused("no".to_owned())), CodingOutcome::ModelFailed)]
    fn budget_and_model_end_the_task(#[case] stop: Stop, #[case] expected: CodingOutcome) {
        assert_eq!(outcome(&next(&left(stop))), Some(expected));
    }

    #[test]
    fn a_first_request_that_is_too_long_would_be_so_again() {
        for stop in [model_error(ErrorKind::Overflow), too_small()] {
            let overflowed = Left { turns: 0, ..left(stop) };
            assert_eq!(outcome(&next(&overflowed)), Some(CodingOutcome::ModelFailed));
        }
    }

    #[test]
    fn a_process_that_is_stopping_says_nothing_of_the_task() {
        assert_eq!(next(&left(Stop::Aborted)), Next::Stopped);
    }

    /// CODE-23, CODE-26
    #[test]
    fn with_five_turns_left_the_model_is_told_once_to_come_to_an_end() {
        let mut watch = Watch::new(TURNS);
        let told: Vec<u32> =
            (1..=TURNS).filter(|_| watch.replied(true).contains(&Hint::LastTurns)).collect();
        assert_eq!(told, [55]);
        assert_eq!(watch.turns(), 60);
    }

    /// CODE-26
    #[test]
    fn an_allowance_of_few_turns_is_told_after_its_first() {
        assert_eq!(Watch::new(3).replied(true), [Hint::LastTurns]);
    }

    #[test]
    fn a_reply_without_a_call_is_asked_once_more_and_then_ends_the_attempt() {
        let mut watch = Watch::new(TURNS);
        assert_eq!(watch.replied(false), [Hint::CallSomething]);
        assert_eq!(watch.replied(true), []);
        assert_eq!(watch.replied(false), []);
    }

    #[test]
    fn attempts_in_which_nothing_is_done_come_ever_more_slowly() {
        let pauses: Vec<u64> = (0..9).map(|idle| pause(idle).as_secs()).collect();
        assert_eq!(pauses, [0, 2, 4, 8, 16, 32, 64, 120, 120]);
        assert_eq!(pause(u32::MAX), Duration::from_mins(2));
    }
}
