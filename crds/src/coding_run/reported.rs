//! What the harness of a coding run reports. Rows in SQL come first, this second; the
//! operator reads it and never writes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::form;

/// What the harness of a run reports.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Reported {
    /// Start number of the process that reports; what an earlier one reported is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::whole::<0, 1_000_000_000>")]
    pub start_number: Option<i64>,
    /// Branch the work is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::words::<255>")]
    pub branch: Option<String>,
    /// Commit the branch started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::words::<64>")]
    pub base_commit: Option<String>,
    /// Newest commit on the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::words::<64>")]
    pub head_commit: Option<String>,
    /// The plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<Plan>")]
    pub plan: Option<Plan>,
    /// What the run waits for a person to say; absent while it waits for nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<Question>")]
    pub question: Option<Question>,
    /// The newest result of each check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::checks")]
    pub checks: Vec<Check>,
    /// Checks that passed of those that ran, as `3/4`: the CHECKS column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::words::<32>")]
    pub check_summary: Option<String>,
    /// Attempts at a phase so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::whole::<0, 1_000_000>")]
    pub attempts: Option<i64>,
    /// Model turns so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::whole::<0, 1_000_000_000>")]
    pub turns: Option<i64>,
    /// Tokens and cost so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<Usage>")]
    pub usage: Option<Usage>,
    /// The pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<PullRequest>")]
    pub pull_request: Option<PullRequest>,
    /// How the run ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<RunResult>")]
    pub result: Option<RunResult>,
}

/// A plan: its text is a document, its digest is what a person approves.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Document that holds the plan.
    #[schemars(schema_with = "form::words::<255>")]
    pub document_id: String,
    /// SHA-256 of the plan, in hex.
    #[schemars(schema_with = "form::words::<64>")]
    pub sha256: String,
    /// Subject of the person who approved this digest; absent while nobody has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::words::<255>")]
    pub approved_by: Option<String>,
}

/// What a run asks a person.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// What the answer must name.
    #[schemars(schema_with = "form::words::<64>")]
    pub id: String,
    /// What kind of answer is wanted.
    pub kind: QuestionKind,
    /// The beginning of the question; the whole is in the agent's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::words::<500>")]
    pub text: Option<String>,
}

/// What kind of answer a question wants.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum QuestionKind {
    /// `build`, with the plan's digest, or a change to the plan (CODE-31).
    Plan,
    /// Words (CODE-17).
    Question,
}

/// The newest result of one check.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// The command, as it was run.
    #[schemars(schema_with = "form::words::<512>")]
    pub name: String,
    /// What came of it.
    pub result: CheckResult,
}

/// What came of a check.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum CheckResult {
    /// It exited with 0.
    Passed,
    /// It did not.
    Failed,
}

/// Tokens and cost.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Model calls.
    pub calls: i64,
    /// Fresh input tokens.
    pub input_tokens: i64,
    /// Output tokens.
    pub output_tokens: i64,
    /// Input tokens read from the provider's cache.
    pub cache_read_tokens: i64,
    /// Input tokens written to the provider's cache.
    pub cache_write_tokens: i64,
    /// Micros (millionths) of the accounting currency.
    pub cost_micros: i64,
}

/// A pull request.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct PullRequest {
    /// Where a person reads it.
    #[schemars(schema_with = "form::words::<2048>")]
    pub url: String,
    /// Its number at the host.
    pub number: i64,
}

/// How a run ended, in the words of its harness.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct RunResult {
    /// `completed`, or what kept it from that: `failed`, `out_of_time`, `budget`,
    /// `clone_failed`, `model_failed` or `harness_failed`.
    #[schemars(schema_with = "form::words::<64>")]
    pub outcome: String,
    /// What was done, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::words::<8192>")]
    pub summary: Option<String>,
}

/// How a run ended: the words that [`RunResult::outcome`] may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Done, with a check that passed after the last edit.
    Completed,
    /// The model gave up and says why.
    Failed,
    /// The wall clock ran out first (CODE-24).
    OutOfTime,
    /// The budget ran out first.
    Budget,
    /// The repository could not be cloned.
    CloneFailed,
    /// The model could not be reached, or answered with errors to the end.
    ModelFailed,
    /// The harness itself could not go on.
    HarnessFailed,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Self; 7] = [
        Self::Completed,
        Self::Failed,
        Self::OutOfTime,
        Self::Budget,
        Self::CloneFailed,
        Self::ModelFailed,
        Self::HarnessFailed,
    ];

    /// The word in status.
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

    /// The outcome a word means; none for one this release does not know.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == word)
    }
}
