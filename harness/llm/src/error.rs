//! Every way a model call can fail, with the provider's own words.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A failed model call, as the provider or the network truly stated it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct LlmError {
    /// What kind of failure it is.
    pub kind: ErrorKind,
    /// HTTP status, when there was a response; an error event in the middle of a
    /// stream keeps the status that its type stands for.
    pub status: Option<u16>,
    /// A line for a person: `HTTP 429: <the provider's own reason>` (KERN-17).
    pub message: String,
    /// The pacing the server asked for, from any header or body form (KERN-16).
    pub retry_after: Option<Duration>,
}

/// Kinds of failure, by true upstream status (KERN-19).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// 429: over a rate or usage limit.
    Limited,
    /// 529, or a body that says overloaded.
    Overloaded,
    /// Any other 5xx.
    Server,
    /// No connection, reset, DNS, TLS.
    Network,
    /// No headers, or no bytes, within the limit.
    Stalled,
    /// The stream broke the protocol or ended in the middle.
    Broken,
    /// 200 without content, calls or stop reason (KERN-15).
    NoCompletion,
    /// The context window is exceeded.
    Overflow,
    /// 401 or 403.
    Auth,
    /// The relay refused for a spent budget.
    Budget,
    /// Any other 4xx.
    BadRequest,
    /// The provider refused to answer.
    Refused,
}

impl LlmError {
    /// An error of this crate's own finding, without any response.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, status: None, message: message.into(), retry_after: None }
    }

    /// The stream broke the protocol.
    pub(crate) fn broken(what: &str) -> Self {
        Self { status: Some(200), ..Self::new(ErrorKind::Broken, what) }
    }

    /// What came is not what this wire says.
    pub(crate) fn not_understood(error: &serde_json::Error, data: &str) -> Self {
        let quote = bounded(data);
        Self::broken(&format!("the reply was not understood ({error}): {quote}"))
    }

    /// KERN-15
    pub(crate) fn no_completion() -> Self {
        let words = "the reply held no content, no tool call and no stop reason";
        Self { status: Some(200), ..Self::new(ErrorKind::NoCompletion, words) }
    }

    /// A request that no wire can carry.
    pub(crate) fn unwritable(error: &serde_json::Error) -> Self {
        Self::new(ErrorKind::BadRequest, format!("failed to write the request: {error}"))
    }

    /// The window in tokens, where a provider that refused an overflow names it.
    pub fn stated_window(&self) -> Option<u64> {
        if self.kind == ErrorKind::Overflow {
            crate::failure::overflow::stated_window(&self.message)
        } else {
            None
        }
    }
}

/// Most characters of another's words that an error repeats.
const QUOTED: usize = 1000;

/// Another's words, as far as a person will read.
pub(crate) fn bounded(words: &str) -> String {
    let words = words.trim();
    match words.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}
