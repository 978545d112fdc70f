//! What a harness reports of itself: runs, heartbeats, usage.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// One evaluation or wake, after it ended. It carries no prompt text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RunRecord {
    /// The run's own id: posting it twice stores it once.
    pub id: Uuid,
    /// The wake this run handled; the record acknowledges it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_id: Option<Uuid>,
    /// Why the run happened, for example `evaluation` or `wake`.
    pub reason: String,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Timestamp,
    /// Model turns.
    pub turns: u32,
    /// Fresh input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// How it ended, for example `end_turn`, `max_turns` or `failed`.
    pub outcome: String,
}

/// A page of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RunPage {
    /// The runs, newest first.
    pub items: Vec<RunRecord>,
    /// Where the next page begins; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Heartbeat {
    /// When, by the harness' clock.
    pub at: Timestamp,
    /// Id that this harness process chose when it began.
    pub process_id: Uuid,
    /// Start number the process was started for, or last read.
    pub generation: i64,
    /// How full the model's context is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_percent: Option<u8>,
}

/// What an agent has used since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UsageTotals {
    /// Model calls.
    pub calls: u64,
    /// Fresh input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// Input tokens read from the provider's cache.
    pub cache_read_tokens: u64,
    /// Input tokens written to the provider's cache.
    pub cache_write_tokens: u64,
    /// Cost in micros (millionths) of the accounting currency.
    pub cost_micros: i64,
}
