//! What carries a harness, as the caches show it, in one shape for all kinds.

use foundry_crds::{meta, names};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use k8s_openapi::jiff::Timestamp;

/// The kind of object that carries a harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkloadKind {
    /// Of a persistent agent, in a cluster (LIFE-02).
    Deployment,
    /// Of an ephemeral agent, in a cluster (LIFE-07).
    Job,
    /// Of the local runtime (OPS-01).
    Pod,
}

impl WorkloadKind {
    /// The kind as Kubernetes spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::Job => "Job",
            Self::Pod => "Pod",
        }
    }

    /// Name of the workload of this kind for one start of an agent (WORK-01).
    pub fn name(self, agent: &str, start: i64) -> String {
        match self {
            Self::Deployment => names::deployment(agent),
            Self::Job => names::job(agent, start),
            Self::Pod => names::local_pod(agent, start),
        }
    }
}

/// Whose a workload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belongs {
    /// Controlled by this very agent.
    ToAgent,
    /// Controlled by something else: an earlier agent of this name whose workload
    /// the garbage collector has yet to take, or a stranger.
    ToAnother,
    /// Controlled by nobody: made by a person, not by Foundry.
    ToNobody,
}

/// How the harness in a workload fares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// Not up yet, and why as far as is known.
    Waiting(String),
    /// A process lives.
    Running,
    /// It keeps ending and is started again, more and more slowly.
    Crashing(String),
    /// It ended well and will not be started again.
    Succeeded,
    /// It ended badly and will not be started again.
    Failed(String),
}

/// One object that carries a harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Kind of the object.
    pub kind: WorkloadKind,
    /// Its name.
    pub name: String,
    /// Its UID: a precondition of its deletion.
    pub uid: String,
    /// Start number its template was rendered for.
    pub start: Option<i64>,
    /// Whose it is.
    pub belongs: Belongs,
    /// Whether its deletion has been asked for.
    pub going: bool,
    /// Whether somebody else changed what must not change (replicas).
    pub drifted: bool,
    /// How long it may run, once it has begun.
    pub limit: Option<Limit>,
    /// How the harness in it fares.
    pub health: Health,
}

/// How long a Job may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// When it began.
    pub began: Timestamp,
    /// Seconds from then on.
    pub seconds: i64,
}

impl Workload {
    /// Whether the harness in it ended and will not be started again.
    pub fn is_over(&self) -> bool {
        matches!(self.health, Health::Succeeded | Health::Failed(_))
    }

    /// Reads a Deployment and the pods of its agent.
    pub fn from_deployment(deployment: &Deployment, pods: &[&Pod], agent_uid: &str) -> Self {
        let spec = deployment.spec.as_ref();
        let start = spec.and_then(|spec| spec.template.metadata.as_ref()).and_then(start_of);
        let replica_failure = deployment
            .status
            .iter()
            .flat_map(|status| status.conditions.iter().flatten())
            .find(|condition| condition.type_ == "ReplicaFailure" && condition.status == "True")
            .and_then(|condition| condition.message.clone());
        let mine = pods.iter().filter(|pod| controller_kind(pod) == Some("ReplicaSet"));
        let health = match health_of_pods(mine.copied(), start) {
            // A pod that ended is replaced: nobody has to act.
            Some(Health::Succeeded | Health::Failed(_)) | None if replica_failure.is_some() => {
                Health::Waiting(replica_failure.unwrap_or_default())
            }
            Some(Health::Succeeded) => {
                Health::Waiting("its pod ended; another pod is made".to_owned())
            }
            Some(Health::Failed(why)) => Health::Waiting(format!("{why}; another pod is made")),
            Some(health) => health,
            None => Health::Waiting("its pod has not been made yet".to_owned()),
        };
        Self {
            drifted: spec.is_some_and(|spec| spec.replicas.unwrap_or(1) != 1),
            ..Self::new(WorkloadKind::Deployment, &deployment.metadata, agent_uid, start, health)
        }
    }

    /// Reads a Job and the pods of its agent.
    pub fn from_job(job: &Job, pods: &[&Pod], agent_uid: &str) -> Self {
        let start = start_of(&job.metadata);
        let condition = |kind: &str| {
            job.status
                .iter()
                .flat_map(|status| status.conditions.iter().flatten())
                .find(|condition| condition.type_ == kind && condition.status == "True")
        };
        let mine = pods.iter().copied().filter(|pod| controller_kind(pod) == Some("Job"));
        let health = if condition("Complete").is_some() {
            Health::Succeeded
        } else if let Some(failed) = condition("Failed") {
            let reason = failed.reason.as_deref().unwrap_or("Failed");
            let message = failed.message.as_deref().unwrap_or("its pod failed");
            // The Job says that it gave up; its last pod says why: OOMKilled, Evicted, ….
            // The pod that runs out of time is deleted, and those before it tell of drains.
            let why = if reason == "DeadlineExceeded" { None } else { last_failure(mine, start) };
            Health::Failed(why.unwrap_or_else(|| format!("{reason}: {message}")))
        } else {
            match health_of_pods(mine, start) {
                // Whether that was the end says the Job: a drained pod is made again.
                Some(Health::Succeeded) => Health::Waiting("its pod ended".to_owned()),
                Some(Health::Failed(why)) => Health::Waiting(why),
                Some(health) => health,
                None => Health::Waiting("its pod has not been made yet".to_owned()),
            }
        };
        let began = job.status.as_ref().and_then(|status| status.start_time.as_ref());
        let seconds = job.spec.as_ref().and_then(|spec| spec.active_deadline_seconds);
        let limit = began.zip(seconds).map(|(began, seconds)| Limit { began: began.0, seconds });
        Self { limit, ..Self::new(WorkloadKind::Job, &job.metadata, agent_uid, start, health) }
    }

    /// Reads a Pod that stands alone: the local runtime's.
    pub fn from_pod(pod: &Pod, agent_uid: &str) -> Self {
        let start = start_of(&pod.metadata);
        let health = match pod.status.as_ref() {
            Some(status) => health_of_pod(status),
            None => Health::Waiting("its process has not been started yet".to_owned()),
        };
        Self::new(WorkloadKind::Pod, &pod.metadata, agent_uid, start, health)
    }

    fn new(
        kind: WorkloadKind,
        metadata: &ObjectMeta,
        agent_uid: &str,
        start: Option<i64>,
        health: Health,
    ) -> Self {
        Self {
            kind,
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone().unwrap_or_default(),
            start,
            belongs: match controller(metadata) {
                Some(owner) if owner.uid == agent_uid => Belongs::ToAgent,
                Some(_) => Belongs::ToAnother,
                None => Belongs::ToNobody,
            },
            going: metadata.deletion_timestamp.is_some(),
            drifted: false,
            limit: None,
            health,
        }
    }
}

/// Whether a pod lives whose Deployment or Job is gone: deleted in the background, by a
/// person or with an earlier agent of this name, it leaves its pods behind for a while.
pub fn is_left_behind(pods: &[&Pod], deployments: &[&Deployment], jobs: &[&Job]) -> bool {
    pods.iter().filter(|pod| !is_over(pod)).any(|pod| {
        let Some(owner) = controller(&pod.metadata) else { return false };
        match owner.kind.as_str() {
            // Whose the ReplicaSet is, is not watched: of an agent there is one Deployment.
            "ReplicaSet" => deployments.is_empty(),
            "Job" => !jobs.iter().any(|job| job.metadata.uid.as_ref() == Some(&owner.uid)),
            _ => false,
        }
    })
}

/// Whether a pod is at its end: its processes are gone and come no more.
pub fn is_over(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// The owner that controls an object.
pub fn controller(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

fn controller_kind(pod: &Pod) -> Option<&str> {
    controller(&pod.metadata).map(|owner| owner.kind.as_str())
}

/// The start number that a template, Job or Pod was rendered for.
fn start_of(metadata: &ObjectMeta) -> Option<i64> {
    metadata.annotations.as_ref()?.get(meta::annotation::PROCESS_START)?.parse().ok()
}

/// The health of the liveliest pod of this start; none when there is no such pod.
fn health_of_pods<'a>(pods: impl Iterator<Item = &'a Pod>, start: Option<i64>) -> Option<Health> {
    let of_this_start = pods
        .filter(|pod| start.is_some() && start_of(&pod.metadata) == start)
        .filter(|pod| pod.metadata.deletion_timestamp.is_none());
    let liveliness = |health: &Health| match health {
        Health::Running => 0,
        Health::Crashing(_) => 1,
        Health::Waiting(_) => 2,
        Health::Failed(_) => 3,
        Health::Succeeded => 4,
    };
    of_this_start.filter_map(|pod| pod.status.as_ref()).map(health_of_pod).min_by_key(liveliness)
}

/// Why the newest failed pod of this start failed.
fn last_failure<'a>(pods: impl Iterator<Item = &'a Pod>, start: Option<i64>) -> Option<String> {
    pods.filter(|pod| start.is_some() && start_of(&pod.metadata) == start)
        .filter_map(|pod| Some((pod.metadata.creation_timestamp.as_ref(), pod.status.as_ref()?)))
        .filter(|(_, status)| status.phase.as_deref() == Some("Failed"))
        .max_by_key(|(created, _)| created.map(|created| created.0))
        .map(|(_, status)| why_it_failed(status))
}

fn health_of_pod(status: &PodStatus) -> Health {
    match status.phase.as_deref() {
        Some("Succeeded") => Health::Succeeded,
        Some("Failed") => Health::Failed(why_it_failed(status)),
        _ => match status.container_statuses.as_deref() {
            Some([container, ..]) => health_of_container(container),
            _ => Health::Waiting(why_it_waits(status)),
        },
    }
}

fn health_of_container(container: &ContainerStatus) -> Health {
    let state = container.state.as_ref();
    if state.is_some_and(|state| state.running.is_some()) {
        return Health::Running;
    }
    if let Some(waiting) = state.and_then(|state| state.waiting.as_ref()) {
        let reason = waiting.reason.as_deref().unwrap_or("Waiting");
        let message = waiting.message.as_deref().unwrap_or("its container is not up yet");
        let line = format!("{reason}: {message}");
        return if reason == "CrashLoopBackOff" {
            Health::Crashing(line)
        } else {
            Health::Waiting(line)
        };
    }
    if let Some(ended) = state.and_then(|state| state.terminated.as_ref()) {
        return Health::Crashing(format!(
            "{}: its process ended with exit status {}",
            ended.reason.as_deref().unwrap_or("Ended"),
            ended.exit_code
        ));
    }
    Health::Waiting("its container is not up yet".to_owned())
}

fn why_it_failed(status: &PodStatus) -> String {
    let ended = status
        .container_statuses
        .iter()
        .flatten()
        .find_map(|container| container.state.as_ref()?.terminated.as_ref());
    match (ended, status.reason.as_deref(), status.message.as_deref()) {
        (_, Some(reason), Some(message)) => format!("{reason}: {message}"),
        (Some(ended), _, _) => {
            let reason = ended.reason.as_deref().unwrap_or("Error");
            match ended.message.as_deref() {
                Some(message) => format!("{reason}: {message}"),
                None => format!("{reason}: its process ended with exit status {}", ended.exit_code),
            }
        }
        (None, reason, _) => reason.unwrap_or("its pod failed").to_owned(),
    }
}

fn why_it_waits(status: &PodStatus) -> String {
    status
        .conditions
        .iter()
        .flatten()
        .find(|condition| condition.type_ == "PodScheduled" && condition.status == "False")
        .and_then(|condition| {
            let reason = condition.reason.as_deref()?;
            Some(match condition.message.as_deref() {
                Some(message) => format!("{reason}: {message}"),
                None => reason.to_owned(),
            })
        })
        .unwrap_or_else(|| "its pod has no node yet".to_owned())
}

#[cfg(test)]
mod tests;
