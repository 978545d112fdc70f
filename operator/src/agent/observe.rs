//! The only reads of a reconcile: caches, all of them whole, and one Secret by name
//! while a pod waits for it.

use foundry_crds::agent::SkillRef;
use foundry_crds::{Agent, AgentSpec, HarnessSpec, meta};
use k8s_openapi::api::core::v1::{Pod, Secret};
use kube::{Api, Resource as _};

use super::AgentId;
use super::plan::grants::{Named, Published};
use super::plan::{Observed, Parent};
use crate::caches::{Caches, Guard};
use crate::context::Context;
use crate::error::{Error, chain};
use crate::read;
use crate::runtime::{Health, Workload, workload};
use crate::slugs::{self, Claim};

/// Reads everything a plan is made from.
#[tracing::instrument(target = "foundry_operator::spans", name = "observe", skip_all)]
pub async fn observe(context: &Context, agent: &Agent) -> Result<Observed, Error> {
    let id = identity(agent)?;
    let caches = context.caches(&id.namespace).await?;
    let (workloads, left_behind) = workloads(caches, &id);
    let harness = caches
        .harnesses
        .get(&id.namespace, &agent.spec.harness)
        .and_then(|harness| harness.0.as_ref().ok().map(|harness| harness.spec.clone()));
    Ok(Observed {
        spec: agent.spec.clone(),
        status: agent.status.clone().unwrap_or_default(),
        missing_secret: missing_secret(context, &id, harness.as_ref(), &workloads).await,
        harness,
        slug_holder: slug_holder(context, agent, &id),
        parent: spawner(caches, &id.namespace, agent.spec.parent.as_deref()),
        draining: left_behind || context.runtime.is_draining(&id.namespace, &id.name, &workloads),
        workloads,
        carrier: context.runtime.carrier(agent.spec.lifetime()),
        people: context.mailboxes.as_ref().map(|mailboxes| mailboxes.heard(&id.uid)),
        named: named(caches, &id.namespace, &agent.spec).await,
        agent: id,
    })
}

fn identity(agent: &Agent) -> Result<AgentId, Error> {
    let name = agent.metadata.name.clone().unwrap_or_default();
    let field = |value: &Option<String>, field| {
        value.clone().ok_or_else(|| Error::Incomplete { kind: "Agent", name: name.clone(), field })
    };
    Ok(AgentId {
        namespace: field(&agent.metadata.namespace, "namespace")?,
        uid: field(&agent.metadata.uid, "uid")?,
        name,
    })
}

/// The agent that has this agent's slug, when it is another one (LIFE-20).
fn slug_holder(context: &Context, agent: &Agent, id: &AgentId) -> Option<String> {
    let slug = slugs::claimed(agent)?;
    let is_current = |claim: &Claim| {
        claim.uid == id.uid
            || context
                .caches
                .get(&claim.namespace)
                .and_then(|caches| caches.agents.get(&claim.namespace, &claim.name))
                .is_some_and(|present| {
                    present.meta().uid.as_deref() == Some(&claim.uid)
                        && present.0.as_ref().ok().and_then(slugs::claimed).as_deref()
                            == Some(&slug)
                })
    };
    let holder = context.slugs.holder(&slug, is_current)?;
    (holder.uid != id.uid).then(|| format!("{}/{}", holder.namespace, holder.name))
}

/// The Secret that a coding pod waits for, when it waits and the Secret is not there. Of
/// this a cluster tells in the events of the pod alone.
async fn missing_secret(
    context: &Context,
    id: &AgentId,
    harness: Option<&HarnessSpec>,
    workloads: &[Workload],
) -> Option<&'static str> {
    let waits = workloads.iter().any(|workload| matches!(workload.health, Health::Waiting(_)));
    if !waits || !harness.is_some_and(HarnessSpec::has_repo_scope) {
        return None;
    }
    let api: Api<Secret> = Api::namespaced(context.client.clone(), &id.namespace);
    let name = meta::SSH_SECRET;
    match read::bounded("Secret", name, api.get_opt(name)).await {
        Ok(found) => found.is_none().then_some(name),
        Err(error) => {
            // The pod waits and says so all the same.
            tracing::debug!(agent = id.name, error = chain(&error), "a Secret was not looked for");
            None
        }
    }
}

/// What there is of the skills and tool servers that a spec names. Nobody else waits for
/// the lists of these.
async fn named(caches: &Caches, namespace: &str, spec: &AgentSpec) -> Named {
    let mut named = Named::default();
    if !spec.skills.is_empty() && caches.skills.is_whole_soon().await {
        let published = |skill: &SkillRef| {
            let found = caches.skills.get(namespace, &skill.name);
            let found = found.as_ref().and_then(|skill| skill.0.as_ref().ok());
            (skill.name.clone(), found.map(Published::of))
        };
        named.skills = Some(spec.skills.iter().map(published).collect());
    }
    if !spec.tool_servers.is_empty() && caches.tool_servers.is_whole_soon().await {
        let is_missing = |server: &&String| caches.tool_servers.get(namespace, server).is_none();
        named.missing_servers = spec.tool_servers.iter().filter(is_missing).cloned().collect();
    }
    named
}

/// What is known of the agent that spawned another, or a run.
pub fn spawner(caches: &Caches, namespace: &str, name: Option<&str>) -> Parent {
    let Some(name) = name else { return Parent::None };
    match caches.agents.get(namespace, name).as_deref() {
        Some(Guard { 0: Ok(parent) }) => Parent::OwnedBy(parent.spec.owner.clone()),
        Some(_) | None => Parent::Missing(name.to_owned()),
    }
}

/// Every object that carries a harness under this agent's name, and whether a pod lives
/// that none of them carries any more.
///
/// What an earlier agent of this name left is seen too: while it lives, its process
/// polls the same inbox.
fn workloads(caches: &Caches, id: &AgentId) -> (Vec<Workload>, bool) {
    let AgentId { namespace, name, uid } = id;
    let pods = caches.pods.of(namespace, name);
    let pods: Vec<_> = pods.iter().filter_map(|pod| pod.0.as_ref().ok()).collect();
    let deployments = caches.deployments.of(namespace, name);
    let deployments: Vec<_> =
        deployments.iter().filter_map(|deployment| deployment.0.as_ref().ok()).collect();
    let jobs = caches.jobs.of(namespace, name);
    let jobs: Vec<_> = jobs.iter().filter_map(|job| job.0.as_ref().ok()).collect();
    let is_bare = |pod: &&&Pod| {
        workload::controller(&pod.metadata).is_some_and(|owner| owner.kind == Agent::kind(&()))
    };
    let left_behind = workload::is_left_behind(&pods, &deployments, &jobs);
    let of_deployments = deployments.iter().map(|it| Workload::from_deployment(it, &pods, uid));
    let of_jobs = jobs.iter().map(|it| Workload::from_job(it, &pods, uid));
    let of_pods = pods.iter().filter(is_bare).map(|pod| Workload::from_pod(pod, uid));
    (of_deployments.chain(of_jobs).chain(of_pods).collect(), left_behind)
}
