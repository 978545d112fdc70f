//! Coding runs: how one is spawned, what its harness reports of it, and how it is
//! shown.

pub mod closer;
pub mod draft;
pub mod reported;
pub mod start;
pub mod view;

use foundry_crds::{Agent, CodingRun, meta};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;

/// The coding run that this agent was made for, if it was made for one.
pub fn run_of(agent: &Agent) -> Option<&OwnerReference> {
    let kind = CodingRun::kind(&());
    let group = |reference: &OwnerReference| {
        reference.api_version.split('/').next().is_some_and(|group| group == meta::GROUP)
    };
    let references = agent.metadata.owner_references.as_deref().unwrap_or_default();
    references.iter().find(|reference| reference.kind == kind && group(reference))
}

/// Whether this agent is that run's own, and no other of the run's name.
pub fn owns(run: &CodingRun, agent: &Agent) -> bool {
    run_of(agent).is_some_and(|owner| Some(&owner.uid) == run.metadata.uid.as_ref())
}
