//! Memories and the thoughts made of them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// One remembered thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Memory {
    /// Id of the row.
    pub id: Uuid,
    /// What is remembered.
    pub text: String,
    /// Where it is kept.
    pub tier: Tier,
    /// Whether a person or the agent wrote it.
    pub author_kind: AuthorKind,
    /// Subject of the person, or id of the agent.
    pub author: String,
    /// When it was written.
    pub created_at: Timestamp,
    /// When consolidation looked at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewed_at: Option<Timestamp>,
    /// Whether a later memory replaced it.
    pub superseded: bool,
}

/// Where a memory is kept (MEM-02).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Tier {
    /// Always in the prompt.
    Core,
    /// Found by `recall`; in the prompt only while recent and unreviewed.
    Archive,
}

/// Who wrote a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum AuthorKind {
    /// A person.
    Person,
    /// The agent.
    Agent,
}

/// Body of `POST /v1/agents/{id}/memories`. The caller decides the tier: an agent's
/// entry goes to the archive, a person's to the core (MEM-04).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Remember {
    /// What to remember.
    pub text: String,
}

/// A page of memories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemoryPage {
    /// The memories, newest first.
    pub items: Vec<Memory>,
    /// Where the next page begins; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// What a recall found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Recalled {
    /// The memories that match, newest first.
    pub items: Vec<Memory>,
}

/// The thoughts of an agent, as its prompt carries them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Thoughts {
    /// The text.
    pub text: String,
}
