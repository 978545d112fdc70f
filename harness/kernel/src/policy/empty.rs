//! A reply with nothing in it.

use foundry_llm::Reply;
use serde::{Deserialize, Serialize};

use crate::entry::UserInput;

/// What a run does about a reply without text and calls. One without a stop reason is an
/// error of the transport and never comes here (KERN-15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyReply {
    /// Ends the run: the model has nothing more to do (LOOP-06).
    #[default]
    Ends,
    /// Asks once more, for somebody waits for the answer; a second one in a row fails the
    /// run. After a tool that delivered the answer itself it is a rightful end.
    AskOnce,
}

/// Whether there is nothing in it that a person could read or a host could do.
pub(crate) fn is_empty(reply: &Reply) -> bool {
    reply.calls.is_empty() && reply.text.as_deref().is_none_or(|text| text.trim().is_empty())
}

/// What the model is asked.
pub(crate) fn question() -> UserInput {
    UserInput::from(
        "Your last reply was empty. If there is more to do, go on with it; if you are done, say \
         what came of it.",
    )
}

#[cfg(test)]
mod tests;
