//! Writes status, only when it differs, and tells of each change as an event.

use foundry_crds::coding_run::Phase;
use foundry_crds::condition::{kind, reason};
use foundry_crds::{CodingRun, CodingRunStatus};
use k8s_openapi::jiff::Timestamp;
use kube::Resource as _;

use super::observe::Observed;
use super::phase::Standing;
use super::plan::{Action, Plan};
use crate::agent::apply::Applied;
use crate::agent::report::again;
use crate::apply::{self, Version};
use crate::conditions::{self, Readiness, Wanted};
use crate::context::Context;
use crate::error::Error;

/// Reports where a run stands.
#[tracing::instrument(target = "foundry_operator::spans", name = "report", skip_all)]
pub async fn report(
    context: &Context,
    run: &CodingRun,
    observed: &Observed,
    plan: &Plan,
    applied: &Applied,
    version: Version,
    now: Timestamp,
) -> Result<(), Error> {
    let present = ours(&observed.status);
    let standing = standing(plan, applied);
    let generation = run.metadata.generation.unwrap_or_default();
    let wanted = status(&present, plan, applied, &standing, generation, now);
    if wanted != present {
        apply::status::<CodingRun, _>(&context.client, version, &wanted).await?;
        context.metrics.written("status", "CodingRun");
        if standing.phase.is_an_end() && present.phase != Some(standing.phase) {
            context.metrics.run_ended(standing.phase.as_str(), standing.reason);
        }
    }
    tell(context, run, &present, &standing).await;
    Ok(())
}

/// The part of a status that the operator writes; what harnesses report is the API's.
pub fn ours(status: &CodingRunStatus) -> CodingRunStatus {
    CodingRunStatus { reported: None, ..status.clone() }
}

/// Where the run stands once the cluster has had its say.
pub fn standing(plan: &Plan, applied: &Applied) -> Standing {
    let words = match applied {
        Applied::Done => return plan.standing.clone(),
        // An edit comes later; where the run stands says its agent.
        Applied::Failing(_) if !matches!(plan.action, Some(Action::Create(_))) => {
            return plan.standing.clone();
        }
        Applied::Failing(words) => {
            return Standing { message: again(words), ..plan.standing.clone() };
        }
        Applied::Refused(words) => words,
    };
    let message = format!("the cluster refused: {words}; tried again every 30 s");
    // A full quota empties by itself; every other refusal wants a person.
    let readiness =
        if words.contains("exceeded quota") { Readiness::Reconciling } else { Readiness::Stalled };
    match plan.action {
        // What is over is as it ended, and is read again from what is told here.
        Some(Action::Edit(..)) if plan.standing.phase.is_an_end() => plan.standing.clone(),
        // An edit that was refused changes nothing of where the run stands.
        Some(Action::Edit(..)) if plan.standing.phase != Phase::Pending => Standing {
            readiness,
            message: format!("{}; {message}", plan.standing.message),
            ..plan.standing.clone()
        },
        _ => Standing { reason: reason::REFUSED, readiness, message, ..plan.standing.clone() },
    }
}

/// What is reported, for a plan of which this came.
pub fn status(
    present: &CodingRunStatus,
    plan: &Plan,
    applied: &Applied,
    standing: &Standing,
    generation: i64,
    now: Timestamp,
) -> CodingRunStatus {
    let Plan { action, standing: _, agent, start_time, completion_time } = plan;
    let is_made = matches!(applied, Applied::Done) || !matches!(action, Some(Action::Create(_)));
    let mut wanted = standing.readiness.conditions(standing.reason, &standing.message);
    wanted.push(Wanted {
        kind: kind::COMPLETE,
        status: standing.phase == Phase::Succeeded,
        reason: standing.reason,
        message: standing.message.clone(),
    });
    CodingRunStatus {
        observed_generation: Some(generation),
        phase: Some(standing.phase),
        start_number: standing.start_number,
        agent: if is_made { agent.clone() } else { None },
        start_time: start_time.clone(),
        gone_since: standing.gone_since.clone(),
        completion_time: completion_time.clone(),
        reported: None,
        conditions: conditions::merge(&present.conditions, wanted, generation, now),
    }
}

/// An event for people at each change of phase or reason.
async fn tell(context: &Context, run: &CodingRun, present: &CodingRunStatus, now: &Standing) {
    let complete = present.conditions.iter().find(|condition| condition.type_ == kind::COMPLETE);
    let before = complete.map(|condition| condition.reason.as_str());
    if present.phase == Some(now.phase) && before == Some(now.reason) {
        return;
    }
    let about = run.object_ref(&());
    let is_obstacle = now.readiness == Readiness::Reconciling
        && ![reason::PENDING, reason::DRAINING].contains(&now.reason);
    if now.readiness == Readiness::Stalled || is_obstacle {
        context.events.warning(&about, now.reason, &now.message).await;
    } else {
        context.events.normal(&about, now.reason, &now.message).await;
    }
}
