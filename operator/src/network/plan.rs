//! What should be done about the policies of a namespace: all rules, no input or output.

use std::collections::BTreeMap;
use std::time::Duration;

use foundry_crds::Agent;
use foundry_crds::rbac::{CODING_POLICY, HARNESS_POLICY};
use k8s_openapi::api::networking::v1::{NetworkPolicy, NetworkPolicySpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource as _;

use super::policies;
use crate::config::NetworkConfig;

/// Watches may miss: look again this often.
const LOOK_AGAIN: Duration = Duration::from_mins(5);
/// How often it is looked whether the last pods have ended, or some are there after all.
const EMPTYING_AGAIN: Duration = Duration::from_secs(10);

/// Most agents that a policy names as its owners.
const MOST_OWNERS: usize = 8;
/// With fewer of them left, it names others too.
pub const FEW_OWNERS: usize = 4;

/// Everything a plan is made from.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The namespace.
    pub namespace: String,
    /// Agents that the policies name as owners, and that are still there.
    pub owners: Vec<OwnerReference>,
    /// Further agents, the oldest first; looked for only where owners are few.
    pub heirs: Vec<OwnerReference>,
    /// Whether a harness pod is there, or a Deployment or Job that may make one.
    pub has_workloads: bool,
    /// Policies that carry the operator's label, the two or not.
    pub present: Vec<NetworkPolicy>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Policies to apply, in this order.
    pub apply: Vec<NetworkPolicy>,
    /// Policies to delete.
    pub remove: Vec<Removal>,
    /// Whether harness pods are fenced once that is done.
    pub is_fenced: bool,
    /// When to look again, whatever the watches say.
    pub look_again: Duration,
}

/// A policy to delete, and only that very one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// Its name.
    pub name: String,
    /// Its UID, as a precondition.
    pub uid: String,
}

/// Decides what to do about the policies of a namespace; `settings` are none where the
/// installation wants no policies.
///
/// They stand as long as an agent is there that they could be for, or what an agent left:
/// its Deployment may make a pod when no operator begins one. The garbage
/// collector takes a policy when the last agent that it names is gone, so it names
/// several: none of those that are left is ever without.
pub fn plan(observed: &Observed, settings: Option<&NetworkConfig>) -> Plan {
    let Observed { namespace, owners, heirs, has_workloads, present } = observed;
    let owners = owners_from_now_on(owners, heirs);
    let wanted = match settings {
        Some(settings) if *has_workloads || !owners.is_empty() => {
            policies::render(namespace, &owners, settings)
        }
        Some(_) | None => Vec::new(),
    };
    // The agent that a workload is made for may go in that moment, and no watch wakes this
    // for the workload.
    let is_left = owners.is_empty() && settings.is_some();
    Plan {
        is_fenced: !wanted.is_empty(),
        remove: present.iter().filter_map(|it| removal(it, &wanted)).collect(),
        apply: wanted.into_iter().filter(|it| !stands(it, present)).collect(),
        look_again: if is_left { EMPTYING_AGAIN } else { LOOK_AGAIN },
    }
}

/// Whoever is named stays named, so that agents come and go without a write; only when
/// few are left do others follow.
fn owners_from_now_on(owners: &[OwnerReference], heirs: &[OwnerReference]) -> Vec<OwnerReference> {
    let room = if owners.len() < FEW_OWNERS { MOST_OWNERS - owners.len() } else { 0 };
    let heirs = heirs.iter().filter(|heir| owners.iter().all(|owner| owner.uid != heir.uid));
    let mut owners: Vec<_> = owners.iter().chain(heirs.take(room)).cloned().collect();
    owners.sort_by(|one, other| one.uid.cmp(&other.uid));
    owners
}

/// One agent as an owner: it controls nothing here, for there are others beside it.
pub fn owner(agent: &ObjectMeta) -> Option<OwnerReference> {
    Some(OwnerReference {
        api_version: Agent::api_version(&()).into_owned(),
        kind: Agent::kind(&()).into_owned(),
        name: agent.name.clone()?,
        uid: agent.uid.clone()?,
        controller: Some(false),
        block_owner_deletion: Some(false),
    })
}

/// A policy under another name is none of ours, whatever label it was copied with.
fn removal(present: &NetworkPolicy, wanted: &[NetworkPolicy]) -> Option<Removal> {
    let ObjectMeta { name, uid, deletion_timestamp, .. } = &present.metadata;
    let name = name.as_deref().filter(|name| [HARNESS_POLICY, CODING_POLICY].contains(name))?;
    let is_wanted = wanted.iter().any(|it| it.metadata.name.as_deref() == Some(name));
    if is_wanted || deletion_timestamp.is_some() {
        return None;
    }
    Some(Removal { name: name.to_owned(), uid: uid.clone()? })
}

/// Whether a policy is there as it is wanted.
fn stands(wanted: &NetworkPolicy, present: &[NetworkPolicy]) -> bool {
    present.iter().filter(|it| it.metadata.name == wanted.metadata.name).any(|present| {
        rules(wanted) == rules(present)
            && has(present.metadata.labels.as_ref(), wanted.metadata.labels.as_ref())
            && has(present.metadata.annotations.as_ref(), wanted.metadata.annotations.as_ref())
            && is_owned(&present.metadata, &wanted.metadata)
    })
}

/// The rules, where an empty list is none: the API server gives back none.
fn rules(policy: &NetworkPolicy) -> NetworkPolicySpec {
    let NetworkPolicySpec { egress, ingress, pod_selector, policy_types } =
        policy.spec.clone().unwrap_or_default();
    NetworkPolicySpec {
        egress: egress.filter(|rules| !rules.is_empty()),
        ingress: ingress.filter(|rules| !rules.is_empty()),
        pod_selector,
        policy_types,
    }
}

fn has(
    present: Option<&BTreeMap<String, String>>,
    wanted: Option<&BTreeMap<String, String>>,
) -> bool {
    wanted.into_iter().flatten().all(|(key, value)| {
        present.and_then(|present| present.get(key)).is_some_and(|it| it == value)
    })
}

/// Whether all wanted owners are named. One that is gone may still be: the garbage
/// collector strikes it out.
fn is_owned(present: &ObjectMeta, wanted: &ObjectMeta) -> bool {
    wanted.owner_references.iter().flatten().all(|wanted| {
        present.owner_references.iter().flatten().any(|present| present.uid == wanted.uid)
    })
}

#[cfg(test)]
mod tests;
