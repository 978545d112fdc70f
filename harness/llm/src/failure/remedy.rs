//! What a person can do about a failed call.

use crate::error::{ErrorKind, LlmError};

/// A few words, to stand behind the provider's own.
pub(crate) fn remedy(error: &LlmError) -> &'static str {
    match error.kind {
        ErrorKind::Limited => "wait, or have the limit raised",
        ErrorKind::Overloaded | ErrorKind::Server => "the server's own trouble, try again later",
        ErrorKind::Network => "check the address, and that its server runs",
        ErrorKind::Stalled => "the server is slow or hangs, try again",
        ErrorKind::Broken => "try again, and look for a proxy that cuts or rewrites streams",
        ErrorKind::NoCompletion => "try again, and check that a model is served there",
        ErrorKind::Overflow => "shorten the conversation, or take a model with a larger window",
        ErrorKind::Auth => "check the key, and what it may use",
        ErrorKind::Budget => "raise the budget",
        ErrorKind::Refused => "ask for it in another way",
        ErrorKind::Dialect => "the next request is written as it demands",
        ErrorKind::BadRequest => match error.status {
            Some(300..=399 | 405) => "correct the base URL",
            Some(402) => "check the credit of the account",
            Some(404) => "check the name of the model and the base URL",
            Some(_) | None => "correct the settings of the model",
        },
    }
}
