//! Agents.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::RepositoryScope;

/// An agent, as pages, people and harnesses read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AgentView {
    /// Name of the Agent resource; the id in every route.
    pub id: String,
    /// Namespace the agent lives in, which is its workspace.
    pub namespace: String,
    /// Name shown to people.
    pub name: String,
    /// Name in addresses; unique over all workspaces.
    pub slug: String,
    /// Subject of the person this agent acts as.
    pub owner: String,
    /// Harness that runs this agent.
    pub harness_id: String,
    /// How long it lives.
    pub lifetime: Lifetime,
    /// How it is brought to think.
    pub activation: Activation,
    /// Whether it is in use; separate from `desired_state`.
    pub status: Status,
    /// What should be running.
    pub desired_state: DesiredState,
    /// Start number: raised by start, restart and edits of instructions, model,
    /// harness, skills or tools. 0 before the operator's first look.
    pub generation: i64,
    /// Start number that the running process was started for.
    pub process_generation: i64,
    /// What truly is.
    pub state: AgentState,
    /// One word for why the state is as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A sentence for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What the agent is told to do, in Markdown.
    pub instructions: String,
    /// `auto` or a model's wire id.
    pub model: String,
    /// Model of memory consolidation; `auto` means the agent's own.
    pub memory_model: String,
    /// Model turns in one evaluation.
    pub max_turns: i64,
    /// Catalog tools granted to this agent.
    pub tools: Vec<String>,
    /// Skills attached to this agent.
    pub skills: Vec<SkillRef>,
    /// Tool servers connected beside its own tools.
    #[serde(default)]
    pub tool_servers: Vec<String>,
    /// The repository of a coding agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<RepositoryScope>,
    /// Agent that spawned this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_agent_id: Option<String>,
    /// Swarm this agent is a member of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swarm_id: Option<String>,
    /// When an ephemeral agent expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_at: Option<Timestamp>,
    /// Mail address of this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mailbox: Option<String>,
    /// Document of the newest plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_document_id: Option<String>,
    /// Last sign of life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_heartbeat: Option<Timestamp>,
    /// How full the model's context is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_percent: Option<i64>,
    /// When the resource was created.
    pub created_at: Timestamp,
    /// Version of the resource this view was read from.
    pub resource_version: String,
}

/// How long an agent lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Lifetime {
    /// Until somebody archives it.
    Persistent,
    /// Until its time, its run or its swarm ends.
    Ephemeral,
}

/// How an agent is brought to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Activation {
    /// A harness process evaluates on its rhythm.
    AlwaysOn,
    /// A call wakes it; there is no workload.
    OnDemand,
}

/// Whether an agent is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Status {
    /// In use.
    Active,
    /// Ended; an ephemeral agent can be brought back by a restart.
    Expired,
    /// Put away for good.
    Archive,
}

/// What should be running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum DesiredState {
    /// A harness should run.
    Running,
    /// Stopped by somebody.
    Completed,
    /// Never started, or a start was refused.
    Stopped,
}

/// What truly is, in the words of `kubectl get agents`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum AgentState {
    /// A harness process lives.
    Running,
    /// Asked for and not yet up.
    Pending,
    /// Nothing should run and nothing does.
    Stopped,
    /// Woken by calls; no process by design.
    OnDemand,
    /// The agent is expired.
    Expired,
    /// The agent is archived.
    Archived,
}

/// A skill attached to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SkillRef {
    /// Name of the Skill.
    pub name: String,
    /// Version to stay on; absent means the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
}

/// Body of `POST /v1/agents`. The caller becomes the owner.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateAgent {
    /// Name shown to people.
    pub name: String,
    /// Name in addresses; by default the id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// Name of the resource; by default made from the slug or the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Harness that shall run this agent.
    pub harness_id: String,
    /// What the agent is told to do, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// `auto` or a model's wire id; `auto` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Model of memory consolidation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_model: Option<String>,
    /// How it is brought to think; `always_on` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation: Option<Activation>,
    /// `persistent`, or nothing: a person cannot make an ephemeral agent (LIFE-05).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Lifetime>,
    /// Model turns in one evaluation, 10 at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<i64>,
    /// Catalog tools to grant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Skills to attach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<SkillRef>,
    /// Tool servers to connect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_servers: Vec<String>,
    /// The repository of a coding agent; only with a harness that has `repo_scope`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<RepositoryScope>,
}

/// Body of `PATCH /v1/agents/{id}`: what is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EditAgent {
    /// Name shown to people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name in addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// Harness that shall run this agent from its next start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness_id: Option<String>,
    /// What the agent is told to do, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// `auto` or a model's wire id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Model of memory consolidation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_model: Option<String>,
    /// How it is brought to think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation: Option<Activation>,
    /// Model turns in one evaluation, 10 at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<i64>,
    /// The whole list of granted tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The whole list of attached skills.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<SkillRef>>,
    /// The whole list of connected tool servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_servers: Option<Vec<String>>,
    /// The whole repository scope of a coding agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<RepositoryScope>,
}

/// A page of agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AgentPage {
    /// The agents, by id.
    pub items: Vec<AgentView>,
    /// Where the next page begins; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
