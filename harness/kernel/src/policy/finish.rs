//! When a run has ended of itself, and what is said first to a model that ends too early.

use foundry_llm::{ErrorKind, LlmError, Reply, StopReason};
use serde::{Deserialize, Serialize};

use super::empty::{self, EmptyReply};
use crate::entry::{CallResult, Entry, Settled};
use crate::outcome::{Failure, Stop};
use crate::tool::{Then, Toolbox};

/// What follows at the boundary between two turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The model is asked on.
    GoOn,
    /// It is reminded of the value it has to submit (KERN-28).
    Nudge,
    /// It is asked once more, for its reply was empty.
    AskAgain,
    /// The run ends.
    End(Stop),
}

/// What a run is to end with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// With a value that fits a schema (KERN-28).
    Value,
    /// With a text, or with none as far as this allows it.
    Text(EmptyReply),
}

/// What the model was told already, for each is said once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Told {
    /// That it has to submit a value.
    pub(crate) nudged: bool,
    /// That its last reply was empty.
    pub(crate) asked_again: bool,
}

/// Ends the run after a reply without calls (LOOP-06), unless it lacks what the run is
/// for and the model was not told yet.
pub(crate) fn check(log: &[Entry], wants: Wants, told: Told, tools: &Toolbox) -> Next {
    let Some(Entry::Assistant { reply }) = log.last() else { return Next::GoOn };
    if !reply.calls.is_empty() {
        return Next::GoOn;
    }
    match wants {
        Wants::Value if told.nudged => Next::End(Stop::Failed(Failure::NoOutput)),
        Wants::Value => Next::Nudge,
        Wants::Text(EmptyReply::AskOnce) if empty::is_empty(reply) && !delivered(log, tools) => {
            if told.asked_again {
                Next::End(Stop::Failed(Failure::Empty))
            } else {
                Next::AskAgain
            }
        }
        Wants::Text(EmptyReply::AskOnce | EmptyReply::Ends) => Next::End(Stop::EndTurn),
    }
}

/// Whether what the model did just before its last reply was the answer itself.
fn delivered(log: &[Entry], tools: &Toolbox) -> bool {
    let before = log.iter().rev().skip(1);
    let mut before = before.filter(|entry| match entry {
        Entry::User { .. } | Entry::Assistant { .. } | Entry::Results { .. } => true,
        Entry::Fold { .. } | Entry::Stubs { .. } => false,
    });
    match before.next() {
        Some(Entry::Results { results }) => succeeded(results, tools, Then::Delivers),
        Some(
            Entry::User { .. } | Entry::Assistant { .. } | Entry::Fold { .. } | Entry::Stubs { .. },
        )
        | None => false,
    }
}

/// Ends the run after a call that succeeded of a tool that ends runs. It is over even
/// with input queued: that belongs to the next run.
pub(crate) fn after_calls(results: &[CallResult], tools: &Toolbox) -> Option<Stop> {
    succeeded(results, tools, Then::EndRun).then_some(Stop::EndTurn)
}

fn succeeded(results: &[CallResult], tools: &Toolbox, then: Then) -> bool {
    results.iter().any(|result| match &result.settled {
        Settled::Output { .. } => tools.get(&result.name).is_some_and(|tool| tool.then == then),
        Settled::Failed { .. } | Settled::Unknown { .. } | Settled::NotRun { .. } => false,
    })
}

/// What a refusing reply says, for it ends the run whatever it calls.
pub(crate) fn refusal(reply: &Reply) -> Option<String> {
    (reply.stop == StopReason::Refusal)
        .then(|| reply.text.clone().unwrap_or_else(|| "no reason was given".to_owned()))
}

/// How a run ends over a model error that nothing is left to be done about.
pub(crate) fn after_error(error: &LlmError) -> Stop {
    match error.kind {
        ErrorKind::Budget => Stop::Budget { reason: error.message.clone() },
        ErrorKind::Limited
        | ErrorKind::Overloaded
        | ErrorKind::Server
        | ErrorKind::Network
        | ErrorKind::Stalled
        | ErrorKind::Broken
        | ErrorKind::NoCompletion
        | ErrorKind::Overflow
        | ErrorKind::Auth
        | ErrorKind::BadRequest
        | ErrorKind::Refused
        | ErrorKind::Dialect => Stop::Failed(Failure::Model(error.clone())),
    }
}

#[cfg(test)]
mod tests;
