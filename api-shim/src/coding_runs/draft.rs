//! The CodingRun that an agent spawns (ROUTE-14); its one agent is the operator's to
//! make.

use foundry_client::SpawnCodingAgent;
use foundry_crds::{
    Agent, CodingRun, CodingRunSpec, Harness,
    agent::{Activation, Lifecycle, Lifetime},
    coding_run::{DEFAULT_HARNESS, Repository},
    names::MAX_AGENT_NAME,
};
use kube::{ResourceExt, api::ObjectMeta};

use crate::{problem::Problem, spawned};

/// Catalog tool that lets an agent spawn coding agents.
pub const SPAWN: &str = "spawn_coding_agent";
/// Longest task, in characters, as admission lets it in.
const MAX_TASK: usize = 65_536;
/// Longest idempotency key.
const MAX_KEY: usize = 200;

/// The harness that a request means.
pub fn harness_id(request: &SpawnCodingAgent) -> &str {
    request.harness_id.as_deref().unwrap_or(DEFAULT_HARNESS)
}

/// Whether this agent's own process may spawn: always on, and granted (CODE-37). An
/// ephemeral agent is not always on: one whose plan a person approves must not have the
/// work done by a run that approves its own (CODE-31).
pub fn check_grant(spawner: &Agent, own: Option<&Harness>) -> Result<(), Problem> {
    let granted = crate::agents::is_granted(&spawner.spec, own, SPAWN);
    let always_on = spawner.spec.lifetime() == Lifetime::Persistent
        && spawner.spec.activation() == Activation::AlwaysOn;
    if granted && always_on {
        return Ok(());
    }
    let detail =
        format!("only an always-on agent that is granted {SPAWN} may spawn a coding agent");
    Err(Problem::forbidden("NotGranted", detail)
        .remedy(format!("have somebody who may edit the agent grant it {SPAWN}")))
}

/// The run that a valid request asks for. `replay` tells this request from the agent's
/// others: the same one again gives the same name.
pub fn create(
    request: &SpawnCodingAgent,
    spawner: &Agent,
    harness: &Harness,
    replay: &str,
) -> Result<CodingRun, Problem> {
    let SpawnCodingAgent { task, remote, base_ref, harness_id: _, idempotency_key } = request;
    if spawner.spec.lifecycle() != Lifecycle::Active {
        let detail = format!("agent {:?} is not in use and spawns nothing", spawner.name_any());
        return Err(Problem::conflict("NotActive", detail));
    }
    if !harness.spec.has_repo_scope() {
        // ROUTE-15
        let detail = "the harness works on no repository: it lacks the feature repo_scope";
        return Err(Problem::invalid("harness_id", "NoRepositoryScope", detail)
            .remedy("name a harness with that feature, or leave harness_id away"));
    }
    if task.trim().is_empty() {
        return Err(Problem::invalid("task", "Empty", "task is empty"));
    }
    if task.chars().count() > MAX_TASK {
        let detail = format!("task is longer than {MAX_TASK} characters");
        return Err(Problem::invalid("task", "TooLong", detail));
    }
    let key = idempotency_key.as_deref();
    if key.is_some_and(|key| key.is_empty() || key.len() > MAX_KEY) {
        let detail = format!("idempotency_key is empty or longer than {MAX_KEY} bytes");
        return Err(Problem::invalid("idempotency_key", "NotAKey", detail));
    }
    let metadata = ObjectMeta {
        name: Some(spawned::name(spawner, replay, MAX_AGENT_NAME)),
        namespace: spawner.namespace(),
        ..ObjectMeta::default()
    };
    let spec = CodingRunSpec {
        // AUTHZ-01: it acts as its spawner acts.
        owner: spawner.spec.owner.clone(),
        agent: Some(spawner.name_any()),
        harness: Some(harness.name_any()),
        task: task.clone(),
        repository: Repository {
            remote: remote.clone(),
            base_ref: base_ref.clone(),
            ..Repository::default()
        },
        approval: None,
        model: None,
        limits: None,
        budget: None,
    };
    Ok(CodingRun { metadata, spec, status: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CODE-31, CODE-37
    #[test]
    fn only_a_persistent_always_on_agent_that_is_granted_it_spawns() {
        let tools = vec![SPAWN.to_owned()];
        let always_granted = vec![SPAWN.to_owned()];
        let spec = foundry_crds::HarnessSpec { always_granted, ..Default::default() };
        let harness = Harness::new("coding-v1", spec);
        let persistent = foundry_crds::AgentSpec { tools, ..Default::default() };
        let on_demand = Some(Activation::OnDemand);
        let on_demand = foundry_crds::AgentSpec { activation: on_demand, ..persistent.clone() };
        let ephemeral = Some(Lifetime::Ephemeral);
        let ephemeral = foundry_crds::AgentSpec { lifetime: ephemeral, ..persistent.clone() };
        let bare = foundry_crds::AgentSpec::default();
        let may = |spec: &foundry_crds::AgentSpec, own| {
            check_grant(&Agent::new("lead", spec.clone()), own).is_ok()
        };
        assert!(may(&persistent, None), "by a grant of its own");
        assert!(may(&bare, Some(&harness)), "by its harness");
        assert!(!may(&bare, None), "not granted");
        assert!(!may(&on_demand, Some(&harness)), "on demand");
        assert!(!may(&ephemeral, Some(&harness)), "ephemeral");
    }
}
