//! What the operator and the API say of an agent.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DesiredState;
use crate::form;

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
    #[schemars(schema_with = "form::words::<128>")]
    pub config_digest: Option<String>,
    /// What the operator last saw as desired, so that a flip to running by kubectl
    /// counts as a start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<DesiredState>")]
    pub observed_desired_state: Option<DesiredState>,
    /// The last start of a process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<LastStart>")]
    pub last_start: Option<LastStart>,
    /// The Deployment, Job or Pod that runs the harness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<WorkloadRef>")]
    pub workload: Option<WorkloadRef>,
    /// What the agent is doing, as the STATE column shows it. Never `Running` when
    /// nothing has started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<AgentState>")]
    pub state: Option<AgentState>,
    /// Mail address of this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::words::<320>")]
    pub mailbox: Option<String>,
    /// Last sign of life; moves when liveness flips, or every five minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::moment")]
    pub last_heartbeat: Option<Time>,
    /// How full the model's context is, in tens of percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::whole::<0, 1000>")]
    pub context_percent: Option<i64>,
    /// Document of the newest plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::words::<255>")]
    pub plan_document_id: Option<String>,
    /// Conditions after Kubernetes' conventions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::conditions")]
    pub conditions: Vec<Condition>,
}

/// What an agent is doing.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentState {
    /// A harness process is alive.
    Running,
    /// A harness should run and does not yet.
    Pending,
    /// Nothing should run.
    Stopped,
    /// A call wakes it inside the API.
    OnDemand,
    /// Ended.
    Expired,
    /// Put away.
    Archived,
}

impl AgentState {
    /// The word in status and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "Running",
            Self::Pending => "Pending",
            Self::Stopped => "Stopped",
            Self::OnDemand => "OnDemand",
            Self::Expired => "Expired",
            Self::Archived => "Archived",
        }
    }
}

impl std::fmt::Display for AgentState {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.as_str())
    }
}

/// The last start of a process.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct LastStart {
    /// Start number the process was started for.
    pub number: i64,
    /// The `spec.starts` this start answers, so that an operator that died between
    /// writing the number and making the workload does not count it twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<i64>,
    /// When the operator acted on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::moment")]
    pub at: Option<Time>,
    /// Why the cluster refused it, in the cluster's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::words::<4096>")]
    pub refused: Option<String>,
}

/// The object that runs a harness.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadRef {
    /// `Deployment`, `Job` or `Pod`.
    #[schemars(schema_with = "form::words::<63>")]
    pub kind: String,
    /// Name in the agent's namespace.
    #[schemars(schema_with = "form::words::<253>")]
    pub name: String,
}
