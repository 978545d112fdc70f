//! Log lines of an agent.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// One thing that happened, as the harness tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogEvent {
    /// The event's own id: posting it twice stores it once.
    pub id: Uuid,
    /// When it happened.
    pub at: Timestamp,
    /// What kind of event, for example `think`, `tool_call`, `plan` or `error`.
    pub kind: String,
    /// How grave it is.
    pub level: LogLevel,
    /// A line for a person.
    pub message: String,
    /// Details, by kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
}

/// How grave an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum LogLevel {
    /// Of use when looking closely.
    Debug,
    /// The ordinary course.
    Info,
    /// Something to look at.
    Warn,
    /// Something failed.
    Error,
}

/// Body of `POST /v1/agents/{id}/logs`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PostLogs {
    /// At most 500 events.
    pub events: Vec<LogEvent>,
}

/// What became of posted events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogAppended {
    /// Events that were new.
    pub accepted: usize,
    /// Sequence of the agent's last line.
    pub last_sequence: i64,
}

/// A stored event with its place in the agent's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogLine {
    /// Place in the agent's log, from 1, without gaps.
    pub sequence: i64,
    /// The event.
    #[serde(flatten)]
    pub event: LogEvent,
}

/// A page of log lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogPage {
    /// The lines, oldest first.
    pub items: Vec<LogLine>,
    /// Give this as `after` to read on.
    pub next_after: i64,
    /// Sequence of the oldest line that is still kept; 0 when there is none.
    pub oldest: i64,
    /// Whether lines after `after` are gone, so that this page begins later.
    pub reset: bool,
}
