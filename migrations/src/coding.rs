//! How the task of a coding agent stands, by its harness's own reports.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::store::{read, write};
use crate::text::{json as parse, storable};
use crate::{AgentKey, Error, Store};

/// Topic of the deliveries that say that an agent's task, or its questions, changed.
/// What is delivered is read from the rows then.
pub const CODING_TASK: &str = "coding-task";

/// One start of one agent: what a harness sends belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentStart {
    /// The agent.
    pub key: AgentKey,
    /// UID of its resource: another agent of the same name is another agent.
    pub uid: String,
    /// Start number of the process.
    pub generation: i64,
    /// What comes after a result.
    pub after_result: AfterResult,
}

/// What comes after the result of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterResult {
    /// Nothing: the agent was made for one task.
    Refuse,
    /// The next task.
    BeginAnew,
}

/// How a task stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodingTask {
    /// Start number of the process that works on it.
    pub generation: i64,
    /// Branch the work is on.
    pub branch: Option<String>,
    /// Commit the branch started from.
    pub base_commit: Option<String>,
    /// Newest commit on the branch.
    pub head_commit: Option<String>,
    /// The newest plan.
    pub plan: Option<CodingPlan>,
    /// The newest approval; of the newest plan or of an earlier one.
    pub approval: Option<PlanApproval>,
    /// The newest result of each check.
    pub checks: Vec<CodingCheck>,
    /// Attempts at a phase.
    pub attempts: i64,
    /// Model turns.
    pub turns: i64,
    /// The pull request.
    pub pull_request: Option<CodingPullRequest>,
    /// How it ended.
    pub result: Option<CodingResult>,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodingPlan {
    /// Document that holds it.
    pub document_id: String,
    /// Digest of its text: what is approved.
    pub sha256: String,
}

/// Who approved which plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanApproval {
    /// Digest of the plan.
    pub sha256: String,
    /// Subject of the person, or the mailbox of an agent that approves its own.
    pub by: String,
}

/// The newest result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodingCheck {
    /// The command.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
}

/// A pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodingPullRequest {
    /// Where a person reads it.
    pub url: String,
    /// Its number at the host.
    pub number: i64,
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodingResult {
    /// In a word.
    pub outcome: String,
    /// For a person.
    pub summary: String,
}

/// What a report says; what it leaves out stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodingProgress {
    /// Branch the work is on.
    pub branch: Option<String>,
    /// Commit the branch started from.
    pub base_commit: Option<String>,
    /// Newest commit on the branch.
    pub head_commit: Option<String>,
    /// The agent's approval of its own plan.
    pub approval: Option<PlanApproval>,
    /// The newest result of each check.
    pub checks: Option<Vec<CodingCheck>>,
    /// Attempts at a phase.
    pub attempts: Option<i64>,
    /// Model turns.
    pub turns: Option<i64>,
    /// The pull request.
    pub pull_request: Option<CodingPullRequest>,
    /// How it ended.
    pub result: Option<CodingResult>,
}

impl CodingTask {
    /// Who approved the newest plan.
    pub fn approved_by(&self) -> Option<&str> {
        let (plan, approval) = (self.plan.as_ref()?, self.approval.as_ref()?);
        (plan.sha256 == approval.sha256).then_some(approval.by.as_str())
    }

    /// The task that a harness speaks of: this one, or one that begins with what it
    /// sends.
    pub(crate) fn of(self, start: &AgentStart) -> Result<Self, Error> {
        let ended = self.result.is_some();
        if start.generation < self.generation {
            let agent = start.key.agent.clone();
            return Err(Error::Superseded { agent, generation: start.generation });
        }
        if start.generation == self.generation && !ended {
            return Ok(self);
        }
        if start.generation == self.generation && start.after_result == AfterResult::Refuse {
            return Err(Error::TaskEnded { agent: start.key.agent.clone() });
        }
        Ok(Self { generation: start.generation, ..Self::default() })
    }

    /// The task with the plan of this digest as its newest, or a refusal.
    pub(crate) fn check_plan(&self, sha256: &str, agent: &str) -> Result<(), Error> {
        if self.plan.as_ref().is_some_and(|plan| plan.sha256 == sha256) {
            return Ok(());
        }
        Err(Error::PlanChanged { agent: agent.to_owned() })
    }

    /// Refuses what would be one more than an agent may have.
    pub(crate) fn check_count(
        start: &AgentStart,
        what: &'static str,
        there: i64,
        limit: i64,
    ) -> Result<(), Error> {
        if there < limit {
            return Ok(());
        }
        Err(Error::LimitReached { agent: start.key.agent.clone(), what, limit })
    }

    /// Whether the report says nothing new of a task that it ended before: its first
    /// answer was lost.
    fn repeats_end(&self, start: &AgentStart, progress: &CodingProgress) -> bool {
        let mut after = self.clone();
        after.take(progress.clone());
        self.generation == start.generation && progress.result.is_some() && after == *self
    }

    fn take(&mut self, progress: CodingProgress) {
        let CodingProgress {
            branch,
            base_commit,
            head_commit,
            approval,
            checks,
            attempts,
            turns,
            pull_request,
            result,
        } = progress;
        set(&mut self.branch, branch);
        set(&mut self.base_commit, base_commit);
        set(&mut self.head_commit, head_commit);
        set(&mut self.approval, approval);
        set(&mut self.pull_request, pull_request);
        set(&mut self.result, result);
        self.checks = checks.unwrap_or_else(|| std::mem::take(&mut self.checks));
        self.attempts = attempts.unwrap_or(self.attempts);
        self.turns = turns.unwrap_or(self.turns);
    }
}

fn set<T>(field: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *field = value;
    }
}

pub(crate) const LOCK_TASK: &str = "\
    INSERT INTO coding_task (namespace, agent, agent_uid, generation, updated_at) \
    VALUES ($1, $2, $3, $4, $5) \
    ON CONFLICT (namespace, agent, agent_uid) DO UPDATE SET generation = coding_task.generation \
    RETURNING generation, branch, base_commit, head_commit, plan_document_id, plan_sha256, \
    approved_sha256, approved_by, checks, attempts, turns, pull_request_url, \
    pull_request_number, outcome, summary";
pub(crate) const PUT_TASK: &str = "\
    UPDATE coding_task SET generation = $4, updated_at = $5, branch = $6, base_commit = $7, \
    head_commit = $8, plan_document_id = $9, plan_sha256 = $10, approved_sha256 = $11, \
    approved_by = $12, checks = $13, attempts = $14, turns = $15, pull_request_url = $16, \
    pull_request_number = $17, outcome = $18, summary = $19 \
    WHERE namespace = $1 AND agent = $2 AND agent_uid = $3";
const GET: &str = "\
    SELECT generation, branch, base_commit, head_commit, plan_document_id, plan_sha256, \
    approved_sha256, approved_by, checks, attempts, turns, pull_request_url, \
    pull_request_number, outcome, summary \
    FROM coding_task WHERE namespace = $1 AND agent = $2 AND agent_uid = $3";
const CLOSE_QUESTIONS: &str = "\
    UPDATE agent_question SET closed_at = $4 WHERE namespace = $1 AND agent = $2 \
    AND agent_uid = $3 AND answered_at IS NULL AND closed_at IS NULL";

/// Locks the agent's task for the rest of the transaction and gives it, an empty one
/// when there is none yet.
macro_rules! lock_task {
    ($transaction:ident, $doing:literal, $start:expr, $now:expr) => {{
        let row: $crate::coding::TaskRow = sqlx::query_as($crate::coding::LOCK_TASK)
            .bind(&$start.key.namespace)
            .bind(&$start.key.agent)
            .bind(&$start.uid)
            .bind($start.generation)
            .bind($now.as_microsecond())
            .fetch_one(&mut *$transaction)
            .await
            .map_err(|source| $crate::Error::statement($doing, source))?;
        $crate::coding::CodingTask::try_from(row)?
    }};
}

/// Stores a locked task, and with it the delivery of [`CODING_TASK`]: what is told once
/// stored cannot be forgotten.
macro_rules! put_task {
    ($transaction:ident, $doing:literal, $start:expr, $task:expr, $now:expr) => {{
        let task: &$crate::coding::CodingTask = $task;
        sqlx::query($crate::coding::PUT_TASK)
            .bind(&$start.key.namespace)
            .bind(&$start.key.agent)
            .bind(&$start.uid)
            .bind(task.generation)
            .bind($now.as_microsecond())
            .bind(task.branch.as_deref())
            .bind(task.base_commit.as_deref())
            .bind(task.head_commit.as_deref())
            .bind(task.plan.as_ref().map(|plan| plan.document_id.as_str()))
            .bind(task.plan.as_ref().map(|plan| plan.sha256.as_str()))
            .bind(task.approval.as_ref().map(|approval| approval.sha256.as_str()))
            .bind(task.approval.as_ref().map(|approval| approval.by.as_str()))
            .bind($crate::coding::checks_column(&task.checks))
            .bind(task.attempts)
            .bind(task.turns)
            .bind(task.pull_request.as_ref().map(|request| request.url.as_str()))
            .bind(task.pull_request.as_ref().map(|request| request.number))
            .bind(task.result.as_ref().map(|result| result.outcome.as_str()))
            .bind(task.result.as_ref().map(|result| result.summary.as_str()))
            .execute(&mut *$transaction)
            .await
            .map_err(|source| $crate::Error::statement($doing, source))?;
        sqlx::query($crate::outbox::PUSH_DUE)
            .bind(&$start.key.namespace)
            .bind(&$start.key.agent)
            .bind($crate::text::new_id($now))
            .bind($crate::coding::CODING_TASK)
            .bind("status")
            .bind("null")
            .bind($now.as_microsecond())
            .execute(&mut *$transaction)
            .await
            .map_err(|source| $crate::Error::statement($doing, source))?;
    }};
}

pub(crate) use {lock_task, put_task};

#[derive(sqlx::FromRow)]
pub(crate) struct TaskRow {
    generation: i64,
    branch: Option<String>,
    base_commit: Option<String>,
    head_commit: Option<String>,
    plan_document_id: Option<String>,
    plan_sha256: Option<String>,
    approved_sha256: Option<String>,
    approved_by: Option<String>,
    checks: Option<String>,
    attempts: i64,
    turns: i64,
    pull_request_url: Option<String>,
    pull_request_number: Option<i64>,
    outcome: Option<String>,
    summary: Option<String>,
}

impl TryFrom<TaskRow> for CodingTask {
    type Error = Error;

    fn try_from(row: TaskRow) -> Result<Self, Error> {
        Ok(Self {
            generation: row.generation,
            branch: row.branch,
            base_commit: row.base_commit,
            head_commit: row.head_commit,
            plan: row
                .plan_document_id
                .zip(row.plan_sha256)
                .map(|(document_id, sha256)| CodingPlan { document_id, sha256 }),
            approval: row
                .approved_sha256
                .zip(row.approved_by)
                .map(|(sha256, by)| PlanApproval { sha256, by }),
            checks: row.checks.as_deref().map(checks).transpose()?.unwrap_or_default(),
            attempts: row.attempts,
            turns: row.turns,
            pull_request: row
                .pull_request_url
                .zip(row.pull_request_number)
                .map(|(url, number)| CodingPullRequest { url, number }),
            result: row
                .outcome
                .zip(row.summary)
                .map(|(outcome, summary)| CodingResult { outcome, summary }),
        })
    }
}

pub(crate) fn checks_column(checks: &[CodingCheck]) -> Option<String> {
    let items = checks.iter().map(|check| json!([check.name, check.passed]));
    (!checks.is_empty()).then(|| items.collect::<Value>().to_string())
}

fn checks(column: &str) -> Result<Vec<CodingCheck>, Error> {
    let unreadable = || Error::Unreadable { what: "checks" };
    let items = parse(column)?;
    let items = items.as_array().ok_or_else(unreadable)?.iter();
    items
        .map(|item| {
            let name = item.get(0).and_then(Value::as_str).ok_or_else(unreadable)?;
            let passed = item.get(1).and_then(Value::as_bool).ok_or_else(unreadable)?;
            Ok(CodingCheck { name: name.to_owned(), passed })
        })
        .collect()
}

/// The same report in text that both databases hold.
fn storable_progress(progress: CodingProgress) -> CodingProgress {
    let text = |field: Option<String>| field.map(|text| storable(&text).into_owned());
    CodingProgress {
        branch: text(progress.branch),
        base_commit: text(progress.base_commit),
        head_commit: text(progress.head_commit),
        pull_request: progress.pull_request.map(|request| CodingPullRequest {
            url: storable(&request.url).into_owned(),
            ..request
        }),
        result: progress.result.map(|result| CodingResult {
            outcome: storable(&result.outcome).into_owned(),
            summary: storable(&result.summary).into_owned(),
        }),
        ..progress
    }
}

impl Store {
    /// Keeps what a harness reports of its task. A result ends the task and closes its
    /// questions; the same last report again changes nothing.
    pub async fn report_coding(
        &self,
        start: &AgentStart,
        progress: CodingProgress,
        now: Timestamp,
    ) -> Result<(), Error> {
        let progress = storable_progress(progress);
        write!(self, "report coding", transaction => {
            let before = lock_task!(transaction, "report coding", start, now);
            if !before.repeats_end(start, &progress) {
                let mut task = before.of(start)?;
                if let Some(approval) = &progress.approval {
                    task.check_plan(&approval.sha256, &start.key.agent)?;
                }
                task.take(progress);
                if task.result.is_some() {
                    sqlx::query(CLOSE_QUESTIONS)
                        .bind(&start.key.namespace)
                        .bind(&start.key.agent)
                        .bind(&start.uid)
                        .bind(now.as_microsecond())
                        .execute(&mut *transaction)
                        .await
                        .map_err(|source| Error::statement("report coding", source))?;
                }
                put_task!(transaction, "report coding", start, &task, now);
            }
        });
        Ok(())
    }

    /// How the task of this agent's newest start stands, when its harness has said
    /// anything.
    pub async fn coding_task(
        &self,
        key: &AgentKey,
        uid: &str,
    ) -> Result<Option<CodingTask>, Error> {
        let row: Option<TaskRow> = read!(self, "read coding task", pool => sqlx::query_as(GET)
            .bind(&key.namespace)
            .bind(&key.agent)
            .bind(uid)
            .fetch_optional(pool))?;
        row.map(CodingTask::try_from).transpose()
    }
}
