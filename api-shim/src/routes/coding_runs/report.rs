//! `POST /v1/agents/{id}/coding`.

use axum::extract::{Path, State};
use foundry_client::{
    CheckView, CodingReport, MAX_CHECK_NAME_BYTES, MAX_CHECKS, MAX_SUMMARY_BYTES,
    Problem as ProblemDocument, PullRequestView,
};
use foundry_crds::{Agent, coding_run::Approval};
use foundry_store::{CodingCheck, CodingProgress, CodingPullRequest, CodingResult, PlanApproval};
use http::StatusCode;
use kube::ResourceExt;

use crate::{
    app::App,
    authz::Action,
    extract::{Caller, Payload},
    problem::Problem,
};

/// Longest name of a branch, as a status holds it.
const MAX_BRANCH: usize = 255;
/// Longest id of a commit.
const MAX_COMMIT: usize = 64;
/// Longest address of a pull request.
const MAX_URL: usize = 2_048;
/// Highest count of attempts.
const MAX_ATTEMPTS: u32 = 1_000_000;
/// Highest count of turns.
const MAX_TURNS: u32 = 1_000_000_000;

/// Takes how the agent's task stands. What is absent stays as it was reported before by
/// the same start; a later start begins anew.
#[utoipa::path(
    post, path = "/v1/agents/{id}/coding", tag = "coding",
    params(("id" = String, Path, description = "the agent")),
    request_body = CodingReport,
    responses(
        (status = 204),
        (status = 404, body = ProblemDocument),
        (status = 409, body = ProblemDocument, description = "a later start has begun, the task has ended, or the plan is a person's to approve"),
        (status = 422, body = ProblemDocument),
    )
)]
pub async fn report_coding(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    payload: Payload,
) -> Result<StatusCode, Problem> {
    let agent = app.authorize_agent(&caller, Action::ReportCoding, &id).await?;
    let report: CodingReport = payload.parse()?;
    check(&report)?;
    let (start, agent) = app.start_of(&caller, agent, report.generation).await?;
    let progress = progress(report, &agent)?;
    app.store.report_coding(&start, progress, app.clock.now()).await?;
    app.run_reporter.ring();
    Ok(StatusCode::NO_CONTENT)
}

fn check(report: &CodingReport) -> Result<(), Problem> {
    let CodingReport {
        generation: _,
        branch,
        base_commit,
        head_commit,
        approved_plan_sha256: _,
        checks,
        attempts,
        turns,
        pull_request,
        result,
    } = report;
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let pull_request_url = pull_request.as_ref().map_or(0, |request| request.url.len());
    let summary = result.as_ref().map_or(0, |result| result.summary.len());
    for (field, length, most) in [
        ("branch", length(branch), MAX_BRANCH),
        ("base_commit", length(base_commit), MAX_COMMIT),
        ("head_commit", length(head_commit), MAX_COMMIT),
        ("pull_request.url", pull_request_url, MAX_URL),
        ("result.summary", summary, MAX_SUMMARY_BYTES),
    ] {
        if length > most {
            let detail = format!("{field} is longer than {most} bytes");
            return Err(Problem::invalid(field, "TooLong", detail));
        }
    }
    for (field, count, most) in [
        ("attempts", attempts.unwrap_or(0), MAX_ATTEMPTS),
        ("turns", turns.unwrap_or(0), MAX_TURNS),
    ] {
        if count > most {
            return Err(Problem::invalid(field, "TooLarge", format!("{field} is above {most}")));
        }
    }
    check_checks(checks.as_deref().unwrap_or_default())?;
    match pull_request {
        Some(request) => check_pull_request(request),
        None => Ok(()),
    }
}

fn check_checks(checks: &[CheckView]) -> Result<(), Problem> {
    if checks.len() > MAX_CHECKS {
        let detail = format!("{} checks; the limit is {MAX_CHECKS}", checks.len());
        return Err(Problem::invalid("checks", "TooMany", detail));
    }
    let fits = |check: &CheckView| (1..=MAX_CHECK_NAME_BYTES).contains(&check.name.len());
    if checks.iter().all(fits) {
        return Ok(());
    }
    let detail = format!("a check's name is empty or longer than {MAX_CHECK_NAME_BYTES} bytes");
    Err(Problem::invalid("checks.name", "NotAName", detail))
}

/// People follow the address, so it must be one of the web.
fn check_pull_request(request: &PullRequestView) -> Result<(), Problem> {
    let is_web = |uri: &http::Uri| {
        matches!(uri.scheme_str(), Some("http" | "https")) && uri.authority().is_some()
    };
    if !request.url.parse::<http::Uri>().is_ok_and(|uri| is_web(&uri)) {
        let detail = "the pull request's address is not one of the web";
        return Err(Problem::invalid("pull_request.url", "NotAnAddress", detail)
            .remedy("send the http or https address where a person reads it"));
    }
    if request.number < 1 {
        let detail = "the pull request's number is below 1";
        return Err(Problem::invalid("pull_request.number", "TooSmall", detail));
    }
    Ok(())
}

fn progress(report: CodingReport, agent: &Agent) -> Result<CodingProgress, Problem> {
    let CodingReport {
        generation: _,
        branch,
        base_commit,
        head_commit,
        approved_plan_sha256,
        checks,
        attempts,
        turns,
        pull_request,
        result,
    } = report;
    Ok(CodingProgress {
        branch,
        base_commit,
        head_commit,
        approval: approved_plan_sha256.map(|sha256| approval(sha256, agent)).transpose()?,
        checks: checks.map(|checks| {
            let row = |CheckView { name, passed }| CodingCheck { name, passed };
            checks.into_iter().map(row).collect()
        }),
        attempts: attempts.map(i64::from),
        turns: turns.map(i64::from),
        pull_request: pull_request
            .map(|PullRequestView { url, number }| CodingPullRequest { url, number }),
        result: result.map(|result| CodingResult {
            outcome: result.outcome.as_str().to_owned(),
            summary: result.summary,
        }),
    })
}

/// The agent's approval of its own plan, where it is the agent's to give (CODE-31,
/// CODE-33).
fn approval(sha256: String, agent: &Agent) -> Result<PlanApproval, Problem> {
    match agent.spec.approval() {
        Approval::Itself => {
            let mailbox = agent.status.as_ref().and_then(|status| status.mailbox.clone());
            Ok(PlanApproval { sha256, by: mailbox.unwrap_or_else(|| agent.name_any()) })
        }
        Approval::Person => {
            let detail = "a person approves the plans of this agent";
            Err(Problem::conflict("NotSelfApproving", detail)
                .field("approved_plan_sha256")
                .remedy("ask a question of kind plan and wait for its answer"))
        }
    }
}
