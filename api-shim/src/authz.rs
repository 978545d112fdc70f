//! Whether the caller may: the Cedar policies decide first, the agent's own roles
//! second; both must allow, and any failure is a refusal (AUTHZ-03).

mod action;
mod audit;
mod policy;
mod role;

use foundry_crds::Agent;

pub use self::{
    action::{Action, Scope},
    audit::TARGET as AUDIT_TARGET,
    policy::{Policies, PolicyError},
    role::Role,
};
use crate::{
    cluster::Cluster,
    identity::{Actor, Principal},
    metrics::Metrics,
    problem::Problem,
};

/// Longest chain of parents that is followed; deeper ones are refused.
const MAX_DEPTH: usize = 16;

/// Decides requests, and leaves one audit record for each decision.
pub struct Authorizer {
    policies: Policies,
    metrics: Metrics,
}

/// An agent with the agents that it descends from, nearest first.
pub struct Lineage {
    /// Its ancestors' names, parent first.
    pub ancestors: Vec<String>,
    /// The agent at the top, which holds the roles (AUTHZ-02).
    pub top: Agent,
}

/// Where parents are looked up.
#[derive(Clone, Copy)]
enum Parents {
    /// In the cache alone.
    Cached,
    /// In the cache, and where it has none, at the API server.
    Read,
}

/// One decision, as the audit record tells it.
#[derive(Debug)]
pub struct Decision {
    /// Whether the request goes on.
    pub allowed: bool,
    /// What decided: the policies by id, or the role.
    pub because: String,
}

impl Authorizer {
    /// Reads and validates the policies.
    pub fn new(metrics: Metrics) -> Result<Self, PolicyError> {
        Ok(Self { policies: Policies::embedded()?, metrics })
    }

    /// Decides an action on the caller's workspace.
    pub fn authorize_workspace(&self, caller: &Principal, action: Action) -> Result<(), Problem> {
        let decision = self.policies.decide_workspace(caller, action);
        self.conclude(caller, action, &caller.workspace, &decision)
    }

    /// Decides an action on an agent of the caller's workspace.
    pub async fn authorize_agent(
        &self,
        cluster: &Cluster,
        caller: &Principal,
        action: Action,
        id: &str,
        agent: &Agent,
    ) -> Result<(), Problem> {
        let decision = match lineage(cluster, Parents::Read, &caller.workspace, agent).await {
            Ok(lineage) => self.decide_agent(caller, action, id, &lineage),
            Err(because) => Decision { allowed: false, because },
        };
        self.conclude(caller, action, id, &decision)
    }

    /// Whether the caller would be allowed; for lists, which are one decision in all. As
    /// the list itself, parents come from the cache alone: a thousand children of a
    /// deleted agent must not cost a thousand reads of the API server.
    pub async fn may_see(&self, cluster: &Cluster, caller: &Principal, agent: &Agent) -> bool {
        let Some(id) = agent.metadata.name.as_deref() else { return false };
        match lineage(cluster, Parents::Cached, &caller.workspace, agent).await {
            Ok(lineage) => self.decide_agent(caller, Action::ReadAgent, id, &lineage).allowed,
            Err(_) => false,
        }
    }

    fn decide_agent(
        &self,
        caller: &Principal,
        action: Action,
        id: &str,
        lineage: &Lineage,
    ) -> Decision {
        let decision = self.policies.decide_agent(caller, action, id, &lineage.ancestors);
        if !decision.allowed {
            return decision;
        }
        match Role::of(caller, &lineage.top.spec) {
            Some(role) if role.may(action) => decision,
            Some(role) => Decision { allowed: false, because: format!("role {role}") },
            None => Decision { allowed: false, because: "no role on this agent".to_owned() },
        }
    }

    fn conclude(
        &self,
        caller: &Principal,
        action: Action,
        resource: &str,
        decision: &Decision,
    ) -> Result<(), Problem> {
        audit::record(caller, action, resource, decision);
        self.metrics.decided(action, decision.allowed);
        if decision.allowed {
            return Ok(());
        }
        Err(Problem::forbidden(
            "NotAllowed",
            format!("{caller} may not {action} on {resource:?}: {}", decision.because),
        )
        .remedy(remedy(caller)))
    }
}

fn remedy(caller: &Principal) -> &'static str {
    match &caller.actor {
        Actor::Person { .. } if caller.roles.is_empty() => {
            "the token names no role; have its issuer list viewer, member or admin"
        }
        Actor::Person { .. } => {
            "ask the agent's owner for a role on it, or an administrator for another role"
        }
        Actor::Agent { .. } => "a pod may only speak for its own agent and what that spawned",
        Actor::Service { .. } => "name the agent to act for in X-Flow-Agent-Id",
    }
}

/// Follows `spec.parent` to the top. A loop, a gap or too long a chain has no top, and
/// so nobody has a role.
async fn lineage(
    cluster: &Cluster,
    parents: Parents,
    workspace: &str,
    agent: &Agent,
) -> Result<Lineage, String> {
    let mut ancestors = Vec::new();
    let mut top = agent.clone();
    while let Some(parent) = top.spec.parent.clone() {
        if ancestors.len() == MAX_DEPTH || ancestors.contains(&parent) {
            return Err("the chain of parents has no end".to_owned());
        }
        let found = match parents {
            Parents::Cached => cluster.agents.get(workspace, &parent),
            Parents::Read => cluster.find_agent(workspace, &parent).await.ok(),
        };
        top = found.ok_or_else(|| format!("parent {parent:?} cannot be read"))?;
        ancestors.push(parent);
    }
    Ok(Lineage { ancestors, top })
}

#[cfg(test)]
mod tests;
