//! Writes status, only when it differs, and tells of each change as an event.

use std::time::Duration;

use foundry_crds::condition::{kind, reason};
use foundry_crds::swarm::SwarmPhase;
use foundry_crds::{Swarm, SwarmStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::Resource as _;

use super::apply::Applied;
use super::observe::Observed;
use super::phase::{Stand, Trouble};
use super::plan::{Action, Plan, Planned};
use super::standing::{self, Standing};
use crate::apply::{self, Version};
use crate::conditions::{self, Readiness, Wanted, whole_second};
use crate::context::Context;
use crate::error::Error;

/// How often what the cluster refused is tried again: a quota may be freed, a right
/// granted.
const REFUSED_AGAIN: Duration = Duration::from_secs(30);

/// Reports where a swarm stands, and says when to look again.
pub async fn report(
    context: &Context,
    swarm: &Swarm,
    observed: &Observed,
    plan: &Plan,
    applied: &Applied,
    version: Version,
    now: Timestamp,
) -> Result<Duration, Error> {
    let standing = standing(observed, plan, applied);
    let wanted = status(observed, &standing, now);
    if wanted != observed.status {
        apply::status::<Swarm, _>(&context.client, version, &wanted).await?;
        context.metrics.written("status", "Swarm");
    }
    tell(context, swarm, &observed.status, &standing).await;
    Ok(standing.look_again)
}

/// Where the swarm stands once the cluster has had its say.
pub fn standing(observed: &Observed, plan: &Plan, applied: &Applied) -> Standing {
    let members: Vec<_> = plan
        .members
        .iter()
        .map(|member| Planned { stand: stand(member, applied), ..member.clone() })
        .collect();
    standing::standing(observed, &members, plan.obstacle.as_ref())
}

/// Where a member stands once the cluster has had its say.
fn stand(member: &Planned, applied: &Applied) -> Stand {
    let troubled = |trouble: Trouble| match member.action {
        Some(Action::Create(_)) => Stand::unmade(Some(trouble)),
        Some(Action::Edit(..) | Action::Expire(_)) | None => {
            // What stands in its way already is told first.
            let known = member.stand.trouble.as_ref();
            let message = match known {
                Some(known) if known.readiness == Readiness::Stalled => {
                    format!("{}; {}", known.message, trouble.message)
                }
                Some(_) | None => trouble.message.clone(),
            };
            Stand { trouble: Some(Trouble { message, ..trouble }), ..member.stand.clone() }
        }
    };
    if let Some(words) = applied.refused.get(&member.name) {
        // A full quota empties by itself; every other refusal wants a person.
        let readiness = if words.contains("exceeded quota") {
            Readiness::Reconciling
        } else {
            Readiness::Stalled
        };
        let message = format!("the cluster refused: {words}; tried again every 30 s");
        let look_again = REFUSED_AGAIN;
        troubled(Trouble { readiness, reason: reason::REFUSED, message, look_again })
    } else if applied.unwritten.contains(&member.name) && creates(member) {
        let message = "its agent could not be made yet; tried again at once".to_owned();
        troubled(Trouble::passing(reason::PENDING, message))
    } else {
        member.stand.clone()
    }
}

fn creates(member: &Planned) -> bool {
    matches!(member.action, Some(Action::Create(_)))
}

/// What is reported.
pub fn status(observed: &Observed, standing: &Standing, now: Timestamp) -> SwarmStatus {
    let present = &observed.status;
    let Standing {
        phase,
        readiness,
        reason,
        message,
        is_complete,
        has_begun,
        members,
        summary,
        look_again: _,
    } = standing;
    let mut wanted = readiness.conditions(reason, message);
    wanted.push(Wanted {
        kind: kind::COMPLETE,
        status: *is_complete,
        reason,
        message: message.clone(),
    });
    SwarmStatus {
        observed_generation: Some(observed.generation),
        phase: Some(*phase),
        members: members.clone(),
        member_summary: Some(summary.clone()),
        // Set once, by the first process.
        start_time: present
            .start_time
            .clone()
            .or_else(|| has_begun.then(|| Time(whole_second(now)))),
        completion_time: completion_time(present, standing, now),
        conditions: conditions::merge(&present.conditions, wanted, observed.generation, now),
    }
}

/// Set by each end, and gone with the start of a member that follows it.
fn completion_time(present: &SwarmStatus, standing: &Standing, now: Timestamp) -> Option<Time> {
    if !standing.phase.is_an_end() {
        return None;
    }
    let had_ended = present.phase.is_some_and(SwarmPhase::is_an_end);
    let known = present.completion_time.clone().filter(|_| had_ended);
    Some(known.unwrap_or_else(|| Time(whole_second(now))))
}

/// An event for people at each change of phase or reason.
async fn tell(context: &Context, swarm: &Swarm, present: &SwarmStatus, now: &Standing) {
    let complete = present.conditions.iter().find(|condition| condition.type_ == kind::COMPLETE);
    let before = complete.map(|condition| condition.reason.as_str());
    if present.phase == Some(now.phase) && before == Some(now.reason) {
        return;
    }
    let about = swarm.object_ref(&());
    let is_obstacle = now.readiness == Readiness::Reconciling
        && ![reason::PENDING, reason::DRAINING].contains(&now.reason);
    if now.readiness == Readiness::Stalled || is_obstacle {
        context.events.warning(&about, now.reason, &now.message).await;
    } else {
        context.events.normal(&about, now.reason, &now.message).await;
    }
}
