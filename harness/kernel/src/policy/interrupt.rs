//! What an interrupt or an abort makes of a run, wherever it stands (KERN-25 to KERN-27).

use crate::entry::Settled;
use crate::outcome::Stop;

/// What ends a step that is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// The whole run ends.
    Abort,
    /// This step alone ends.
    Interrupt,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// Between two turns.
    Boundary,
    /// The model is asked, or a retry is waited for.
    Asking,
    /// Calls are to be run, or are out: they are closed first.
    Calls,
    /// Over.
    Over,
}

/// Where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Goes {
    /// Nowhere: what is over stays as it ended.
    Stays,
    /// To the boundary, where what is queued is taken up.
    ToBoundary,
    /// To its end.
    Ends(Stop),
}

/// What a signal makes of a run. A model call in flight appends nothing and a retry wait
/// is over, whatever the signal (KERN-25).
pub(crate) fn obey(signal: Signal, at: At) -> Goes {
    match (signal, at) {
        (_, At::Over) => Goes::Stays,
        (Signal::Interrupt, At::Boundary | At::Asking | At::Calls) => Goes::ToBoundary,
        (Signal::Abort, At::Boundary | At::Asking | At::Calls) => Goes::Ends(Stop::Aborted),
    }
}

/// What is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queued {
    /// Nothing.
    Nothing,
    /// Input for the model.
    Input,
}

/// How an interrupted run ends at the boundary: not at all when there is something to go
/// on with (KERN-27).
pub(crate) fn at_boundary(was_interrupted: bool, queued: Queued) -> Option<Stop> {
    match queued {
        Queued::Nothing => was_interrupted.then_some(Stop::Interrupted),
        Queued::Input => None,
    }
}

/// How far a call has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nobody was asked to run it.
    NotStarted,
    /// It was begun, and has not been heard of since.
    Running,
    /// It has ended so.
    Ended(Settled),
}

/// Why a batch is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// By a signal.
    StepStopped,
    /// A call of it has ended the run.
    RunEnded,
}

/// How a call counts whose batch is closed: what has ended keeps its result, of what runs
/// nobody knows, and the rest was not run (KERN-26).
pub(crate) fn closed(fate: Fate, why: Closing) -> Settled {
    match (fate, why) {
        (Fate::Ended(settled), _) => settled,
        (Fate::Running, Closing::StepStopped | Closing::RunEnded) => {
            Settled::unknown("the step was stopped while this call was running")
        }
        (Fate::NotStarted, Closing::StepStopped) => {
            Settled::not_run("the step was stopped before this call began")
        }
        (Fate::NotStarted, Closing::RunEnded) => {
            Settled::not_run("a call before it was to end the run")
        }
    }
}

#[cfg(test)]
mod tests;
