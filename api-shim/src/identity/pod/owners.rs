//! From a pod to its agent, by the UIDs of owner references.

use foundry_crds::Agent;
use k8s_openapi::{
    api::{
        apps::v1::{Deployment, ReplicaSet},
        batch::v1::Job,
        core::v1::Pod,
    },
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};
use kube::ResourceExt;

use crate::{cluster::Cluster, problem::Problem};

/// Follows Pod → ReplicaSet → Deployment → Agent, Pod → Job → Agent or, in the local
/// runtime, Pod → Agent. A step whose UID differs ends the way.
pub async fn agent_of(
    cluster: &Cluster,
    namespace: &str,
    pod: &Pod,
) -> Result<Option<Agent>, Problem> {
    let Some(owner) = controller(pod) else { return Ok(None) };
    let owner = match owner.kind.as_str() {
        "ReplicaSet" => {
            let set: Option<ReplicaSet> = owned(cluster, namespace, owner).await?;
            let Some(owner) = set.as_ref().and_then(controller) else { return Ok(None) };
            let deployment: Option<Deployment> = owned(cluster, namespace, owner).await?;
            deployment.as_ref().and_then(controller).cloned()
        }
        "Job" => {
            let job: Option<Job> = owned(cluster, namespace, owner).await?;
            job.as_ref().and_then(controller).cloned()
        }
        "Agent" => Some(owner.clone()),
        _ => None,
    };
    match owner {
        Some(owner) if owner.kind == "Agent" => owned(cluster, namespace, &owner).await,
        _ => Ok(None),
    }
}

/// The owner that controls this object.
fn controller(object: &impl ResourceExt) -> Option<&OwnerReference> {
    object.owner_references().iter().find(|owner| owner.controller == Some(true))
}

/// The object that an owner reference means: same API group, name and UID.
async fn owned<K>(
    cluster: &Cluster,
    namespace: &str,
    owner: &OwnerReference,
) -> Result<Option<K>, Problem>
where
    K: crate::cluster::Readable,
{
    let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
    if group != K::group(&()) || owner.kind != K::kind(&()) {
        return Ok(None);
    }
    let object: Option<K> = cluster.read(namespace, &owner.name).await?;
    Ok(object.filter(|object| object.meta().uid.as_deref() == Some(&owner.uid)))
}
