//! How a call to the API server fails.

use http::StatusCode;
use kube::core::Status;

use crate::problem::Problem;

/// A failed call to the API server.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The API server answered with an error.
    #[error("failed to {attempted}")]
    Answered {
        /// What was attempted.
        attempted: String,
        /// The API server's answer.
        status: Box<Status>,
    },
    /// The API server did not answer, or not readably.
    #[error("failed to {attempted}")]
    Unanswered {
        /// What was attempted.
        attempted: String,
        /// The client's error.
        source: Box<kube::Error>,
    },
    /// No answer within the deadline.
    #[error("failed to {attempted}: the API server did not answer in time")]
    TimedOut {
        /// What was attempted.
        attempted: String,
    },
}

impl ClusterError {
    /// Sorts a client error.
    pub fn new(attempted: String, error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Answered { attempted, status },
            source => Self::Unanswered { attempted, source: Box::new(source) },
        }
    }

    /// The API server's answer, when there is one.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Answered { status, .. } => Some(status),
            Self::Unanswered { .. } | Self::TimedOut { .. } => None,
        }
    }

    /// What the caller of this API reads. What admission refuses is the caller's to
    /// change; what this API may not do is its operator's.
    pub fn into_problem(self) -> Problem {
        match &self {
            Self::Answered { attempted, status } if status.is_invalid() => {
                let field = status
                    .details
                    .as_ref()
                    .and_then(|details| details.causes.first())
                    .map(|cause| snake_case(cause.field.trim_start_matches("spec.")))
                    .filter(|field| !field.is_empty());
                tracing::debug!(%attempted, words = %status.message, "refused by admission");
                let problem = Problem::new(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    "RefusedByAdmission",
                    status.message.clone(),
                );
                match field {
                    Some(field) => problem.field(field),
                    None => problem,
                }
            }
            Self::Answered { attempted, status } if status.is_already_exists() => {
                Problem::conflict(
                    "AlreadyExists",
                    format!("failed to {attempted}: {}", status.message),
                )
            }
            Self::Answered { attempted, status } => {
                tracing::error!(%attempted, words = %status.message, code = status.code,
                    "the API server refused");
                Problem::unavailable(
                    "ClusterRefused",
                    format!("failed to {attempted}: {}", status.message),
                )
            }
            Self::Unanswered { attempted, source } => {
                tracing::error!(%attempted, cause = %source, "the API server does not answer");
                Problem::unavailable(
                    "ClusterUnavailable",
                    format!("failed to {attempted}: the cluster does not answer"),
                )
            }
            Self::TimedOut { attempted } => {
                tracing::error!(%attempted, "the API server did not answer in time");
                Problem::unavailable(
                    "ClusterUnavailable",
                    format!("failed to {attempted}: the cluster did not answer in time"),
                )
            }
        }
    }
}

/// The resource's `maxTurns` is this API's `max_turns`.
fn snake_case(field: &str) -> String {
    let mut name = String::with_capacity(field.len() + 4);
    for letter in field.chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}
