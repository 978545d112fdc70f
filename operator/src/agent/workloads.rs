//! The object that carries a harness, one function a kind.

use foundry_crds::agent::Lifetime;
use foundry_crds::{AgentSpec, meta};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy};
use k8s_openapi::api::batch::v1::{
    Job, JobSpec, PodFailurePolicy, PodFailurePolicyOnPodConditionsPattern, PodFailurePolicyRule,
};
use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::plan::{Make, Observed};
use crate::config::TemplateConfig;
use crate::pod;
use crate::runtime::WorkloadKind;

/// Seconds that a finished Job stays at least, to be looked at.
const FINISHED_JOB_SECONDS: i32 = 3_600;
/// Seconds an ephemeral agent without `ttlAt` may run: admission asks for one.
const DEFAULT_LIFE_SECONDS: i64 = 4 * 3_600;

/// The workload of one start; none while there is no Harness to render it from.
pub fn make(
    observed: &Observed,
    spec: &AgentSpec,
    settings: &TemplateConfig,
    start: i64,
    now: Timestamp,
) -> Option<Make> {
    let harness = observed.harness.as_ref()?;
    let template = pod::template(&observed.agent, spec.lifetime(), harness, settings, start);
    let metadata = ObjectMeta {
        name: Some(observed.carrier.name(&observed.agent.name, start)), // WORK-01
        namespace: Some(observed.agent.namespace.clone()),
        owner_references: Some(vec![pod::owner(&observed.agent)]),
        ..pod::metadata(&observed.agent, harness, start)
    };
    Some(match observed.carrier {
        WorkloadKind::Deployment => {
            Make::Deployment(Box::new(deployment(observed, metadata, template)))
        }
        WorkloadKind::Job => Make::Job(Box::new(job(metadata, template, seconds_left(spec, now)))),
        WorkloadKind::Pod => Make::Pod(Box::new(local_pod(spec, metadata, template, now))),
    })
}

/// LIFE-02: one replica, and never two at once: a surge would put two pollers on
/// one inbox.
fn deployment(observed: &Observed, metadata: ObjectMeta, template: PodTemplateSpec) -> Deployment {
    Deployment {
        metadata,
        spec: Some(DeploymentSpec {
            replicas: Some(1),
            selector: LabelSelector {
                match_labels: Some(pod::selector(&observed.agent)),
                match_expressions: None,
            },
            strategy: Some(DeploymentStrategy {
                type_: Some("Recreate".to_owned()),
                rolling_update: None,
            }),
            revision_history_limit: Some(1),
            template,
            ..DeploymentSpec::default()
        }),
        status: None,
    }
}

/// LIFE-07: one try, bounded in time, kept a while after its end.
fn job(metadata: ObjectMeta, template: PodTemplateSpec, seconds_left: i64) -> Job {
    Job {
        metadata,
        spec: Some(JobSpec {
            backoff_limit: Some(0),
            ttl_seconds_after_finished: Some(kept_seconds(seconds_left)),
            active_deadline_seconds: Some(seconds_left),
            // A replacement waits until the pod it replaces is gone (LIFE-09).
            pod_replacement_policy: Some("Failed".to_owned()),
            // A drained node is nobody's failure: the pod is made again elsewhere.
            pod_failure_policy: Some(PodFailurePolicy {
                rules: vec![PodFailurePolicyRule {
                    action: "Ignore".to_owned(),
                    on_exit_codes: None,
                    on_pod_conditions: Some(vec![PodFailurePolicyOnPodConditionsPattern {
                        type_: "DisruptionTarget".to_owned(),
                        status: "True".to_owned(),
                    }]),
                }],
            }),
            template,
            ..JobSpec::default()
        }),
        status: None,
    }
}

/// OPS-01: the local runtime's record and identity of a process; no scheduler
/// answers to its name, so no node ever takes it.
fn local_pod(
    spec: &AgentSpec,
    metadata: ObjectMeta,
    template: PodTemplateSpec,
    now: Timestamp,
) -> Pod {
    let mut pod = template.spec.unwrap_or_default();
    pod.scheduler_name = Some(meta::LOCAL_SCHEDULER.to_owned());
    if spec.lifetime() == Lifetime::Ephemeral {
        pod.active_deadline_seconds = Some(seconds_left(spec, now));
    }
    Pod { metadata, spec: Some(pod), status: None }
}

/// Seconds until an ephemeral agent is over.
fn seconds_left(spec: &AgentSpec, now: Timestamp) -> i64 {
    match spec.ttl_at.as_ref() {
        Some(ttl) => deadline(ttl.0.duration_since(now)),
        None => DEFAULT_LIFE_SECONDS,
    }
}

/// Seconds of a time, within what Kubernetes takes of a deadline.
pub fn deadline(time: SignedDuration) -> i64 {
    time.as_secs().clamp(1, i64::from(i32::MAX))
}

/// Seconds a finished Job is kept, when its agent is over in so many: not before the
/// agent is. To an operator that was away meanwhile, a Job that finished and went looks
/// like one that never was.
pub fn kept_seconds(seconds_left: i64) -> i32 {
    i32::try_from(seconds_left).unwrap_or(i32::MAX).max(FINISHED_JOB_SECONDS)
}
