//! Where a run stands: a pure reading of its agent and of what its harness reports.
//!
//! Reports of another start than the present process count for nothing, and an end is
//! final for the start it came of: only one that was concluded for want of a result gives
//! way to the result, when that comes late.

use std::time::Duration;

use foundry_crds::CodingRunStatus;
use foundry_crds::agent::{AgentState, DesiredState, Lifecycle, WorkloadRef};
use foundry_crds::coding_run::{Outcome, Phase, Plan, Question, QuestionKind, Reported, RunResult};
use foundry_crds::condition::{self, kind, reason};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::RunId;
use super::observe::Own;
use crate::conditions::{Readiness, whole_second};
use crate::runtime::WorkloadKind;

/// Nothing is trusted to be seen by watches alone: look again at least this often.
pub const LOOK_AGAIN: Duration = Duration::from_mins(5);
/// Reasons of ends that are concluded from the want of a result.
const PRESUMED: [&str; 3] = [reason::STOPPED, reason::EXPIRED, reason::HARNESS_LOST];

/// Where a run stands, and what a person is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The PHASE column.
    pub phase: Phase,
    /// How far the cluster is from the spec.
    pub readiness: Readiness,
    /// One documented word.
    pub reason: &'static str,
    /// What happened and what to do, for a person.
    pub message: String,
    /// Start number of the process this speaks of.
    pub start_number: Option<i64>,
    /// Whether that process, or one before it, ever began.
    pub began: bool,
    /// Since when the process is gone without a result.
    pub gone_since: Option<Time>,
    /// When to look again, whatever the watches say.
    pub look_again: Duration,
}

impl Standing {
    /// The run waits, before any process.
    pub fn pending(readiness: Readiness, reason: &'static str, message: String) -> Self {
        Self {
            phase: Phase::Pending,
            readiness,
            reason,
            message,
            start_number: None,
            began: false,
            gone_since: None,
            look_again: LOOK_AGAIN,
        }
    }

    /// The run ended otherwise than it should, and somebody must do something.
    pub fn ended_badly(phase: Phase, reason: &'static str, message: String) -> Self {
        Self { phase, ..Self::pending(Readiness::Stalled, reason, message) }
    }
}

/// The end that was reported before, when it still holds for this start.
pub fn kept_end(status: &CodingRunStatus, start: Option<i64>) -> Option<Standing> {
    let phase = status.phase.filter(|phase| phase.is_an_end())?;
    if status.start_number != start {
        return None;
    }
    let told = |kind: &str| status.conditions.iter().find(|condition| condition.type_ == kind);
    let complete = told(kind::COMPLETE)?;
    if PRESUMED.contains(&complete.reason.as_str())
        && let Some(result) = reported(status, start).and_then(|it| it.result.as_ref())
    {
        return Some(Standing { start_number: start, ..of_result(result) });
    }
    let is_stalled = told(kind::STALLED).is_some_and(|condition| condition.status == "True");
    Some(Standing {
        phase,
        start_number: start,
        began: status.start_time.is_some(),
        ..Standing::pending(
            if is_stalled { Readiness::Stalled } else { Readiness::Ready },
            condition::documented(&complete.reason).map_or(reason::RUN_FAILED, |it| it.word),
            complete.message.clone(),
        )
    })
}

/// Where a run stands that has its agent. `grace` is how long a result may be on its way
/// when its process is gone: the API stores it first and writes it to status second.
pub fn standing(
    run: &RunId,
    status: &CodingRunStatus,
    agent: &Own,
    grace: SignedDuration,
    now: Timestamp,
) -> Standing {
    let start = agent.status.last_start.as_ref().map(|start| start.number);
    if let Some(end) = kept_end(status, start) {
        return end;
    }
    let reported = reported(status, start);
    let standing = match reported.and_then(|reported| reported.result.as_ref()) {
        Some(result) => of_result(result),
        None => without_result(run, status, reported, agent, grace, now),
    };
    Standing {
        start_number: start,
        began: standing.began || status.start_time.is_some(),
        ..standing
    }
}

/// What the process of this start reported.
fn reported(status: &CodingRunStatus, start: Option<i64>) -> Option<&Reported> {
    status.reported.as_ref().filter(|it| start.is_some() && it.start_number == start)
}

/// How a run ended, in the words of its harness.
fn of_result(result: &RunResult) -> Standing {
    let told = |otherwise: &str| result.summary.clone().unwrap_or_else(|| otherwise.to_owned());
    let ended = match Outcome::of(&result.outcome) {
        Some(Outcome::Completed) => Standing {
            phase: Phase::Succeeded,
            ..Standing::pending(
                Readiness::Ready,
                reason::SUCCEEDED,
                told("the run is done, with a check that passed after the last edit"),
            )
        },
        Some(Outcome::OutOfTime) => Standing::ended_badly(
            Phase::Unfinished,
            reason::OUT_OF_TIME,
            told("the wall clock ran out; what was pushed is kept"),
        ),
        Some(Outcome::Budget) => Standing::ended_badly(
            Phase::Unfinished,
            reason::BUDGET_EXHAUSTED,
            told("the budget ran out; what was pushed is kept"),
        ),
        Some(Outcome::Failed) => Standing::ended_badly(
            Phase::Failed,
            reason::RUN_FAILED,
            told("the model gave the task up and does not say why"),
        ),
        Some(Outcome::CloneFailed) => Standing::ended_badly(
            Phase::Failed,
            reason::CLONE_FAILED,
            told("the repository could not be cloned; the agent's log says why"),
        ),
        Some(Outcome::ModelFailed) => Standing::ended_badly(
            Phase::Failed,
            reason::MODEL_FAILED,
            told("the model failed; the agent's log says how"),
        ),
        Some(Outcome::HarnessFailed) => Standing::ended_badly(
            Phase::Failed,
            reason::HARNESS_FAILED,
            told("the harness could not go on; the agent's log says why"),
        ),
        None => Standing::ended_badly(
            Phase::Failed,
            reason::RUN_FAILED,
            format!(
                "the harness reports the outcome \"{}\", which this operator does not know: {}",
                result.outcome,
                told("it says no more")
            ),
        ),
    };
    Standing { began: true, ..ended }
}

/// Where a run stands whose process has reported no result.
fn without_result(
    run: &RunId,
    status: &CodingRunStatus,
    reported: Option<&Reported>,
    agent: &Own,
    grace: SignedDuration,
    now: Timestamp,
) -> Standing {
    let start = agent.status.last_start.as_ref().map(|start| start.number);
    let progress = progress(run, reported);
    // A process that ends, or has ended, got as far as it got: its question may be closed.
    let reached = status.phase.filter(|phase| {
        status.start_number == start && !phase.is_an_end() && *phase != Phase::Pending
    });
    let ending = Standing { phase: reached.unwrap_or(progress.phase), ..progress.clone() };
    let gone = |end: Standing| gone(status, start, &ending, end, grace, now);
    let ended_by_itself = start.is_some() && agent.status.finished_start == start;
    match (agent.spec.lifecycle(), agent.spec.desired_state()) {
        (Lifecycle::Expired | Lifecycle::Archive, _) if is_at_rest(agent) => {
            let end = expired(agent, now);
            // The harness expires its agent right after it has reported its result.
            if start.is_some() { gone(end) } else { end }
        }
        (Lifecycle::Active, DesiredState::Completed | DesiredState::Stopped)
            if is_at_rest(agent) =>
        {
            let end = stopped("somebody stopped its agent; start it to begin again");
            if ended_by_itself { gone(end) } else { end }
        }
        (Lifecycle::Active, DesiredState::Running) if ended_by_itself => {
            gone(lost(&format!("{}; restart its agent to begin again", how_it_ended(agent))))
        }
        (Lifecycle::Active, DesiredState::Running) => match agent.status.state {
            Some(AgentState::Running) if is_carried(agent, start) => {
                Standing { began: true, ..progress }
            }
            _ => {
                let waiting = waiting(agent);
                // A pod that is made again elsewhere goes on where the one before it was.
                Standing { phase: reached.unwrap_or(waiting.phase), ..waiting }
            }
        },
        (_, _) => Standing {
            reason: reason::FINISHING,
            message: "its process is told to end".to_owned(),
            ..ending
        },
    }
}

/// How far a process that lives has come.
fn progress(run: &RunId, reported: Option<&Reported>) -> Standing {
    let plan = reported.and_then(|reported| reported.plan.as_ref());
    let question = reported.and_then(|reported| reported.question.as_ref());
    let is_approved = plan.is_some_and(|plan| plan.approved_by.is_some());
    let is = |phase, reason, message| Standing {
        phase,
        ..Standing::pending(Readiness::Ready, reason, message)
    };
    let under_way = |reason: Option<(&'static str, String)>| {
        let (phase, word, sentence) = if is_approved {
            (Phase::Building, reason::BUILDING, "its harness edits, checks and commits")
        } else {
            (Phase::Planning, reason::PLANNING, "its harness reads the repository and plans")
        };
        let (word, message) = reason.unwrap_or_else(|| (word, sentence.to_owned()));
        is(phase, word, message)
    };
    match question {
        Some(Question { kind: QuestionKind::Plan, .. }) => {
            is(Phase::AwaitingApproval, reason::AWAITING_APPROVAL, how_to_approve(&run.name, plan))
        }
        Some(question @ Question { kind: QuestionKind::Question, .. }) => {
            under_way(Some((reason::AWAITING_ANSWER, how_to_answer(&run.name, question))))
        }
        None => under_way(None),
    }
}

fn how_to_approve(agent: &str, plan: Option<&Plan>) -> String {
    match plan {
        Some(Plan { document_id, sha256, approved_by: _ }) => format!(
            "plan {sha256} waits for a person: GET /v1/agents/{agent}/plans/{document_id} leads to \
             it; POST /v1/agents/{agent}/answer with {{\"text\":\"build\",\"plan_sha256\":\
             \"{sha256}\"}} approves it, and other words change it"
        ),
        None => format!("a plan waits for a person; GET /v1/agents/{agent}/questions says which"),
    }
}

fn how_to_answer(agent: &str, question: &Question) -> String {
    let asked = question.text.as_deref().unwrap_or("it asks a person something");
    format!(
        "{asked} (POST /v1/agents/{agent}/answer with {{\"question_id\":\"{}\",\"text\":\"…\"}} \
         answers)",
        question.id
    )
}

/// No process lives yet: what its agent says of that, the run says too.
fn waiting(agent: &Own) -> Standing {
    let ready = agent.status.conditions.iter().find(|condition| condition.type_ == kind::READY);
    // What is said of a process that ended, or still runs, is not said of the one asked
    // for since; what keeps that one from its start is.
    let is_of_this_start = |reason: &str| match agent.status.state {
        Some(AgentState::Pending) => true,
        Some(AgentState::Running) => reason != reason::RUNNING,
        _ => false,
    };
    let Some(ready) = ready.filter(|ready| is_of_this_start(&ready.reason)) else {
        let message = "its process is asked for".to_owned();
        return Standing::pending(Readiness::Reconciling, reason::PENDING, message);
    };
    let is_true = |kind: &str| {
        agent
            .status
            .conditions
            .iter()
            .any(|condition| condition.type_ == kind && condition.status == "True")
    };
    let word = condition::documented(&ready.reason).map_or(reason::PENDING, |it| it.word);
    let readiness = if is_true(kind::STALLED) {
        Readiness::Stalled
    } else if word == reason::PENDING && agent.status.workload.is_some() {
        // Judged like a Job: the cluster has taken it.
        Readiness::Ready
    } else {
        Readiness::Reconciling
    };
    let message = match word {
        reason::SLUG_TAKEN => format!("{}; create the run under another name", ready.message),
        _ => ready.message.clone(),
    };
    Standing::pending(readiness, word, message)
}

/// Whether the workload that an agent tells of is that of this start: between a restart
/// and the next look at it, an agent tells of the process before.
fn is_carried(agent: &Own, start: Option<i64>) -> bool {
    agent.status.workload.as_ref().zip(start).is_some_and(|(WorkloadRef { kind, name }, start)| {
        [WorkloadKind::Job, WorkloadKind::Pod]
            .iter()
            .any(|it| it.as_str() == kind && it.name(&agent.version.name, start) == *name)
    })
}

/// Whether nothing of an agent runs any more, and its status says so.
fn is_at_rest(agent: &Own) -> bool {
    let state = match agent.spec.lifecycle() {
        Lifecycle::Active => AgentState::Stopped,
        Lifecycle::Expired => AgentState::Expired,
        Lifecycle::Archive => AgentState::Archived,
    };
    match agent.status.state {
        None => true,
        // A process that had ended by itself leaves the agent stopped before anybody
        // stops it, and its workload there to be looked at.
        Some(seen) => seen == state && agent.status.workload.is_none(),
    }
}

/// How a run ends whose agent is over.
fn expired(agent: &Own, now: Timestamp) -> Standing {
    if agent.spec.ttl_at.as_ref().is_some_and(|ttl| ttl.0 <= now) {
        return Standing::ended_badly(
            Phase::Failed,
            reason::EXPIRED,
            "its agent's time ran out before there was a result; restart the agent to begin again"
                .to_owned(),
        );
    }
    stopped("its agent was expired before there was a result; restart the agent to begin again")
}

/// How a run ends that somebody ended: nobody has to act.
fn stopped(message: &str) -> Standing {
    Standing {
        phase: Phase::Unfinished,
        ..Standing::pending(Readiness::Ready, reason::STOPPED, message.to_owned())
    }
}

/// How a run ends whose process went without a word.
pub fn lost(why: &str) -> Standing {
    let message = format!("its harness is gone and reported no result: {why}");
    Standing::ended_badly(Phase::Failed, reason::HARNESS_LOST, message)
}

fn how_it_ended(agent: &Own) -> String {
    agent
        .status
        .conditions
        .iter()
        .find(|condition| condition.type_ == kind::READY)
        .filter(|ready| [reason::FAILED, reason::COMPLETED].contains(&ready.reason.as_str()))
        .map_or_else(|| "its process ended".to_owned(), |ready| ready.message.clone())
}

/// A process is gone and its result is not known: `end` is how the run ends unless a
/// report is still on its way.
fn gone(
    status: &CodingRunStatus,
    start: Option<i64>,
    ending: &Standing,
    end: Standing,
    grace: SignedDuration,
    now: Timestamp,
) -> Standing {
    let known = status.gone_since.as_ref().filter(|_| status.start_number == start);
    let since = known.map_or_else(|| whole_second(now), |since| since.0);
    let left = grace - now.duration_since(since);
    let left = Duration::try_from(left).unwrap_or_default();
    if left.is_zero() {
        return Standing { began: true, ..end };
    }
    Standing {
        reason: reason::FINISHING,
        message: "its harness is gone; its result may be on its way".to_owned(),
        began: true,
        gone_since: Some(Time(since)),
        look_again: left,
        ..ending.clone()
    }
}

#[cfg(test)]
mod tests;
