use foundry_store::{
    CodingCheck, CodingPlan, CodingPullRequest, CodingResult, NewQuestion, PlanApproval,
};
use jiff::Timestamp;
use pretty_assertions::assert_eq;
use uuid::Uuid;

use super::*;

fn plan(sha256: &str) -> CodingPlan {
    CodingPlan { document_id: "d-1".to_owned(), sha256: sha256.to_owned() }
}

fn rows(task: CodingTask) -> Rows {
    let usage =
        UsageTotals { calls: 2, input_tokens: 10, cost_micros: 7, ..UsageTotals::default() };
    Rows { task, question: None, usage }
}

#[test]
fn a_status_holds_what_the_harness_said_with_its_checks_counted_and_its_usage_summed() {
    let check = |name: &str, passed| CodingCheck { name: name.to_owned(), passed };
    let task = CodingTask {
        generation: 3,
        branch: Some("flow/fix".to_owned()),
        base_commit: Some("aa".to_owned()),
        head_commit: Some("bb".to_owned()),
        plan: Some(plan("digest")),
        approval: None,
        checks: vec![check("go vet ./...", true), check("go test ./...", false)],
        attempts: 2,
        turns: 17,
        pull_request: Some(CodingPullRequest { url: "https://h/1".to_owned(), number: 1 }),
        result: Some(CodingResult { outcome: "completed".to_owned(), summary: "done".to_owned() }),
    };
    let expected = Reported {
        start_number: Some(3),
        branch: Some("flow/fix".to_owned()),
        base_commit: Some("aa".to_owned()),
        head_commit: Some("bb".to_owned()),
        plan: Some(Plan {
            document_id: "d-1".to_owned(),
            sha256: "digest".to_owned(),
            approved_by: None,
        }),
        question: None,
        checks: vec![
            Check { name: "go vet ./...".to_owned(), result: CheckResult::Passed },
            Check { name: "go test ./...".to_owned(), result: CheckResult::Failed },
        ],
        check_summary: Some("1/2".to_owned()),
        attempts: Some(2),
        turns: Some(17),
        usage: Some(Usage { calls: 2, input_tokens: 10, cost_micros: 7, ..Usage::default() }),
        pull_request: Some(PullRequest { url: "https://h/1".to_owned(), number: 1 }),
        result: Some(RunResult {
            outcome: "completed".to_owned(),
            summary: Some("done".to_owned()),
        }),
    };
    assert_eq!(report(&rows(task)), expected);
}

/// CODE-31
#[test]
fn an_approval_shows_only_beside_the_plan_it_was_given_for() {
    let approved = |sha256: &str| {
        let approval = PlanApproval { sha256: "digest".to_owned(), by: "ann".to_owned() };
        let task = CodingTask {
            plan: Some(plan(sha256)),
            approval: Some(approval),
            ..CodingTask::default()
        };
        report(&rows(task)).plan.and_then(|plan| plan.approved_by)
    };
    assert_eq!(approved("digest").as_deref(), Some("ann"));
    assert_eq!(approved("another digest"), None, "the plan changed after the approval");
}

#[test]
fn a_question_shows_by_its_beginning_and_a_task_without_checks_has_no_count() {
    let question = foundry_store::Question {
        asked: NewQuestion {
            id: Uuid::nil(),
            kind: foundry_store::QuestionKind::Plan,
            text: "ä".repeat(600),
            options: vec!["yes".to_owned()],
            recommended: None,
            plan_sha256: Some("digest".to_owned()),
        },
        generation: 1,
        asked_at: Timestamp::UNIX_EPOCH,
        closed_at: None,
        answer: None,
    };
    let rows = Rows { question: Some(question), ..rows(CodingTask::default()) };
    let reported = report(&rows);
    let expected = Question {
        id: Uuid::nil().to_string(),
        kind: QuestionKind::Plan,
        text: Some("ä".repeat(500)),
    };
    assert_eq!((reported.question, reported.check_summary), (Some(expected), None));
}
