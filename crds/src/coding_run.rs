//! `CodingRun`: one task on one repository, from plan to pull request.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::form::{self, immutable, rule};

mod limits;
mod reported;

pub use limits::Limits;
pub(crate) use limits::parse as parse_duration;
pub use reported::{
    Check, CheckResult, Outcome, Plan, PullRequest, Question, QuestionKind, Reported, RunResult,
    Usage,
};

/// Harness of a run that names none (CODE-37).
pub const DEFAULT_HARNESS: &str = "coding-v1";

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
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type=='Complete')].reason","priority":1}"#,
    // The run's agent has the run's name, and `spec.agent` is its parent.
    validation = rule(
        ".spec.agent",
        "!has(self.spec.agent) || self.spec.agent != self.metadata.name",
        "names the agent that spawned this run; the run's own agent takes the run's name, so give the run another one",
    )
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
    #[schemars(schema_with = "form::repository")]
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
    /// Start number of the agent's process that `phase` speaks of. An end is final for it;
    /// only one that was concluded for want of a result gives way to a late result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::whole::<0, 1_000_000_000>")]
    pub start_number: Option<i64>,
    /// Name of the run's one ephemeral agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::words::<253>")]
    pub agent: Option<String>,
    /// When the run's first process started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::moment")]
    pub start_time: Option<Time>,
    /// Since when the process of `startNumber` is gone and no result is known; absent
    /// otherwise. A result that is still on its way is waited for a little while.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::moment")]
    pub gone_since: Option<Time>,
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
    /// The wall clock or the budget ran out first, or somebody stopped it; the work is
    /// kept (CODE-24).
    Unfinished,
    /// Ended badly.
    Failed,
}

impl Phase {
    /// The word in status and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Planning => "Planning",
            Self::AwaitingApproval => "AwaitingApproval",
            Self::Building => "Building",
            Self::Succeeded => "Succeeded",
            Self::Unfinished => "Unfinished",
            Self::Failed => "Failed",
        }
    }

    /// Whether this is an end: final until the run's agent is started anew.
    pub const fn is_an_end(self) -> bool {
        match self {
            Self::Pending | Self::Planning | Self::AwaitingApproval | Self::Building => false,
            Self::Succeeded | Self::Unfinished | Self::Failed => true,
        }
    }
}

impl std::fmt::Display for Phase {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.as_str())
    }
}

impl CodingRunSpec {
    /// The Harness that codes.
    pub fn harness(&self) -> &str {
        self.harness.as_deref().unwrap_or(DEFAULT_HARNESS)
    }

    /// Who approves the plan: always the run itself when an agent spawned it, else who is
    /// named, else a person (CODE-31, CODE-33).
    pub fn approval(&self) -> Approval {
        if self.agent.is_some() {
            return Approval::Itself;
        }
        self.approval.unwrap_or(Approval::Person)
    }

    /// `auto` or a wire id (BIND-01).
    pub fn model(&self) -> &str {
        self.model.as_deref().unwrap_or("auto")
    }

    /// The bounds that hold for this run, each of them said.
    pub fn limits(&self) -> Limits {
        self.limits.clone().unwrap_or_default().in_full()
    }
}

#[cfg(test)]
mod tests {
    use super::{Approval, CodingRunSpec};

    /// CODE-31, CODE-33
    #[test]
    fn a_person_approves_unless_the_run_says_otherwise_or_an_agent_spawned_it() {
        let approval = |approval, agent: Option<&str>| {
            let agent = agent.map(str::to_owned);
            CodingRunSpec { agent, approval, ..CodingRunSpec::default() }.approval()
        };
        assert_eq!(approval(None, None), Approval::Person);
        assert_eq!(approval(Some(Approval::Person), None), Approval::Person);
        assert_eq!(approval(Some(Approval::Itself), None), Approval::Itself);
        assert_eq!(approval(None, Some("lead")), Approval::Itself);
        assert_eq!(approval(Some(Approval::Person), Some("lead")), Approval::Itself);
    }
}
