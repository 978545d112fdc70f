//! How a call fails, in one line a person can act on.

use std::fmt;

use crate::wire::Problem;

/// A failed call, with the API's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientError {
    /// Which service was called; always `api` here, kept so that log lines of
    /// several services read alike.
    pub service: &'static str,
    /// What was attempted, for example `get agent`.
    pub attempted: &'static str,
    /// What happened.
    pub failure: Failure,
}

/// What happened to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The API answered with an error status.
    Status {
        /// HTTP status.
        status: u16,
        /// The problem's words, or the beginning of the body where it is none.
        problem: String,
        /// The problem's stable reason, where it has one.
        reason: Option<String>,
    },
    /// No answer: connection refused or reset, DNS, TLS.
    Unreachable(String),
    /// No answer within the read timeout.
    TimedOut,
    /// The answer is not what this client knows, or is too long.
    Unreadable(String),
    /// There was no token to send.
    NoToken(String),
    /// The request could not be built.
    Unsendable(String),
}

impl ClientError {
    /// HTTP status, when the API answered with an error.
    pub fn status(&self) -> Option<u16> {
        match &self.failure {
            Failure::Status { status, .. } => Some(*status),
            Failure::Unreachable(_)
            | Failure::TimedOut
            | Failure::Unreadable(_)
            | Failure::NoToken(_)
            | Failure::Unsendable(_) => None,
        }
    }

    /// Whether the same call may succeed later without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        match &self.failure {
            Failure::Status { status, .. } => matches!(status, 408 | 425 | 429 | 500..=599),
            Failure::Unreachable(_) | Failure::TimedOut | Failure::NoToken(_) => true,
            Failure::Unreadable(_) | Failure::Unsendable(_) => false,
        }
    }

    /// The failure without the first half of the line.
    pub fn problem(&self) -> String {
        match &self.failure {
            Failure::Status { status, problem, .. } => format!("HTTP {status}: {problem}"),
            Failure::Unreachable(cause) | Failure::NoToken(cause) | Failure::Unsendable(cause) => {
                cause.clone()
            }
            Failure::TimedOut => "no answer within the read timeout".to_owned(),
            Failure::Unreadable(cause) => format!("unreadable answer: {cause}"),
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} failed: {}", self.service, self.attempted, self.problem())
    }
}

impl std::error::Error for ClientError {}

impl Failure {
    /// Longest piece of a body that is no problem document and still quoted.
    const QUOTED: usize = 300;

    pub(crate) fn from_response(status: u16, body: &[u8]) -> Self {
        match serde_json::from_slice::<Problem>(body) {
            Ok(problem) => {
                let words = match problem.remedy {
                    Some(remedy) => format!("{}; {remedy}", problem.detail),
                    None => problem.detail,
                };
                Self::Status { status, problem: words, reason: problem.reason }
            }
            Err(_) => Self::Status { status, problem: quoted(body), reason: None },
        }
    }
}

fn quoted(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    if text.is_empty() {
        return "no explanation".to_owned();
    }
    text.chars().take(Failure::QUOTED).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_refusal_reads_as_one_line_with_the_problems_own_words() {
        let body = br#"{"type":"about:blank","title":"Forbidden","status":403,
            "detail":"agent bob is not yours","reason":"NotYours","remedy":"ask its owner"}"#;
        let error = ClientError {
            service: "api",
            attempted: "get agent",
            failure: Failure::from_response(403, body),
        };
        assert_eq!(
            error.to_string(),
            "api get agent failed: HTTP 403: agent bob is not yours; ask its owner"
        );
        assert_eq!(error.status(), Some(403));
        assert!(!error.is_transient());
    }

    #[test]
    fn a_body_that_is_no_problem_is_quoted_and_bounded() {
        let body = "x".repeat(10_000);
        let Failure::Status { problem, .. } = Failure::from_response(502, body.as_bytes()) else {
            panic!("a response is a status failure");
        };
        assert_eq!(problem.len(), Failure::QUOTED);
    }
}
