//! When a run has ended of itself.

use foundry_llm::{ErrorKind, LlmError, Reply, StopReason};

use crate::entry::{CallResult, Entry, Settled};
use crate::outcome::{Failure, Stop};
use crate::tool::{Then, Toolbox};

/// Ends the run after a reply without calls (LOOP-06). A reply that is empty but has a
/// stop reason counts: one without is an error of the transport (KERN-15).
pub(crate) fn check(last: Option<&Entry>) -> Option<Stop> {
    match last {
        Some(Entry::Assistant { reply }) if reply.calls.is_empty() => Some(Stop::EndTurn),
        Some(
            Entry::Assistant { .. }
            | Entry::User { .. }
            | Entry::Results { .. }
            | Entry::Fold { .. },
        )
        | None => None,
    }
}

/// Ends the run after a call that succeeded of a tool that ends runs. It is over even
/// with input queued: that belongs to the next run.
pub(crate) fn after_calls(results: &[CallResult], tools: &Toolbox) -> Option<Stop> {
    results
        .iter()
        .any(|result| match &result.settled {
            Settled::Output { .. } => ends_runs(tools, &result.name),
            Settled::Failed { .. } | Settled::Unknown { .. } | Settled::NotRun { .. } => false,
        })
        .then_some(Stop::EndTurn)
}

fn ends_runs(tools: &Toolbox, name: &str) -> bool {
    tools.get(name).is_some_and(|tool| tool.then == Then::EndRun)
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
        | ErrorKind::Refused => Stop::Failed(Failure::Model(error.clone())),
    }
}
