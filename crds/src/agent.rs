//! `Agent`: a thinking process with an owner, instructions and a harness.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An agent: who owns it, what it is told, which harness runs it, and whether it
/// should be running.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[kube(
    group = "foundry.flow.life",
    version = "v1alpha1",
    kind = "Agent",
    namespaced,
    status = "AgentStatus",
    derive = "PartialEq",
    shortname = "ag",
    category = "foundry"
)]
#[serde(rename_all = "camelCase")]
pub struct AgentSpec {
    /// Subject of the person this agent acts as (AUTHZ-01).
    pub owner: String,
    /// Name in addresses and on-demand routes; unique over all namespaces.
    /// Defaults to `metadata.name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<String>,
    /// Name shown to people. Defaults to the slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// People besides the owner who may read or edit this agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
    /// Name of the Harness in the same namespace that runs this agent (LIFE-22).
    pub harness: String,
    /// `persistent` lives until it is archived; `ephemeral` belongs to a run or a
    /// swarm and ends at `ttlAt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Lifetime>,
    /// `alwaysOn` keeps a harness process; `onDemand` is woken inside the API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activation: Option<Activation>,
    /// `active`, `expired` or `archive` (LIFE-01). Absent means active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifecycle: Option<Lifecycle>,
    /// What should be: `running`, `completed` or `stopped`. Absent means running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_state: Option<DesiredState>,
    /// Counts the starts asked for; raise it to start or restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<i64>,
    /// What the agent is told to do, in Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// `auto` or the `wireId` of a Model (BIND-01). Absent means `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Model of memory consolidation; `auto` means the agent's own model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_model: Option<String>,
    /// Model turns in one evaluation; 10 at least, 10 by default (LOOP-05).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<i64>,
    /// Catalog tools granted to this agent beside those always granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Skills attached to this agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<SkillRef>,
    /// Project this agent's work is filed under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Whether conversations of this agent contribute to shared knowledge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contributes_to_knowledge: Option<bool>,
    /// Name of the agent that spawned this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Name of the Swarm this agent is a member of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swarm: Option<String>,
    /// When an ephemeral agent expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_at: Option<Time>,
}

/// A person besides the owner, and what that person may do.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Subject of the person.
    pub subject: String,
    /// What the person may do.
    pub role: MemberRole,
}

/// Role of a member.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum MemberRole {
    /// May read.
    Viewer,
    /// May read and edit.
    Editor,
}

/// How long an agent lives.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub enum Lifetime {
    /// Until somebody archives it.
    #[default]
    Persistent,
    /// Until its `ttlAt`, its run or its swarm ends.
    Ephemeral,
}

/// How an agent is brought to think.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub enum Activation {
    /// A harness process evaluates on its rhythm.
    #[default]
    AlwaysOn,
    /// A call wakes it inside the API; there is no workload.
    OnDemand,
}

/// Whether an agent is in use (LIFE-01).
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub enum Lifecycle {
    /// In use.
    #[default]
    Active,
    /// Ended; an ephemeral agent can be brought back by a restart.
    Expired,
    /// Put away for good.
    Archive,
}

/// What should be running.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub enum DesiredState {
    /// A harness should run.
    #[default]
    Running,
    /// Stopped by somebody; nothing should run.
    Completed,
    /// Never started, or a start was refused; nothing should run.
    Stopped,
}

/// A skill attached to an agent.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct SkillRef {
    /// Name of the Skill.
    pub name: String,
    /// Version to stay on; absent means the latest (SKILL-02).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
}

/// What came of an agent's spec.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct AgentStatus {
    /// `metadata.generation` this status speaks of; -1 before the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The source documents' *generation*: raised by start, restart and edits of
    /// instructions, model, harness, skills or tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_number: Option<i64>,
    /// The `spec.starts` the operator has acted on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_starts: Option<i64>,
    /// Start number whose Job has finished; that Job is never made again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_start: Option<i64>,
    /// Digest of instructions, model, harness, skills and tools at `startNumber`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_digest: Option<String>,
    /// What the operator last saw as desired, so that a flip to running by kubectl
    /// counts as a start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_desired_state: Option<DesiredState>,
    /// The last start of a process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_start: Option<LastStart>,
    /// The Deployment, Job or Pod that runs the harness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadRef>,
    /// `Running`, `Pending`, `Stopped`, `OnDemand`, `Expired` or `Archived`: the
    /// STATE column. Never `Running` when nothing has started (UI-04).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Mail address of this agent (LIFE-21).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mailbox: Option<String>,
    /// Last sign of life; moves when liveness flips, or every five minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_heartbeat: Option<Time>,
    /// How full the model's context is, in tens of percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_percent: Option<i64>,
    /// Document of the newest plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_document_id: Option<String>,
    /// Conditions after Kubernetes' conventions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// The last start of a process.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct LastStart {
    /// Start number the process was started for.
    pub number: i64,
    /// When the operator acted on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
    /// Why the cluster refused it, in the cluster's words (LIFE-15).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// The object that runs a harness.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadRef {
    /// `Deployment`, `Job` or `Pod`.
    pub kind: String,
    /// Name in the agent's namespace.
    pub name: String,
}

impl AgentSpec {
    /// How long this agent lives; persistent unless said otherwise.
    pub fn lifetime(&self) -> Lifetime {
        self.lifetime.unwrap_or_default()
    }

    /// How this agent is brought to think; always on unless said otherwise.
    pub fn activation(&self) -> Activation {
        self.activation.unwrap_or_default()
    }

    /// Whether this agent is in use; active unless said otherwise.
    pub fn lifecycle(&self) -> Lifecycle {
        self.lifecycle.unwrap_or_default()
    }

    /// What should be running; a harness unless said otherwise.
    pub fn desired_state(&self) -> DesiredState {
        self.desired_state.unwrap_or_default()
    }

    /// `auto` or a wire id (BIND-01).
    pub fn model(&self) -> &str {
        self.model.as_deref().unwrap_or("auto")
    }

    /// Model turns in one evaluation: never below 10 (LOOP-05).
    pub fn max_turns(&self) -> i64 {
        self.max_turns.unwrap_or(10).max(10)
    }
}
