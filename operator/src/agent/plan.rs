//! What should be done for an agent: all rules, no input or output.

use std::time::Duration;

use foundry_crds::agent::{Activation, DesiredState, Lifecycle, Lifetime, WorkloadRef};
use foundry_crds::condition::reason;
use foundry_crds::harness::HarnessHost;
use foundry_crds::{AgentSpec, AgentState, AgentStatus, HarnessSpec};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;

use super::AgentId;
use super::outlook::Outlook;
use super::start::Ledger;
use super::workloads;
use crate::config::TemplateConfig;
use crate::mailboxes::Heard;
use crate::runtime::{Belongs, Health, Workload, WorkloadKind};

pub mod grants;

/// Nothing is trusted to be seen by watches alone: look again at least this often.
const LOOK_AGAIN: Duration = Duration::from_mins(5);
/// How often a missing reference is looked for.
pub const MISSING_AGAIN: Duration = Duration::from_secs(15);
/// A deadline this near to `ttlAt` is left as it is: a Job begins a moment after it is
/// asked for.
const DEADLINE_SLACK_SECONDS: i64 = 60;
/// How often an end is waited for.
const DRAINING_AGAIN: Duration = Duration::from_millis(500);

/// Everything a plan is made from.
#[derive(Debug, Clone)]
pub struct Observed {
    /// Whose plan this is.
    pub agent: AgentId,
    /// What is wanted.
    pub spec: AgentSpec,
    /// What was reported last.
    pub status: AgentStatus,
    /// The Harness the spec names, when there is one.
    pub harness: Option<HarnessSpec>,
    /// The agent that has this agent's slug, when it is another one.
    pub slug_holder: Option<String>,
    /// The agent that spawned this one.
    pub parent: Parent,
    /// Objects that carry or carried a harness of this agent.
    pub workloads: Vec<Workload>,
    /// Whether a process still ends whose object is gone.
    pub draining: bool,
    /// The Secret that its pod waits for, when it waits and there is none.
    pub missing_secret: Option<&'static str>,
    /// Which object carries this agent's harness in the present runtime.
    pub carrier: WorkloadKind,
    /// What is known of its mailbox's registration; none where the installation has no place
    /// for it.
    pub people: Option<Heard>,
    /// What there is of the skills and tool servers that the spec names.
    pub named: grants::Named,
}

/// What is known of the agent that spawned this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parent {
    /// The spec names none.
    None,
    /// The spec names one that does not exist.
    Missing(String),
    /// The spec names one, and this is who owns it.
    OwnedBy(String),
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Whether the agent's time is over and its intent must say so.
    pub expire: bool,
    /// The bookkeeping of starts.
    pub ledger: Ledger,
    /// Workloads to delete.
    pub remove: Vec<Removal>,
    /// The workload to make or mend.
    pub make: Option<Make>,
    /// Start number whose process ended for good.
    pub finished_start: Option<i64>,
    /// The object that carries the harness.
    pub workload: Option<WorkloadRef>,
    /// What a person is told.
    pub outlook: Outlook,
    /// When to look again, whatever the watches say.
    pub look_again: Duration,
}

/// A workload to delete, and only that very one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// Its kind.
    pub kind: WorkloadKind,
    /// Its name.
    pub name: String,
    /// Its UID, as a precondition.
    pub uid: String,
}

/// A workload to make or mend.
#[derive(Debug, Clone, PartialEq)]
pub enum Make {
    /// Apply this Deployment.
    Deployment(Box<Deployment>),
    /// Apply this Job.
    Job(Box<Job>),
    /// Apply this Pod.
    Pod(Box<Pod>),
    /// Put the replicas of this Deployment back to one, its template untouched.
    Rescale(String),
    /// Let this Job run for so many seconds from its begin.
    Deadline(String, i64),
}

impl Make {
    /// Whether a pod comes of it that is not there yet.
    pub fn begins_a_pod(&self) -> bool {
        match self {
            Self::Deployment(_) | Self::Job(_) | Self::Pod(_) | Self::Rescale(_) => true,
            Self::Deadline(..) => false,
        }
    }
}

/// What should run of an agent.
enum Want {
    /// Nothing, and that is right.
    Nothing(Outlook),
    /// Nothing new until somebody or something changes; what runs goes on.
    Held(Outlook, Duration),
    /// The process of this start ended for good.
    Finished(Outlook),
    /// A process of this start.
    Process(i64),
}

/// Decides what to do for an agent.
pub fn plan(observed: &Observed, settings: &TemplateConfig, now: Timestamp) -> Plan {
    let expire = is_over(&observed.spec, now);
    let mut spec = observed.spec.clone();
    if expire {
        spec.lifecycle = Some(Lifecycle::Expired);
        spec.desired_state = Some(DesiredState::Completed);
    }
    let ledger = Ledger::next(&spec, &observed.status, now);
    let finished_start = finished_start(observed, &ledger);

    let step = match want(observed, &spec, &ledger, finished_start) {
        Want::Nothing(rest) => clear(observed, rest),
        Want::Held(outlook, again) => hold(observed, outlook, again),
        Want::Finished(outlook) => {
            Step { remove: earlier(observed, &ledger), outlook, ..Step::idle(observed, &ledger) }
        }
        Want::Process(start) => run(observed, &spec, settings, start, now),
    };
    let Step { remove, make, workload, outlook, look_again } = step;
    Plan {
        expire,
        remove,
        make,
        finished_start,
        workload,
        outlook,
        look_again: look_again.min(until_over(&spec, now)),
        ledger,
    }
}

/// The part of a plan that concerns workloads.
struct Step {
    remove: Vec<Removal>,
    make: Option<Make>,
    workload: Option<WorkloadRef>,
    outlook: Outlook,
    look_again: Duration,
}

impl Step {
    /// Nothing to do; the workload of the present process, when it is there.
    fn idle(observed: &Observed, ledger: &Ledger) -> Self {
        let workload = ledger.process().and_then(|start| {
            let name = observed.carrier.name(&observed.agent.name, start);
            observed.workloads.iter().find(|workload| workload.name == name).map(reference)
        });
        Self {
            remove: Vec::new(),
            make: None,
            workload,
            outlook: Outlook::pending("nothing has been looked at yet".to_owned()),
            look_again: LOOK_AGAIN,
        }
    }
}

/// LIFE-12: an ephemeral agent is over at its `ttlAt`, stopped or not.
fn is_over(spec: &AgentSpec, now: Timestamp) -> bool {
    spec.lifetime() == Lifetime::Ephemeral
        && spec.lifecycle() == Lifecycle::Active
        && spec.ttl_at.as_ref().is_some_and(|ttl| ttl.0 <= now)
}

/// Time until an agent is over; the longest wait for one that never is.
fn until_over(spec: &AgentSpec, now: Timestamp) -> Duration {
    match (spec.lifetime(), spec.lifecycle(), spec.ttl_at.as_ref()) {
        (Lifetime::Ephemeral, Lifecycle::Active, Some(ttl)) => {
            let left = Duration::try_from(ttl.0.duration_since(now)).unwrap_or_default();
            left.max(Duration::from_millis(10))
        }
        _ => LOOK_AGAIN,
    }
}

fn want(
    observed: &Observed,
    spec: &AgentSpec,
    ledger: &Ledger,
    finished_start: Option<i64>,
) -> Want {
    match spec.lifecycle() {
        Lifecycle::Expired => return Want::Nothing(Outlook::at_rest(AgentState::Expired)),
        Lifecycle::Archive => return Want::Nothing(Outlook::at_rest(AgentState::Archived)),
        Lifecycle::Active => {}
    }
    match spec.desired_state() {
        DesiredState::Stopped | DesiredState::Completed => {
            return Want::Nothing(Outlook::at_rest(AgentState::Stopped));
        }
        DesiredState::Running => {}
    }
    if spec.activation() == Activation::OnDemand {
        return Want::Nothing(Outlook::at_rest(AgentState::OnDemand)); // LIFE-04
    }
    let Some(start) = ledger.process() else {
        return Want::Nothing(Outlook::at_rest(AgentState::Stopped));
    };
    if spec.lifetime() == Lifetime::Ephemeral && finished_start == Some(start) {
        return Want::Finished(how_it_finished(observed, start));
    }
    match obstacle(observed, spec) {
        Some((outlook, again)) => Want::Held(outlook, again),
        None if is_served_elsewhere(observed, start) => {
            Want::Nothing(Outlook::at_rest(AgentState::OnDemand))
        }
        None => Want::Process(start),
    }
}

/// A Harness of host `chat` is the conversation server's: no workload. A process that
/// runs already goes on until the next start (LIFE-16).
fn is_served_elsewhere(observed: &Observed, start: i64) -> bool {
    let is_of_chat =
        observed.harness.as_ref().is_some_and(|harness| harness.host == Some(HarnessHost::Chat));
    is_of_chat
        && !observed.workloads.iter().any(|workload| {
            workload.belongs == Belongs::ToAgent && !workload.going && workload.start == Some(start)
        })
}

/// Why no process may be started now, although one is wanted.
fn obstacle(observed: &Observed, spec: &AgentSpec) -> Option<(Outlook, Duration)> {
    if let Some(holder) = &observed.slug_holder {
        let slug = spec.slug.as_deref().unwrap_or(&observed.agent.name);
        let message = format!(
            "slug \"{slug}\" belongs to agent {holder}, which had it first; choose another spec.slug"
        );
        return Some((Outlook::stalled(reason::SLUG_TAKEN, message), MISSING_AGAIN)); // LIFE-20
    }
    match &observed.parent {
        Parent::Missing(parent) => {
            let message = format!("parent agent \"{parent}\" not found; looked for every 15 s");
            return Some((Outlook::waiting(reason::PARENT_NOT_FOUND, message), MISSING_AGAIN));
        }
        Parent::OwnedBy(owner) if *owner != spec.owner => {
            let message =
                "the parent agent has another owner; an agent acts for its parent's owner";
            return Some((
                Outlook::stalled(reason::PARENT_OWNER, message.to_owned()),
                MISSING_AGAIN,
            ));
        }
        Parent::None | Parent::OwnedBy(_) => {}
    }
    if observed.harness.is_none() {
        let message = format!(
            "Harness \"{}\" not found in namespace {}; create it or change spec.harness; looked \
             for every 15 s",
            spec.harness, observed.agent.namespace
        );
        return Some((Outlook::waiting(reason::HARNESS_NOT_FOUND, message), MISSING_AGAIN));
    }
    let lacks = observed.harness.as_ref().and_then(|harness| {
        if !harness.has_repo_scope() {
            Some("lacks the feature repo_scope")
        } else if harness.host == Some(HarnessHost::Chat) {
            Some("is of host chat and has no pods")
        } else {
            None
        }
    });
    if let (Some(_), Some(lacks)) = (&spec.repository, lacks) {
        let message = format!(
            "Harness \"{}\" {lacks}, and this agent has a repository; name another in \
             spec.harness or correct this one",
            spec.harness
        );
        return Some((Outlook::stalled(reason::HARNESS_LACKS_FEATURE, message), MISSING_AGAIN));
    }
    grants::obstacle(observed, spec)
}

/// The start number whose process ended for good: that start is never made again.
fn finished_start(observed: &Observed, ledger: &Ledger) -> Option<i64> {
    let start = ledger.process();
    let ended = observed.spec.lifetime() == Lifetime::Ephemeral
        && observed.workloads.iter().any(|workload| {
            workload.belongs == Belongs::ToAgent && workload.start == start && workload.is_over()
        });
    if ended { start } else { observed.status.finished_start }
}

/// How the finished process ended: from its workload, or, once that is gone, from
/// what was reported of it.
fn how_it_finished(observed: &Observed, start: i64) -> Outlook {
    let health = observed
        .workloads
        .iter()
        .find(|workload| workload.belongs == Belongs::ToAgent && workload.start == Some(start))
        .map(|workload| &workload.health);
    match health {
        Some(Health::Succeeded) => Outlook::completed(),
        Some(Health::Failed(why)) => Outlook::stalled(reason::FAILED, why.clone()),
        _ => Outlook::reported(&observed.status).unwrap_or_else(Outlook::completed),
    }
}

/// LIFE-10: removes all there is, and is at rest when all is gone.
fn clear(observed: &Observed, rest: Outlook) -> Step {
    let remaining = observed
        .workloads
        .iter()
        .filter(|workload| workload.belongs == Belongs::ToAgent)
        .collect::<Vec<_>>();
    let is_clear = remaining.is_empty() && !observed.draining;
    let running = remaining.iter().any(|workload| workload.health == Health::Running);
    Step {
        remove: remaining.iter().filter_map(|workload| removal(workload)).collect(),
        make: None,
        workload: None,
        outlook: if is_clear {
            rest
        } else {
            Outlook { running, ..Outlook::draining("its process is told to end".to_owned()) }
        },
        look_again: if is_clear { LOOK_AGAIN } else { DRAINING_AGAIN },
    }
}

/// Leaves what runs as it is and says what stands in the way.
fn hold(observed: &Observed, outlook: Outlook, look_again: Duration) -> Step {
    let present = observed.workloads.iter().find(|workload| {
        workload.belongs == Belongs::ToAgent && !workload.going && workload.kind == observed.carrier
    });
    let running = present.is_some_and(|workload| workload.health == Health::Running);
    Step {
        remove: Vec::new(),
        make: None,
        workload: present.map(reference),
        outlook: Outlook {
            running,
            state: if running { AgentState::Running } else { outlook.state },
            ..outlook
        },
        look_again,
    }
}

/// One process of this start, and no other (LIFE-09).
fn run(
    observed: &Observed,
    spec: &AgentSpec,
    settings: &TemplateConfig,
    start: i64,
    now: Timestamp,
) -> Step {
    let name = observed.carrier.name(&observed.agent.name, start);
    let is_it = |workload: &&Workload| workload.kind == observed.carrier && workload.name == name;
    let current = observed.workloads.iter().find(is_it);
    // What nobody controls and is not in our way is none of our business.
    let others: Vec<&Workload> = observed
        .workloads
        .iter()
        .filter(|workload| !is_it(workload) && workload.belongs != Belongs::ToNobody)
        .collect();
    let remove: Vec<Removal> = others
        .iter()
        .filter(|workload| workload.belongs == Belongs::ToAgent)
        .filter_map(|workload| removal(workload))
        .collect();
    let step = |outlook: Outlook| Step {
        remove: remove.clone(),
        make: None,
        workload: current.filter(|it| it.belongs == Belongs::ToAgent).map(reference),
        outlook,
        look_again: LOOK_AGAIN,
    };
    let wait =
        |why: &str| Step { look_again: DRAINING_AGAIN, ..step(Outlook::draining(why.to_owned())) };
    let make = || {
        let workload =
            WorkloadRef { kind: observed.carrier.as_str().to_owned(), name: name.clone() };
        Step {
            make: workloads::make(observed, spec, settings, start, now),
            workload: Some(workload),
            ..step(Outlook::pending("its process is asked for".to_owned()))
        }
    };

    match current {
        Some(it) if it.belongs == Belongs::ToNobody => step(Outlook::stalled(
            reason::NAME_TAKEN,
            format!(
                "{} \"{name}\" exists and is not Foundry's; rename or delete it",
                observed.carrier.as_str()
            ),
        )),
        Some(it) if it.belongs == Belongs::ToAnother || it.going => {
            wait("an earlier process of this name still ends")
        }
        _ if !others.is_empty() || observed.draining => wait("an earlier process still ends"),
        None => make(),
        // LIFE-03: the template carries the number, so a restart recycles the pod.
        Some(it) if it.start != Some(start) => make(),
        Some(it) => {
            let (outlook, look_again) = outlook_of(observed, &it.health);
            Step { make: mend(spec, it), look_again, ..step(outlook) }
        }
    }
}

/// What a person is told of a workload that is there, and when to look again.
fn outlook_of(observed: &Observed, health: &Health) -> (Outlook, Duration) {
    match (health, observed.missing_secret) {
        (Health::Waiting(_), Some(secret)) => {
            let message = format!(
                "Secret \"{secret}\" not found in namespace {}; create it; looked for every 15 s",
                observed.agent.namespace
            );
            (Outlook::waiting(reason::SECRET_NOT_FOUND, message), MISSING_AGAIN)
        }
        _ => (Outlook::of_health(health), LOOK_AGAIN),
    }
}

/// Puts right what a workload has otherwise than it should, its pods untouched.
fn mend(spec: &AgentSpec, it: &Workload) -> Option<Make> {
    if it.drifted {
        return Some(Make::Rescale(it.name.clone()));
    }
    let ends_at = spec.ttl_at.as_ref().filter(|_| spec.lifetime() == Lifetime::Ephemeral)?;
    let limit = it.limit?;
    let seconds = workloads::deadline(ends_at.0.duration_since(limit.began));
    let is_moved = (seconds - limit.seconds).abs() > DEADLINE_SLACK_SECONDS;
    (is_moved && !it.is_over()).then(|| Make::Deadline(it.name.clone(), seconds))
}

/// Workloads of other starts than the present one.
fn earlier(observed: &Observed, ledger: &Ledger) -> Vec<Removal> {
    observed
        .workloads
        .iter()
        .filter(|workload| {
            workload.belongs == Belongs::ToAgent && workload.start != ledger.process()
        })
        .filter_map(removal)
        .collect()
}

fn removal(workload: &Workload) -> Option<Removal> {
    (!workload.going).then(|| Removal {
        kind: workload.kind,
        name: workload.name.clone(),
        uid: workload.uid.clone(),
    })
}

fn reference(workload: &Workload) -> WorkloadRef {
    WorkloadRef { kind: workload.kind.as_str().to_owned(), name: workload.name.clone() }
}

#[cfg(test)]
mod tests;
