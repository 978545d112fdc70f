//! What the harness of a run reports, carried to the run's status: rows first, status
//! second.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use foundry_crds::{
    Agent, CodingRun,
    coding_run::{
        Check, CheckResult, Plan, PullRequest, Question, QuestionKind, Reported, RunResult, Usage,
    },
};
use foundry_store::{AgentKey, CODING_TASK, CodingTask, Delivery, Store, UsageTotals};

use super::{owns, run_of, start};
use crate::{
    cluster::{Cluster, apply::ApplyError},
    outbox::Destination,
};

/// How often a status is written anew because the run changed between read and write.
const ATTEMPTS: usize = 6;
/// Longest beginning of a question that a status holds, in characters.
const MAX_TEXT: usize = 500;
/// Longest name of who approved, in characters.
const MAX_NAME: usize = 255;

/// What the rows know of an agent's task.
pub struct Rows {
    /// How the task stands.
    pub task: CodingTask,
    /// What it waits for.
    pub question: Option<foundry_store::Question>,
    /// What its model calls used.
    pub usage: UsageTotals,
}

impl Rows {
    /// The rows of this agent's newest start; none while that has said nothing.
    pub async fn read(
        store: &Store,
        key: &AgentKey,
        agent: &Agent,
    ) -> Result<Option<Self>, foundry_store::Error> {
        let uid = agent.metadata.uid.as_deref().unwrap_or_default();
        let newest = start::newest(agent);
        let Some(task) = store.coding_task(key, uid).await? else { return Ok(None) };
        if task.generation < newest {
            return Ok(None);
        }
        let waits = task.result.is_none() && start::waits(agent).is_ok();
        let mut open = Vec::new();
        if waits {
            open = store.open_questions(key, uid, newest).await?;
        }
        let usage = store.usage_totals(key).await?;
        Ok(Some(Self { task, question: open.pop(), usage }))
    }
}

/// The status of coding runs.
pub struct RunStatuses {
    /// The rows.
    pub store: Store,
    /// The resources.
    pub cluster: Arc<Cluster>,
}

#[async_trait]
impl Destination for RunStatuses {
    const TOPIC: &'static str = CODING_TASK;
    // The operator waits only so long for the result of a process that is gone.
    const LONGEST_WAIT: Duration = Duration::from_secs(5);

    async fn deliver(&self, delivery: &Delivery) -> Result<(), String> {
        for _ in 0..ATTEMPTS {
            match self.try_to_deliver(&delivery.key).await? {
                Ok(()) => return Ok(()),
                Err(ApplyError::Stale) => {}
                Err(error) => return Err(error.into_words()),
            }
        }
        Err(ApplyError::Stale.into_words())
    }
}

impl RunStatuses {
    /// The run is read first, its rows after that, and the write is of the run as it was
    /// read: of two deliveries at once, none can put older rows over newer ones.
    async fn try_to_deliver(&self, key: &AgentKey) -> Result<Result<(), ApplyError>, String> {
        let Some((run, agent)) = self.read(key).await? else { return Ok(Ok(())) };
        let rows = Rows::read(&self.store, key, &agent).await.map_err(|error| error.to_string())?;
        let shown = run.status.as_ref().and_then(|status| status.reported.clone());
        let reported = match (rows, shown.clone()) {
            (Some(rows), _) => report(&rows),
            // A start that has said nothing waits for nothing.
            (None, Some(shown)) => Reported { question: None, ..shown },
            (None, None) => return Ok(Ok(())),
        };
        if shown.as_ref() == Some(&reported) {
            return Ok(Ok(()));
        }
        Ok(self.cluster.report_run_status(&run, &reported).await.map(drop))
    }

    /// The run of this name and its own agent; nothing for an agent that no run made.
    async fn read(&self, key: &AgentKey) -> Result<Option<(CodingRun, Agent)>, String> {
        let cached = self.cluster.agents.get(&key.namespace, &key.agent);
        if cached.is_some_and(|agent| run_of(&agent).is_none()) {
            return Ok(None);
        }
        let words = |problem: crate::problem::Problem| problem.detail().to_owned();
        let agent = self.cluster.read(&key.namespace, &key.agent).await.map_err(words)?;
        let run = self.cluster.read(&key.namespace, &key.agent).await.map_err(words)?;
        Ok(Option::zip(run, agent).filter(|(run, agent)| owns(run, agent)))
    }
}

/// What the status shall say.
pub fn report(rows: &Rows) -> Reported {
    let Rows { task, question, usage } = rows;
    let passed = task.checks.iter().filter(|check| check.passed).count();
    let all = task.checks.len();
    Reported {
        start_number: Some(task.generation),
        branch: task.branch.clone(),
        base_commit: task.base_commit.clone(),
        head_commit: task.head_commit.clone(),
        plan: task.plan.as_ref().map(|plan| Plan {
            document_id: plan.document_id.clone(),
            sha256: plan.sha256.clone(),
            approved_by: task.approved_by().map(|by| beginning(by, MAX_NAME)),
        }),
        question: question.as_ref().map(|question| Question {
            id: question.asked.id.to_string(),
            kind: match question.asked.kind {
                foundry_store::QuestionKind::Plan => QuestionKind::Plan,
                foundry_store::QuestionKind::Question => QuestionKind::Question,
            },
            text: Some(beginning(&question.asked.text, MAX_TEXT)),
        }),
        checks: task.checks.iter().map(check).collect(),
        check_summary: (all > 0).then(|| format!("{passed}/{all}")),
        attempts: Some(task.attempts),
        turns: Some(task.turns),
        usage: Some(Usage {
            calls: usage.calls,
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            cost_micros: usage.cost_micros,
        }),
        pull_request: task
            .pull_request
            .as_ref()
            .map(|request| PullRequest { url: request.url.clone(), number: request.number }),
        result: task.result.as_ref().map(|result| RunResult {
            outcome: result.outcome.clone(),
            summary: Some(result.summary.clone()),
        }),
    }
}

fn check(check: &foundry_store::CodingCheck) -> Check {
    let result = if check.passed { CheckResult::Passed } else { CheckResult::Failed };
    Check { name: check.name.clone(), result }
}

fn beginning(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

#[cfg(test)]
mod tests;
