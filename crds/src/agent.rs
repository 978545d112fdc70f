//! `Agent`: a thinking process with an owner, instructions and a harness.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::core::Rule;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::coding_run::{Approval, Limits, Repository};
use crate::form::{self, forbidden, immutable, required, rule};

mod status;

pub use status::{AgentState, AgentStatus, LastStart, WorkloadRef};

/// An agent: who owns it, what it is told, which harness runs it, and whether it
/// should be running.
// Three fields carry a schema default, so that what `kubectl get agents` shows never
// stands empty: `lifetime`, `activation` and `model`. Nobody owns a defaulted field
// under server-side apply, so manifests that leave them out stay without difference.
// `lifecycle`, `desiredState` and `starts` have none: runtime verbs write them, and a
// default would look like somebody's choice.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[kube(
    group = "foundry.flow.life",
    version = "v1alpha1",
    kind = "Agent",
    namespaced,
    status = "AgentStatus",
    derive = "PartialEq",
    shortname = "ag",
    category = "foundry",
    doc = "An agent: who owns it, what it is told, which harness runs it, and whether it should be running.",
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type=='Ready')].status"}"#,
    printcolumn = r#"{"name":"State","type":"string","jsonPath":".status.state"}"#,
    printcolumn = r#"{"name":"Lifetime","type":"string","jsonPath":".spec.lifetime"}"#,
    printcolumn = r#"{"name":"Model","type":"string","jsonPath":".spec.model"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Harness","type":"string","jsonPath":".spec.harness","priority":1}"#,
    printcolumn = r#"{"name":"Starts","type":"integer","jsonPath":".status.startNumber","priority":1}"#,
    printcolumn = r#"{"name":"Context","type":"integer","jsonPath":".status.contextPercent","priority":1}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type=='Ready')].reason","priority":1}"#,
    validation = rule(
        ".spec.parent",
        "!has(self.spec.parent) || self.spec.parent != self.metadata.name",
        "must name another agent than this one",
    ),
    // `{swarm}-{member}` together are the name, so its 40 characters hold both.
    validation = rule(
        ".spec.swarm",
        "!has(self.spec.swarm) || self.metadata.name.startsWith(self.spec.swarm + '-')",
        "a member of a swarm is named {swarm}-{member}",
    )
)]
#[x_kube(
    validation = immutable("lifetime", "cannot change; create another agent"),
    validation = immutable("parent", "cannot change; create another agent"),
    validation = immutable("swarm", "cannot change; create another agent"),
    validation = forbidden(
        ".owner",
        "self.lifetime != 'ephemeral' || self.owner == oldSelf.owner",
        "an ephemeral agent acts for the person its run or swarm acts for; it cannot change",
    ),
    // LIFE-06
    validation = required(
        ".ttlAt",
        "self.lifetime != 'ephemeral' || has(self.ttlAt)",
        "an ephemeral agent must say when it expires",
    ),
    validation = forbidden(
        ".ttlAt",
        "self.lifetime == 'ephemeral' || !has(self.ttlAt)",
        "only an ephemeral agent expires; leave it out or set lifetime: ephemeral",
    ),
    validation = forbidden(
        ".parent",
        "self.lifetime == 'ephemeral' || !has(self.parent)",
        "only an ephemeral agent has a parent; leave it out",
    ),
    validation = required(
        ".parent",
        "!has(self.swarm) || has(self.parent)",
        "a member of a swarm must name the agent that made the swarm",
    ),
    validation = kept_while_ephemeral("repository", "an ephemeral agent works on the repository of its run; it cannot change"),
    // CODE-31
    validation = kept_while_ephemeral("approval", "an ephemeral agent keeps who approves its plans, for an edit never approves one"),
    // CODE-38: the API has no toolchain, so nothing could run the work.
    validation = forbidden(
        ".repository",
        "!has(self.repository) || self.activation != 'onDemand'",
        "a coding agent needs a process of its own; set activation: alwaysOn",
    ),
    validation = forbidden(
        ".approval",
        "!has(self.approval) || has(self.repository)",
        "speaks of the plans of a coding agent; set repository or leave it out",
    ),
    validation = forbidden(
        ".limits",
        "!has(self.limits) || has(self.repository)",
        "speaks of the tasks of a coding agent; set repository or leave it out",
    ),
    validation = rule(
        ".lifecycle",
        "!has(oldSelf.lifecycle) || oldSelf.lifecycle != 'archive' || (has(self.lifecycle) && self.lifecycle == 'archive')",
        "an archived agent stays archived; create another one",
    )
)]
#[serde(rename_all = "camelCase")]
pub struct AgentSpec {
    /// Subject of the person this agent acts as. Whoever writes it must be that person
    /// or hold the verb `actas` on agents.
    // AUTHZ-01
    #[schemars(schema_with = "form::subject")]
    pub owner: String,
    /// Name in the agent's mail address and in on-demand routes: a DNS label of at most
    /// 40 characters, unique over all namespaces. Defaults to `metadata.name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::label")]
    pub slug: Option<String>,
    /// Name shown to people. Defaults to the slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::one_line::<100>")]
    pub display_name: Option<String>,
    /// People besides the owner who may read or edit this agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::members")]
    pub members: Vec<Member>,
    /// Name of the Harness in the same namespace that runs this agent. It stays until
    /// somebody changes it, whatever Harnesses are added.
    // LIFE-22
    #[schemars(schema_with = "form::label")]
    pub harness: String,
    /// How long the agent lives: `persistent` (the default) until it is archived;
    /// `ephemeral` belongs to a run or a swarm and ends at `ttlAt`. Cannot change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "persistent"))]
    #[schemars(schema_with = "form::choice::<Lifetime>")]
    pub lifetime: Option<Lifetime>,
    /// How the agent is brought to think: `alwaysOn` (the default) keeps a harness
    /// process; `onDemand` is woken by a call inside the API and has no workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "alwaysOn"))]
    #[schemars(schema_with = "form::choice::<Activation>")]
    pub activation: Option<Activation>,
    /// Whether the agent is in use: `active`, `expired` or `archive`. Absent means
    /// active. Written by the API's verbs; an archived agent stays archived.
    // LIFE-01
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<Lifecycle>")]
    pub lifecycle: Option<Lifecycle>,
    /// What should be: `running`, `completed` (stopped by somebody) or `stopped` (never
    /// started, or a start was refused). Absent means running. Written by start and
    /// stop: leave it out of manifests that are applied again and again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<DesiredState>")]
    pub desired_state: Option<DesiredState>,
    /// Counts the starts asked for; raise it to start or restart. It cannot be lowered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::starts")]
    pub starts: Option<i64>,
    /// What the agent is told to do, in Markdown; 65536 characters at most. An edit
    /// shows to the running process without a restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::markdown")]
    pub instructions: Option<String>,
    /// Which model thinks: `auto` (the default) or the `wireId` of a Model in the same
    /// namespace.
    // BIND-01
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::model_choice")]
    pub model: Option<String>,
    /// Model of memory consolidation; `auto` means the agent's own model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::optional_model")]
    pub memory_model: Option<String>,
    /// Model turns in one evaluation, from 10 to 1000; 10 by default.
    // LOOP-05
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::whole::<10, 1000>")]
    pub max_turns: Option<i64>,
    /// Catalog tools granted to this agent beside those always granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::tool_names")]
    pub tools: Vec<String>,
    /// Skills attached to this agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::skills")]
    pub skills: Vec<SkillRef>,
    /// Tool servers of the same namespace, connected beside the agent's own tools.
    // SPEC-05
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::tool_servers")]
    pub tool_servers: Vec<String>,
    /// How many earlier versions of a persistent agent are kept as `ControllerRevisions`,
    /// from 1 to 1000. Absent means all.
    // SPEC-01
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::whole::<1, 1000>")]
    pub revision_history_limit: Option<i64>,
    /// The repository a coding agent works on; only where the harness has the feature
    /// `repo_scope`. Of an ephemeral agent, which has that of its CodingRun, it cannot
    /// change.
    // CODE-09
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::repository")]
    pub repository: Option<Repository>,
    /// Who approves the plans of a coding agent. Absent means `person`; an ephemeral
    /// agent that no CodingRun made approves its own. Of an ephemeral agent it cannot
    /// change.
    // CODE-31, CODE-33
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<Approval>")]
    pub approval: Option<Approval>,
    /// Bounds of each task of a coding agent in turns and time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<Limits>")]
    pub limits: Option<Limits>,
    /// Project this agent's work is filed under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::one_line::<253>")]
    pub project: Option<String>,
    /// Whether conversations of this agent contribute to shared knowledge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contributes_to_knowledge: Option<bool>,
    /// Name of the agent that spawned this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::label")]
    pub parent: Option<String>,
    /// Name of the Swarm this agent is a member of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::label")]
    pub swarm: Option<String>,
    /// When an ephemeral agent expires, stopped or not. Required for `ephemeral`,
    /// refused for `persistent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::moment")]
    pub ttl_at: Option<Time>,
}

/// `field` of an ephemeral agent keeps the value, or the absence, it was created with.
fn kept_while_ephemeral(field: &str, message: &str) -> Rule {
    forbidden(
        &format!(".{field}"),
        format!(
            "self.lifetime != 'ephemeral' || (has(self.{field}) == has(oldSelf.{field}) && \
             (!has(self.{field}) || self.{field} == oldSelf.{field}))"
        ),
        message,
    )
}

/// A person besides the owner, and what that person may do.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Subject of the person.
    #[schemars(schema_with = "form::subject")]
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

/// Whether an agent is in use.
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
    #[schemars(schema_with = "form::label")]
    pub name: String,
    /// Version to stay on; absent means the latest.
    // SKILL-02
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::whole::<1, 1_000_000>")]
    pub version: Option<i64>,
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

    /// Who approves the plans of a coding agent: who is named, else the agent itself when
    /// it is ephemeral, else a person (CODE-31, CODE-33).
    pub fn approval(&self) -> Approval {
        match (self.approval, self.lifetime()) {
            (Some(approval), _) => approval,
            (None, Lifetime::Ephemeral) => Approval::Itself,
            (None, Lifetime::Persistent) => Approval::Person,
        }
    }

    /// The bounds of each task of a coding agent, each of them said.
    pub fn limits(&self) -> Limits {
        self.limits.clone().unwrap_or_default().in_full()
    }

    /// Model turns in one evaluation: never below 10 (LOOP-05).
    pub fn max_turns(&self) -> i64 {
        self.max_turns.unwrap_or(10).max(10)
    }
}
