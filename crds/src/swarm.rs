//! `Swarm`: several ephemeral agents that work for one agent on one goal.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::SkillRef;
use crate::coding_run::parse_duration;
use crate::form::{self, forbidden, immutable, rule};

/// Time of a swarm where nobody says.
const TTL: Duration = Duration::from_hours(4);

/// A swarm: ephemeral agents that one agent started, each with a part of one goal.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[kube(
    group = "foundry.flow.life",
    version = "v1alpha1",
    kind = "Swarm",
    namespaced,
    status = "SwarmStatus",
    derive = "PartialEq",
    shortname = "sw",
    category = "foundry",
    doc = "A swarm: ephemeral agents that one agent started, each with a part of one goal.",
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Members","type":"string","jsonPath":".status.memberSummary","description":"Members that have finished of all, as 2/3."}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Parent","type":"string","jsonPath":".spec.parent","priority":1}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type=='Complete')].reason","priority":1}"#,
    // `{swarm}-{member}` is the name of a member's agent.
    validation = rule(
        ".spec.members",
        "self.spec.members.all(m, size(self.metadata.name) + 1 + size(m.name) <= 40)",
        "a member's agent is named {swarm}-{member}, at most 40 characters together; shorten one of them",
    ),
    validation = rule(
        ".spec.members",
        "self.spec.members.all(m, self.metadata.name + '-' + m.name != self.spec.parent)",
        "a member's agent is named {swarm}-{member}, and the parent has that name; rename the member",
    )
)]
#[x_kube(
    validation = immutable("owner", ANOTHER_SWARM),
    validation = immutable("parent", ANOTHER_SWARM),
    validation = forbidden(
        ".dismissed",
        "!has(oldSelf.dismissed) || !oldSelf.dismissed || (has(self.dismissed) && self.dismissed)",
        "a dismissed swarm stays dismissed; restart a member by itself, or create another swarm",
    )
)]
#[serde(rename_all = "camelCase")]
pub struct SwarmSpec {
    /// Subject of the person the members act as: the owner of the parent. Whoever writes
    /// it must be that person or hold the verb `actas` on agents. Cannot change.
    #[schemars(schema_with = "form::subject")]
    pub owner: String,
    /// Name of the agent that starts the swarm, in the same namespace. Cannot change.
    // SWARM-02
    #[schemars(schema_with = "form::label")]
    pub parent: String,
    /// What the members work towards together, in Markdown; each reads it before its own
    /// instructions.
    #[schemars(schema_with = "form::goal")]
    pub goal: String,
    /// The members, from 1 to 20. One that is added is started; one that is edited sees
    /// the edit; one that is taken out expires.
    #[schemars(schema_with = "form::swarm_members")]
    pub members: Vec<SwarmMember>,
    /// How long the members may live from their creation, such as `30m` or `4h`, from 1m
    /// to 24h; 4h by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::duration")]
    pub ttl: Option<String>,
    /// Whether the swarm is dismissed: every active member expires, and its Job goes. It
    /// cannot be taken back.
    // SWARM-04
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dismissed: Option<bool>,
}

const ANOTHER_SWARM: &str = "cannot change; create another swarm";

/// One member: an ephemeral agent named `{swarm}-{member}`.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct SwarmMember {
    /// Name of the member within the swarm.
    #[schemars(schema_with = "form::label")]
    pub name: String,
    /// Name of the Harness that runs the member, in the same namespace.
    #[schemars(schema_with = "form::label")]
    pub harness: String,
    /// What the member is told to do, in Markdown; 32768 characters at most.
    #[schemars(schema_with = "form::member_instructions")]
    pub instructions: String,
    /// Which model thinks: `auto` (the default) or the `wireId` of a Model in the same
    /// namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::optional_model")]
    pub model: Option<String>,
    /// Catalog tools granted to the member beside those always granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::tool_names")]
    pub tools: Vec<String>,
    /// Skills attached to the member.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::skills")]
    pub skills: Vec<SkillRef>,
    /// Tool servers connected beside the member's own tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::tool_servers")]
    pub tool_servers: Vec<String>,
}

/// What came of a swarm's spec.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct SwarmStatus {
    /// `metadata.generation` this status speaks of; -1 before the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Where the swarm stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<SwarmPhase>")]
    pub phase: Option<SwarmPhase>,
    /// Each member that was made, in the order of its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::member_standings")]
    pub members: Vec<MemberStanding>,
    /// Members that have finished of all, as `2/3`: the MEMBERS column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::words::<32>")]
    pub member_summary: Option<String>,
    /// When the first member's process started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::moment")]
    pub start_time: Option<Time>,
    /// When the last member ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::moment")]
    pub completion_time: Option<Time>,
    /// Conditions after Kubernetes' conventions; `Complete` says whether every member
    /// ended well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::conditions")]
    pub conditions: Vec<Condition>,
}

/// Where a member stands.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct MemberStanding {
    /// Name of the member within the swarm.
    #[schemars(schema_with = "form::words::<40>")]
    pub name: String,
    /// Name of its ephemeral agent; it is made once, and not made again when somebody
    /// deletes it.
    #[schemars(schema_with = "form::words::<253>")]
    pub agent: String,
    /// Where it stands.
    pub phase: MemberPhase,
}

/// Where a swarm stands.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwarmPhase {
    /// Waits for something: its parent, a Harness, quota.
    Pending,
    /// At least one member has yet to end.
    Running,
    /// Every member ended well.
    Succeeded,
    /// Every member ended, and one of them badly, or its time was over first.
    Failed,
    /// Dismissed: every member is expired.
    Dismissed,
}

/// Where a member stands.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberPhase {
    /// Its agent waits for something.
    Pending,
    /// A harness process of it is alive.
    Running,
    /// Somebody stopped it.
    Stopped,
    /// Its process ended well, or its agent was expired in good time: by its harness, or by
    /// the agent that started it.
    Succeeded,
    /// Its process ended badly, or its agent was deleted.
    Failed,
    /// It expired before its process ended: dismissed, taken out, or out of time.
    Expired,
}

impl SwarmPhase {
    /// The word in status and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Dismissed => "Dismissed",
        }
    }

    /// Whether this is an end.
    pub const fn is_an_end(self) -> bool {
        match self {
            Self::Pending | Self::Running => false,
            Self::Succeeded | Self::Failed | Self::Dismissed => true,
        }
    }
}

impl MemberPhase {
    /// The word in status and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Stopped => "Stopped",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Expired => "Expired",
        }
    }

    /// Whether this is an end.
    pub const fn is_an_end(self) -> bool {
        match self {
            Self::Pending | Self::Running | Self::Stopped => false,
            Self::Succeeded | Self::Failed | Self::Expired => true,
        }
    }
}

impl SwarmSpec {
    /// How long the members may live from their creation.
    pub fn ttl(&self) -> Duration {
        // What admission would refuse bounds nothing: the default does.
        self.ttl.as_deref().and_then(parse_duration).unwrap_or(TTL)
    }

    /// Whether the swarm is dismissed.
    pub fn is_dismissed(&self) -> bool {
        self.dismissed.unwrap_or_default()
    }
}

impl SwarmMember {
    /// `auto` or a wire id (BIND-01).
    pub fn model(&self) -> &str {
        self.model.as_deref().unwrap_or("auto")
    }
}

/// Name of the ephemeral agent of a member.
pub fn member_agent(swarm: &str, member: &str) -> String {
    format!("{swarm}-{member}")
}
