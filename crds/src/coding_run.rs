//! `CodingRun`: one task on one repository, from plan to pull request.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A coding run: a task on a repository, carried out by one ephemeral agent.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[kube(
    group = "foundry.flow.life",
    version = "v1alpha1",
    kind = "CodingRun",
    namespaced,
    status = "CodingRunStatus",
    derive = "PartialEq",
    shortname = "crun",
    category = "foundry"
)]
#[serde(rename_all = "camelCase")]
pub struct CodingRunSpec {
    /// Subject of the person this run acts as.
    pub owner: String,
    /// Name of the agent that spawned this run; absent when a person or Git made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Name of the Harness that codes. Absent means `coding-v1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<String>,
    /// What is to be done, in Markdown.
    pub task: String,
    /// The repository and what of it may be touched.
    pub repository: Repository,
    /// Who approves the plan: `person` or `self` (CODE-31).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// `auto` or the `wireId` of a Model. Absent means `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Bounds of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

/// A Git repository reached over SSH.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Repository {
    /// SSH remote, `ssh://git@host/path` or `git@host:path` (CODE-01).
    pub remote: String,
    /// Branch or tag to start from (CODE-02).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_ref: Option<String>,
    /// Branch to start from when `baseRef` is absent, and target of the pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_ref: Option<String>,
    /// Path prefixes the run may touch; empty means all (CODE-10).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Commands allowed beside the standard ones (CODE-09, CODE-12).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_commands: Vec<String>,
}

/// Who approves a plan.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Approval {
    /// A person, by the plan's digest.
    Person,
    /// The run itself.
    #[serde(rename = "self")]
    Itself,
}

/// Bounds of a run.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Model turns in one attempt at a phase; 60 by default (CODE-23).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns_per_attempt: Option<i64>,
    /// Time for planning and building together, as `30m` or `2h`; 30m by default
    /// (CODE-24).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_clock: Option<String>,
}

/// What came of a run's spec.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct CodingRunStatus {
    /// `metadata.generation` this status speaks of; -1 before the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Where the run stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Name of the run's one ephemeral agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// When the run's first process started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<Time>,
    /// When the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
    /// Conditions after Kubernetes' conventions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
