//! Wakes: what waits for an agent.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Something that waits for the agent. It stays pending until a run record names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Wake {
    /// Id that the run record names.
    pub id: Uuid,
    /// Where it came from, for example `person` or `mail`.
    pub source: String,
    /// What was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Message this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Thread this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// Ephemeral agent that it was for, which is over; the one that has it now is at the
    /// top of that agent's parents (LIFE-18).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addressed_to: Option<String>,
    /// When it was recorded.
    pub created_at: Timestamp,
}

/// The wakes handed out, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WakeList {
    /// The wakes; empty when nothing came within the wait.
    pub wakes: Vec<Wake>,
}

/// Body of `POST /v1/agents/{id}/inbox`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecordWake {
    /// Where it comes from, for example `person` or `mail`.
    pub source: String,
    /// What is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Message this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Thread this is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// Posting the same key again gives the same wake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}
