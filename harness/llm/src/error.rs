//! Every way a model call can fail, with the provider's own words.

use std::time::Duration;

/// A failed model call, as the provider or the network truly stated it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
