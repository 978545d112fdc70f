//! Swarms: several ephemeral agents that work for one agent on one goal.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::SkillRef;

/// Body of `POST /v1/agents/{id}/swarms`: the agent starts a swarm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SpawnSwarm {
    /// What the members work towards together, in Markdown.
    pub goal: String,
    /// The members, from 1 to 20.
    pub members: Vec<SpawnMember>,
    /// Seconds that the members may live, from 60 to 86400; four hours when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u64>,
    /// Name of the Swarm; made from the agent's when absent. With each member's name and a
    /// dash it has at most 40 characters, for that is the name of the member's agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Posting the same key again gives the same swarm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// One member of a swarm that is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SpawnMember {
    /// Name within the swarm: `a-z`, `0-9` and `-`.
    pub name: String,
    /// What this member does, in Markdown.
    pub instructions: String,
    /// Harness that runs it; agent-v1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness_id: Option<String>,
    /// `auto` or a model's wire id; `auto` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Catalog tools to grant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Skills to attach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<SkillRef>,
    /// Tool servers to connect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_servers: Vec<String>,
}

/// A swarm, as pages, people and agents read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SwarmView {
    /// Name of the Swarm resource.
    pub id: String,
    /// Namespace it lives in, which is its workspace.
    pub namespace: String,
    /// Subject of the person its members act as.
    pub owner: String,
    /// Agent that started it.
    pub parent_agent_id: String,
    /// What the members work towards together.
    pub goal: String,
    /// The members, as they are asked for and as they stand.
    pub members: Vec<MemberView>,
    /// Seconds that the members may live.
    pub ttl_seconds: u64,
    /// Whether it is dismissed.
    pub dismissed: bool,
    /// Where it stands: `Pending`, `Running`, `Succeeded`, `Failed` or `Dismissed`; absent
    /// before the operator's first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// One word for why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A sentence for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// When the resource was created.
    pub created_at: Timestamp,
    /// When the first member's process started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When the last member ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
}

/// One member of a swarm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemberView {
    /// Name within the swarm.
    pub name: String,
    /// Its ephemeral agent, `{swarm}-{member}`, which the operator makes.
    pub agent_id: String,
    /// Harness that runs it.
    pub harness_id: String,
    /// What it is told to do.
    pub instructions: String,
    /// `auto` or a model's wire id.
    pub model: String,
    /// Catalog tools granted to it.
    pub tools: Vec<String>,
    /// Skills attached to it.
    pub skills: Vec<SkillRef>,
    /// Tool servers connected to it.
    pub tool_servers: Vec<String>,
    /// Where it stands: `Pending`, `Running`, `Stopped`, `Succeeded`, `Failed` or
    /// `Expired`; absent before it is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
}

/// A page of swarms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SwarmPage {
    /// The swarms, by id.
    pub items: Vec<SwarmView>,
    /// Where the next page begins; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
