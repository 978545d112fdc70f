//! A CodingRun resource, and its rows, as one [`CodingRunView`].

use foundry_client::{
    Answer, CheckView, CodingOutcome, CodingResult, CodingRunView, PlanView, PullRequestView,
    QuestionKind, QuestionView, UsageTotals,
};
use foundry_crds::{
    CodingRun,
    coding_run::{CheckResult, Reported, Usage},
    condition,
};
use kube::ResourceExt;

use super::reported::{Rows, report};
use crate::agents::repository;

/// What is known of a run's task.
pub enum Task {
    /// The rows of the newest start, which are newer than the status.
    Rows(Box<Rows>),
    /// The newest start has said nothing yet.
    Begins,
    /// The run has no agent: what the status last said.
    Status,
}

/// The run as the API shows it.
pub fn of(run: &CodingRun, task: Task) -> CodingRunView {
    let spec = &run.spec;
    let status = run.status.clone().unwrap_or_default();
    let (reported, question) = match task {
        Task::Rows(rows) => {
            let reported = report(&rows);
            (reported, rows.question.map(question_view))
        }
        Task::Begins => (Reported::default(), None),
        Task::Status => (status.reported.unwrap_or_default(), None),
    };
    let complete = status.conditions.iter().find(|told| told.type_ == condition::kind::COMPLETE);
    CodingRunView {
        id: run.name_any(),
        namespace: run.namespace().unwrap_or_default(),
        owner: spec.owner.clone(),
        parent_agent_id: spec.agent.clone(),
        harness_id: spec.harness().to_owned(),
        task: spec.task.clone(),
        repository: repository::shown(&spec.repository, spec.approval(), &spec.limits()),
        phase: status.phase.map(|phase| phase.as_str().to_owned()),
        reason: complete.map(|told| told.reason.clone()),
        message: complete.map(|told| told.message.clone()),
        branch: reported.branch,
        base_commit: reported.base_commit,
        head_commit: reported.head_commit,
        plan: reported.plan.map(|plan| PlanView {
            document_id: plan.document_id,
            sha256: plan.sha256,
            approved_by: plan.approved_by,
        }),
        question,
        checks: reported
            .checks
            .into_iter()
            .map(|check| CheckView {
                name: check.name,
                passed: check.result == CheckResult::Passed,
            })
            .collect(),
        attempts: count(reported.attempts),
        turns: count(reported.turns),
        usage: reported.usage.as_ref().map(usage).unwrap_or_default(),
        pull_request: reported
            .pull_request
            .map(|request| PullRequestView { url: request.url, number: request.number }),
        result: reported.result.and_then(|result| {
            let outcome = outcome(&result.outcome)?;
            Some(CodingResult { outcome, summary: result.summary.unwrap_or_default() })
        }),
        created_at: run.creation_timestamp().map(|time| time.0).unwrap_or_default(),
        started_at: status.start_time.map(|time| time.0),
        completed_at: status.completion_time.map(|time| time.0),
    }
}

/// A question as the API shows it.
pub fn question_view(question: foundry_store::Question) -> QuestionView {
    let answer = answer_view(&question);
    let foundry_store::NewQuestion { id, kind, text, options, recommended, plan_sha256 } =
        question.asked;
    QuestionView {
        id,
        kind: match kind {
            foundry_store::QuestionKind::Plan => QuestionKind::Plan,
            foundry_store::QuestionKind::Question => QuestionKind::Question,
        },
        text,
        options,
        recommended,
        plan_sha256,
        asked_at: question.asked_at,
        answer,
    }
}

/// The answer to a question, if it has one.
pub fn answer_view(question: &foundry_store::Question) -> Option<Answer> {
    question.answer.as_ref().map(|answer| Answer {
        question_id: question.asked.id,
        text: answer.text.clone(),
        plan_sha256: answer.plan_sha256.clone(),
        answered_by: answer.by.clone(),
        answered_at: answer.at,
    })
}

fn outcome(word: &str) -> Option<CodingOutcome> {
    [
        CodingOutcome::Completed,
        CodingOutcome::Failed,
        CodingOutcome::OutOfTime,
        CodingOutcome::Budget,
        CodingOutcome::CloneFailed,
        CodingOutcome::ModelFailed,
        CodingOutcome::HarnessFailed,
    ]
    .into_iter()
    .find(|outcome| outcome.as_str() == word)
}

fn count(number: Option<i64>) -> u32 {
    number.and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
}

fn usage(usage: &Usage) -> UsageTotals {
    let unsigned = |number: i64| u64::try_from(number).unwrap_or(0);
    UsageTotals {
        calls: unsigned(usage.calls),
        input_tokens: unsigned(usage.input_tokens),
        output_tokens: unsigned(usage.output_tokens),
        cache_read_tokens: unsigned(usage.cache_read_tokens),
        cache_write_tokens: unsigned(usage.cache_write_tokens),
        cost_micros: usage.cost_micros,
    }
}
