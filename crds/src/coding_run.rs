//! `CodingRun`: one task on one repository, from plan to pull request.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::form::{self, immutable};

mod reported;

pub use reported::{Check, CheckResult, Plan, PullRequest, Reported, RunResult, Usage};

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
    category = "foundry",
    doc = "A coding run: a task on a repository, carried out by one ephemeral agent, from plan to pull request.",
    printcolumn = r#"{"name":"Phase","type":"string","jsonPath":".status.phase"}"#,
    printcolumn = r#"{"name":"Branch","type":"string","jsonPath":".status.reported.branch"}"#,
    printcolumn = r#"{"name":"Checks","type":"string","jsonPath":".status.reported.checkSummary"}"#,
    printcolumn = r#"{"name":"PR","type":"string","jsonPath":".status.reported.pullRequest.url"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Agent","type":"string","jsonPath":".status.agent","priority":1}"#,
    printcolumn = r#"{"name":"Turns","type":"integer","jsonPath":".status.reported.turns","priority":1}"#,
    printcolumn = r#"{"name":"Cost","type":"integer","jsonPath":".status.reported.usage.costMicros","description":"Micros of the accounting currency.","priority":1}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type=='Complete')].reason","priority":1}"#
)]
// What a run is about stays as it was created, so that its plan, its approval and its
// outcome speak of one thing. `approval` too: an edit must never approve a plan
// (CODE-31). Model, limits and budget may change while it runs.
#[x_kube(
    validation = immutable("owner", ANOTHER_RUN),
    validation = immutable("agent", ANOTHER_RUN),
    validation = immutable("harness", ANOTHER_RUN),
    validation = immutable("task", ANOTHER_RUN),
    validation = immutable("repository", ANOTHER_RUN),
    validation = immutable("approval", ANOTHER_RUN)
)]
#[serde(rename_all = "camelCase")]
pub struct CodingRunSpec {
    /// Subject of the person this run acts as. Whoever writes it must be that person or
    /// hold the verb `actas` on agents. Cannot change.
    #[schemars(schema_with = "form::subject")]
    pub owner: String,
    /// Name of the agent that spawned this run; absent when a person or Git made it.
    /// Cannot change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::label")]
    pub agent: Option<String>,
    /// Name of the Harness that codes. Absent means `coding-v1`. Cannot change.
    // CODE-37
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::label")]
    pub harness: Option<String>,
    /// What is to be done, in Markdown; 65536 characters at most. Cannot change.
    #[schemars(schema_with = "form::task")]
    pub task: String,
    /// The repository and what of it may be touched. Cannot change.
    pub repository: Repository,
    /// Who approves the plan. Absent means `person` when a person or Git made the run;
    /// a run that an agent spawned always approves its own. Cannot change.
    // CODE-31, CODE-33
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<Approval>")]
    pub approval: Option<Approval>,
    /// Which model codes: `auto` (the default) or the `wireId` of a Model in the same
    /// namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::model_choice")]
    pub model: Option<String>,
    /// Bounds of the run in turns and time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<Limits>")]
    pub limits: Option<Limits>,
    /// What the run may spend; absent means no bound of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<Budget>")]
    pub budget: Option<Budget>,
}

const ANOTHER_RUN: &str = "cannot change; create another run";

/// A Git repository reached over SSH.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Repository {
    /// SSH remote, `ssh://git@host/path` or `git@host:path`.
    // CODE-01
    #[schemars(schema_with = "form::ssh_remote")]
    pub remote: String,
    /// Branch or tag to start from. Absent means `defaultRef`.
    // CODE-02
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::git_ref")]
    pub base_ref: Option<String>,
    /// Branch to start from when `baseRef` is absent, and target of the pull request.
    /// Absent means the remote's HEAD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::git_ref")]
    pub default_ref: Option<String>,
    /// Path prefixes the run may touch; empty means all.
    // CODE-10
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::path_prefixes")]
    pub paths: Vec<String>,
    /// Programs the run may call beside the standard ones.
    // CODE-09, CODE-12
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::commands")]
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
    /// Model turns in one attempt at a phase, from 10 to 500; 60 by default.
    // CODE-23; with five turns left the run is told to come to an end (CODE-26).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::whole::<10, 500>")]
    pub turns_per_attempt: Option<i64>,
    /// Time for planning and building together, such as `30m` or `2h`, from 1m to 24h;
    /// 30m by default. It stands still while the run waits for a person.
    // CODE-24
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::duration")]
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
    #[schemars(schema_with = "form::choice::<Phase>")]
    pub phase: Option<Phase>,
    /// Name of the run's one ephemeral agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::words::<253>")]
    pub agent: Option<String>,
    /// When the run's first process started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::moment")]
    pub start_time: Option<Time>,
    /// When the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::moment")]
    pub completion_time: Option<Time>,
    /// What the run's harness reports; written by the API alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<Reported>")]
    pub reported: Option<Reported>,
    /// Conditions after Kubernetes' conventions; `Complete` says whether the run ended
    /// well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::conditions")]
    pub conditions: Vec<Condition>,
}

/// Where a run stands.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Waits for something: a Harness, quota, its turn.
    Pending,
    /// Reads and plans.
    Planning,
    /// A person is asked to approve the plan.
    AwaitingApproval,
    /// Edits, checks and commits.
    Building,
    /// Done, with a check that passed after the last edit.
    Succeeded,
    /// The wall clock or the budget ran out first; the work is kept (CODE-24).
    Unfinished,
    /// Ended badly.
    Failed,
}
