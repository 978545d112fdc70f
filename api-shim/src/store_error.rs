//! How a failure of the store is answered.

use foundry_store::{Class, Error};
use http::StatusCode;

use crate::problem::Problem;

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error.class() {
            Class::Transient => {
                tracing::warn!(cause = chain(&error), "the store does not serve");
                Self::unavailable(error.category(), error.to_string())
            }
            Class::Refused => match error {
                Error::Cursor => Self::invalid("cursor", "BadCursor", error.to_string()),
                Error::UnknownWake { .. } => {
                    Self::invalid("wake_id", "UnknownWake", error.to_string())
                }
                Error::Superseded { .. }
                | Error::TaskEnded { .. }
                | Error::PlanChanged { .. }
                | Error::QuestionClosed { .. }
                | Error::AlreadyAnswered { .. } => {
                    Self::conflict(error.category(), error.to_string())
                }
                Error::UnknownQuestion { .. } => {
                    Self::new(StatusCode::NOT_FOUND, error.category(), error.to_string())
                }
                Error::TooMany { .. } | Error::LimitReached { .. } => {
                    let status = StatusCode::UNPROCESSABLE_ENTITY;
                    Self::new(status, error.category(), error.to_string())
                }
                _ => {
                    tracing::error!(cause = chain(&error), "the store must be seen to");
                    Self::unavailable(error.category(), error.to_string())
                }
            },
            Class::Bug => Self::bug(chain(&error)),
        }
    }
}

/// The error and the driver's words. Displayed, not debugged: a driver's debug form may
/// hold the row.
fn chain(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
