//! Writes status: before a start its number, at the end what came of it; and only
//! when it differs.

use foundry_crds::agent::LastStart;
use foundry_crds::condition::{kind, reason};
use foundry_crds::{Agent, AgentStatus};
use k8s_openapi::jiff::Timestamp;
use kube::Resource as _;

use super::apply::Applied;
use super::outlook::Outlook;
use super::plan::{Observed, Plan, grants};
use crate::apply::{self, Version};
use crate::conditions::{self, Readiness, Wanted, clip, ready_reason};
use crate::context::Context;
use crate::error::Error;
use crate::mailboxes::{self, Registration};

/// Longest refusal that is kept.
const MAX_REFUSAL: usize = 4_096;

/// Stores, and tells, the number of a start before its workload is made.
pub async fn record_start(
    context: &Context,
    agent: &Agent,
    observed: &Observed,
    plan: &Plan,
    version: Version,
) -> Result<(Version, AgentStatus), Error> {
    let present = ours(&observed.status);
    // An edit that begins no process is told with all else, in one write at the end.
    let is_edit_alone = !plan.ledger.begins && plan.make.is_none() && plan.remove.is_empty();
    if is_edit_alone || !plan.ledger.is_ahead_of(&present) {
        return Ok((version, present));
    }
    let ahead = AgentStatus {
        start_number: Some(plan.ledger.start_number),
        config_digest: Some(plan.ledger.config_digest.clone()),
        observed_desired_state: Some(plan.ledger.desired_state),
        last_start: plan.ledger.last_start.clone(),
        ..present
    };
    let version = apply::status::<Agent, _>(&context.client, version, &ahead).await?;
    context.metrics.written("status", "Agent");
    if plan.ledger.begins {
        // No number: repeats are joined under the first note, and would show its number.
        let note = "a new process begins; status.startNumber counts it";
        context.events.normal(&agent.object_ref(&()), "Started", note).await;
    }
    Ok((version, ahead))
}

/// Reports what came of a plan.
#[tracing::instrument(target = "foundry_operator::spans", name = "report", skip_all)]
#[expect(clippy::too_many_arguments, reason = "one call, at the end of the one reconcile")]
pub async fn report(
    context: &Context,
    agent: &Agent,
    present: AgentStatus,
    observed: &Observed,
    plan: &Plan,
    applied: &Applied,
    version: Version,
    now: Timestamp,
) -> Result<(), Error> {
    let outlook = outlook(plan, applied);
    let mailbox = mailbox(observed, context.config.mailbox_domain);
    let registration = registration(observed, mailbox.as_deref());
    let told = registration.as_ref().map(|it| it.condition.clone());
    let beside = told.into_iter().chain(grants::degraded(observed)).collect();
    let wanted =
        AgentStatus { mailbox, ..status(agent, &present, plan, applied, &outlook, beside, now) };
    if wanted != present {
        apply::status::<Agent, _>(&context.client, version, &wanted).await?;
        context.metrics.written("status", "Agent");
    }
    // Asked for only now: what is asked for stands in status.
    if let Some(mailboxes) = &context.mailboxes {
        mailboxes.note(&observed.agent, registration.as_ref());
    }
    tell(context, agent, observed, &outlook).await;
    Ok(())
}

/// The part of a status that the operator writes; what harnesses report is the API's.
fn ours(status: &AgentStatus) -> AgentStatus {
    AgentStatus {
        last_heartbeat: None,
        context_percent: None,
        plan_document_id: None,
        ..status.clone()
    }
}

/// How a failure is told that may pass by itself.
pub fn again(words: &str) -> String {
    format!("{words}; it is tried again, with growing pauses")
}

/// What a person is told once the cluster has had its say.
fn outlook(plan: &Plan, applied: &Applied) -> Outlook {
    match applied {
        Applied::Done => plan.outlook.clone(),
        Applied::Failing(words) => {
            Outlook { running: plan.outlook.running, ..Outlook::pending(again(words)) }
        }
        Applied::Refused(words) => Outlook {
            // A full quota empties by itself; every other refusal wants a person.
            readiness: if words.contains("exceeded quota") {
                Readiness::Reconciling
            } else {
                Readiness::Stalled
            },
            running: plan.outlook.running,
            ..Outlook::waiting(
                reason::REFUSED,
                format!("the cluster refused: {words}; tried again every 30 s"),
            )
        },
    }
}

fn status(
    agent: &Agent,
    present: &AgentStatus,
    plan: &Plan,
    applied: &Applied,
    outlook: &Outlook,
    beside: Vec<Wanted>,
    now: Timestamp,
) -> AgentStatus {
    let generation = agent.metadata.generation.unwrap_or_default();
    let mut wanted = outlook.readiness.conditions(outlook.reason, &outlook.message);
    wanted.push(Wanted {
        kind: kind::RUNNING,
        status: outlook.running,
        reason: outlook.reason,
        message: outlook.message.clone(),
    });
    wanted.extend(beside);
    AgentStatus {
        // An expiry written by this very plan is seen, and reported, by the next.
        observed_generation: Some(generation),
        start_number: Some(plan.ledger.start_number),
        observed_starts: match applied {
            Applied::Done | Applied::Refused(_) => Some(plan.ledger.starts),
            // Whoever asked for a start waits on.
            Applied::Failing(_) => present.observed_starts,
        },
        finished_start: plan.finished_start,
        config_digest: Some(plan.ledger.config_digest.clone()),
        observed_desired_state: Some(plan.ledger.desired_state),
        last_start: last_start(plan, applied),
        workload: plan.workload.clone(),
        state: Some(outlook.state),
        mailbox: None,
        last_heartbeat: None,
        context_percent: None,
        plan_document_id: None,
        conditions: conditions::merge(&present.conditions, wanted, generation, now),
    }
}

/// LIFE-15: a refusal stays with the start it met until that start succeeds.
fn last_start(plan: &Plan, applied: &Applied) -> Option<LastStart> {
    let start = plan.ledger.last_start.clone()?;
    let refused = match applied {
        Applied::Refused(words) => Some(clip(words, MAX_REFUSAL).to_owned()),
        Applied::Done if plan.workload.is_some() => None,
        Applied::Done | Applied::Failing(_) => start.refused.clone(),
    };
    Some(LastStart { refused, ..start })
}

/// LIFE-21: the slug's address; none while another agent has the slug.
fn mailbox(observed: &Observed, domain: &str) -> Option<String> {
    if observed.slug_holder.is_some() {
        return None;
    }
    let slug = observed.spec.slug.as_deref().unwrap_or(&observed.agent.name);
    Some(format!("{slug}@{domain}"))
}

/// How the registration of its mailbox stands, where there is a place for it (BIND-03).
fn registration(observed: &Observed, mailbox: Option<&str>) -> Option<Registration> {
    let heard = observed.people.as_ref()?;
    let person = mailboxes::person(&observed.spec, mailbox)?;
    Some(mailboxes::registration(person, &observed.status, heard))
}

/// An event for people at each change of the reason.
async fn tell(context: &Context, agent: &Agent, observed: &Observed, outlook: &Outlook) {
    let about = agent.object_ref(&());
    if ready_reason(&observed.status.conditions) == Some(outlook.reason) {
        return;
    }
    match outlook.readiness {
        Readiness::Ready => context.events.normal(&about, outlook.reason, &outlook.message).await,
        Readiness::Reconciling if [reason::PENDING, reason::DRAINING].contains(&outlook.reason) => {
            context.events.normal(&about, outlook.reason, &outlook.message).await;
        }
        Readiness::Reconciling | Readiness::Stalled => {
            context.events.warning(&about, outlook.reason, &outlook.message).await;
        }
    }
}
