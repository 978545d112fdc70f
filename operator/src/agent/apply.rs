//! Performs a plan and says what the cluster refused.

use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ObjectMeta};

use super::plan::{Make, Observed, Plan, Removal};
use super::workloads;
use crate::apply::{self, Propagation, Version};
use crate::context::Context;
use crate::error::{Error, chain};
use crate::read;
use crate::runtime::WorkloadKind;

/// How often what the cluster refused is tried again: a quota may be freed, a right
/// granted.
const REFUSED_AGAIN: Duration = Duration::from_secs(30);

/// What came of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// All of it was done.
    Done,
    /// The cluster refused, in these words (LIFE-15).
    Refused(String),
    /// It failed again and again, in these words; it is tried again.
    Failing(String),
}

/// So many failures in a row are nobody's business: most are over by then.
const PASSING: u32 = 2;

/// What is told of an error that is tried again; none where it may well be over with the
/// next try.
pub fn failing(context: &Context, uid: &str, error: &Error) -> Option<Applied> {
    let is_ordinary = error.is_conflict() || error.is_not_found();
    (!is_ordinary && context.backoff.count(uid) >= PASSING).then(|| Applied::Failing(chain(error)))
}

impl Applied {
    /// When to look again, where all that was planned is looked at after `planned`.
    pub fn at_most(&self, planned: Duration) -> Duration {
        match self {
            Self::Done | Self::Failing(_) => planned,
            Self::Refused(_) => planned.min(REFUSED_AGAIN),
        }
    }
}

/// Writes intent, where time alone decides it: an agent that is over (LIFE-12).
pub async fn intend(context: &Context, plan: &Plan, version: Version) -> Result<Version, Error> {
    if !plan.expire {
        return Ok(version);
    }
    let version = apply::expire(&context.client, version).await?;
    context.metrics.written("expire", "Agent");
    Ok(version)
}

/// Removes first, makes last: two generations never poll one inbox (LIFE-09).
#[tracing::instrument(target = "foundry_operator::spans", name = "apply", skip_all)]
pub async fn apply(context: &Context, observed: &Observed, plan: &Plan) -> Result<Applied, Error> {
    match perform(context, observed, plan).await {
        Ok(()) => Ok(Applied::Done),
        Err(error) => match error.refusal() {
            Some(words) => Ok(Applied::Refused(words.to_owned())),
            None => Err(error),
        },
    }
}

async fn perform(context: &Context, observed: &Observed, plan: &Plan) -> Result<(), Error> {
    let namespace = &observed.agent.namespace;
    for removal in &plan.remove {
        remove(context, namespace, removal).await?;
        context.metrics.written("delete", removal.kind.as_str());
    }
    let Some(make) = &plan.make else { return Ok(()) };
    if make.begins_a_pod() {
        // The policy stands before the pod that it is for (NET-01).
        let fenced = context.runtime.fence(namespace).await;
        context.metrics.fenced(fenced.as_ref().err());
        fenced?;
    }
    let client = &context.client;
    match make {
        Make::Deployment(deployment) => apply::child(client, &**deployment).await.map(drop)?,
        Make::Job(job) => apply::child(client, &**job).await.map(drop)?,
        Make::Pod(pod) => apply::child(client, &**pod).await.map(drop)?,
        Make::Rescale(name) => rescale(context, namespace, name).await?,
        Make::Deadline(name, seconds) => {
            let kept = workloads::kept_seconds(*seconds);
            apply::job_deadline(client, namespace, name, *seconds, kept).await?;
        }
    }
    context.metrics.written("apply", observed.carrier.as_str());
    Ok(())
}

/// Deletes a workload and waits, by its visible end, for its pods.
async fn remove(context: &Context, namespace: &str, removal: &Removal) -> Result<(), Error> {
    let Removal { kind, name, uid } = removal;
    let client = &context.client;
    match kind {
        WorkloadKind::Deployment => {
            apply::delete::<Deployment>(client, namespace, name, uid, Propagation::Foreground).await
        }
        WorkloadKind::Job => {
            apply::delete::<Job>(client, namespace, name, uid, Propagation::Foreground).await
        }
        WorkloadKind::Pod => {
            apply::delete::<Pod>(client, namespace, name, uid, Propagation::None).await
        }
    }
}

/// Puts replicas back to one with the template as it is: a template rendered anew
/// could differ by a later edit and replace the process (LIFE-16).
async fn rescale(context: &Context, namespace: &str, name: &str) -> Result<(), Error> {
    let api: Api<Deployment> = Api::namespaced(context.client.clone(), namespace);
    let present = read::bounded("Deployment", name, api.get(name)).await?;
    let ObjectMeta { labels, annotations, owner_references, .. } = present.metadata;
    let Some(spec) = present.spec else { return Ok(()) };
    let DeploymentSpec { selector, strategy, revision_history_limit, template, .. } = spec;
    let ours = annotations.map(|annotations| {
        annotations
            .into_iter()
            .filter(|(key, _)| key == foundry_crds::meta::annotation::PROCESS_START)
            .collect()
    });
    let mended = Deployment {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()),
            labels,
            annotations: ours,
            owner_references,
            ..ObjectMeta::default()
        },
        spec: Some(DeploymentSpec {
            replicas: Some(1),
            selector,
            strategy,
            revision_history_limit,
            template,
            ..DeploymentSpec::default()
        }),
        status: None,
    };
    apply::child(&context.client, &mended).await.map(drop)
}
