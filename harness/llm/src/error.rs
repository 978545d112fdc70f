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
    /// A line for a person: what happened in the provider's own words (KERN-17), then who
    /// and where, then what to do: `HTTP 401: invalid key (gpt-5-mini at
    /// https://api.openai.com; check the key, and what it may use)`.
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
    /// The server refused the request's form, not what it asks: the next request to
    /// this model has another form, so it is worth sending at once.
    Dialect,
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
        Self::broken(&format!("the reply was not understood ({error}): {}", kept(data)))
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

/// Most characters that are kept until the key is taken out of them. So much more than
/// are repeated, that no half of a key survives the two cuts.
const KEPT: usize = 5 * QUOTED;

/// Another's words, as far as a person will read: on one line, and without what moves the
/// cursor of a terminal.
pub(crate) fn bounded(words: &str) -> String {
    let words = kept(words);
    let parts = words.split(|c: char| c.is_whitespace() || c.is_control());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    cut(&parts.join(" "), QUOTED)
}

/// Another's words, as far as they are kept.
pub(crate) fn kept(words: &str) -> String {
    cut(words, KEPT)
}

fn cut(words: &str, most: usize) -> String {
    let words = words.trim();
    match words.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}
