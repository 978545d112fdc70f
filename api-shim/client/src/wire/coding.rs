//! Coding agents: their repository, plans, questions, reports, and the runs they serve.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::UsageTotals;

/// The repository a coding agent works on, and what of it may be touched (CODE-09).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RepositoryScope {
    /// SSH remote, `ssh://git@host/path` or `git@host:path`.
    pub remote: String,
    /// Branch or tag to start from; absent means `default_ref`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_ref: Option<String>,
    /// Branch to start from when `base_ref` is absent, and target of the pull request;
    /// absent means the remote's HEAD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_ref: Option<String>,
    /// Path prefixes that may be touched; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Programs that may be run beside the standard ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_commands: Vec<String>,
    /// Who approves plans. Answers always carry what holds for this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// Model turns in one attempt at a phase; 60 when absent (CODE-23).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns_per_attempt: Option<u32>,
    /// Seconds for planning and building together; 1800 when absent (CODE-24).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_clock_seconds: Option<u64>,
}

/// Who approves a plan (CODE-31).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Approval {
    /// A person, by the plan's digest.
    Person,
    /// The agent itself.
    #[serde(rename = "self")]
    Itself,
}

/// Body of `POST /v1/agents/{id}/plans`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SavePlan {
    /// Start number of the process that saves it.
    pub generation: i64,
    /// The plan.
    pub markdown: String,
}

/// A stored plan. Saving the same text again gives the same document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SavedPlan {
    /// The document.
    pub document_id: String,
    /// SHA-256 of the plan's UTF-8 bytes, in lower-case hex: what a person approves.
    pub sha256: String,
    /// `documents:<document id>`, as the plan's log line records it (CODE-30).
    pub location: String,
}

/// Where a document can be read for a little while (ROUTE-13).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DocumentLink {
    /// The document.
    pub document_id: String,
    /// A signed URL; whoever has it may read.
    pub url: String,
    /// When it stops working.
    pub expires_at: Timestamp,
}

/// Body of `POST /v1/agents/{id}/questions`: the harness asks a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AskQuestion {
    /// The question's own id: asking it twice stores it once.
    pub id: Uuid,
    /// Start number of the process that asks; a later start closes the question.
    pub generation: i64,
    /// What kind of answer is wanted.
    pub kind: QuestionKind,
    /// The question, for a person.
    pub text: String,
    /// Possible answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// The answer the agent would take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommended: Option<String>,
    /// SHA-256 of the plan that is to be approved; required for `plan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_sha256: Option<String>,
}

/// What kind of answer a question wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum QuestionKind {
    /// `build` with the plan's digest, or a change to the plan.
    Plan,
    /// Words.
    Question,
}

/// A question and its answer, if there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QuestionView {
    /// What an answer must name.
    pub id: Uuid,
    /// What kind of answer is wanted.
    pub kind: QuestionKind,
    /// The question.
    pub text: String,
    /// Possible answers.
    pub options: Vec<String>,
    /// The answer the agent would take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommended: Option<String>,
    /// SHA-256 of the plan that is to be approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_sha256: Option<String>,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// The answer; absent while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

/// Questions of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QuestionList {
    /// Those that wait for an answer, oldest first.
    pub items: Vec<QuestionView>,
}

/// Body of `POST /v1/agents/{id}/answer` (ROUTE-12).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PostAnswer {
    /// The question; may be left out while exactly one waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question_id: Option<Uuid>,
    /// The answer. `build` approves a plan; any other words change it.
    pub text: String,
    /// SHA-256 of the plan that was read; required with `build`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_sha256: Option<String>,
}

/// The one answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Answer {
    /// The question.
    pub question_id: Uuid,
    /// What was said.
    pub text: String,
    /// SHA-256 of the plan it approves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_sha256: Option<String>,
    /// Subject of the person who said it.
    pub answered_by: String,
    /// When.
    pub answered_at: Timestamp,
}

/// What a poll for an answer brings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AnswerPoll {
    /// The answer; absent when none came within the wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
}

/// Body of `POST /v1/agents/{id}/coding`: how the harness's task stands. What is absent
/// stays as it was reported before by the same start; a later start begins anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CodingReport {
    /// Start number of the process that reports.
    pub generation: i64,
    /// Branch the work is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Commit the branch started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_commit: Option<String>,
    /// Newest commit on the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_commit: Option<String>,
    /// Digest of the plan that the agent approved itself; refused where a person must.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_plan_sha256: Option<String>,
    /// The newest result of each check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Vec<CheckView>>,
    /// Attempts at a phase so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Model turns so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// The pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<PullRequestView>,
    /// How the task ended; nothing is reported after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<CodingResult>,
}

/// The newest result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CheckView {
    /// The command, as it was run.
    pub name: String,
    /// Whether it exited with 0.
    pub passed: bool,
}

/// A pull request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PullRequestView {
    /// Where a person reads it.
    pub url: String,
    /// Its number at the host.
    pub number: i64,
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CodingResult {
    /// How it ended.
    pub outcome: CodingOutcome,
    /// What was done, or what kept it from being done, for a person.
    pub summary: String,
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum CodingOutcome {
    /// Done, with a check that passed after the last edit.
    Completed,
    /// The model gave up and says why.
    Failed,
    /// The wall clock ran out first (CODE-24).
    OutOfTime,
    /// The budget ran out first.
    Budget,
    /// The repository could not be cloned: key, host key, remote or ref.
    CloneFailed,
    /// The model could not be reached, or answered with errors to the end.
    ModelFailed,
    /// The harness itself could not go on.
    HarnessFailed,
}

impl CodingOutcome {
    /// The outcome as bodies and status spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::OutOfTime => "out_of_time",
            Self::Budget => "budget",
            Self::CloneFailed => "clone_failed",
            Self::ModelFailed => "model_failed",
            Self::HarnessFailed => "harness_failed",
        }
    }
}

/// Body of `POST /v1/agents/{id}/coding-agents` (ROUTE-14).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SpawnCodingAgent {
    /// What is to be done, in Markdown.
    pub task: String,
    /// SSH remote of the repository.
    pub remote: String,
    /// Branch or tag to start from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_ref: Option<String>,
    /// Harness that codes, one with the feature `repo_scope`; `coding-v1` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness_id: Option<String>,
    /// Sending the same key again gives the same run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// A coding run, as pages and people read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CodingRunView {
    /// Name of the CodingRun resource, and of its one ephemeral agent.
    pub id: String,
    /// Namespace, which is its workspace.
    pub namespace: String,
    /// Subject of the person it acts as.
    pub owner: String,
    /// Agent that spawned it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_agent_id: Option<String>,
    /// Harness that codes.
    pub harness_id: String,
    /// What is to be done.
    pub task: String,
    /// The repository, with what holds for this run.
    pub repository: RepositoryScope,
    /// Where it stands, in the words of `kubectl get codingruns`; absent before the
    /// operator's first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// One word for why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A sentence for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Branch the work is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Commit the branch started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_commit: Option<String>,
    /// Newest commit on the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_commit: Option<String>,
    /// The plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanView>,
    /// The question that waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<QuestionView>,
    /// The newest result of each check.
    pub checks: Vec<CheckView>,
    /// Attempts at a phase so far.
    pub attempts: u32,
    /// Model turns so far.
    pub turns: u32,
    /// Tokens and cost so far.
    pub usage: UsageTotals,
    /// The pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<PullRequestView>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<CodingResult>,
    /// When the resource was created.
    pub created_at: Timestamp,
    /// When its first process started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
}

/// The newest plan of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlanView {
    /// The document.
    pub document_id: String,
    /// SHA-256 of its text.
    pub sha256: String,
    /// Who approved this digest; absent while nobody has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
}

/// A page of coding runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CodingRunPage {
    /// The runs, by id.
    pub items: Vec<CodingRunView>,
    /// Where the next page begins; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
