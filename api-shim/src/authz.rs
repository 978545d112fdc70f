//! Whether the caller may: the Cedar policies decide first, the agent's own roles
//! second; both must allow, and any failure is a refusal (AUTHZ-03).

mod action;
mod audit;
mod policy;
mod role;

use foundry_crds::{Agent, AgentSpec, CodingRun, agent::Lifetime};

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

/// An agent or a run with the agents that it descends from, nearest first.
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

    /// The persistent agent at the top of this agent's parents; none for a persistent
    /// agent itself, and for one that a person's run made (LIFE-18).
    pub async fn persistent_above(
        &self,
        cluster: &Cluster,
        workspace: &str,
        agent: &Agent,
    ) -> Option<Agent> {
        let lineage = lineage(cluster, Parents::Read, workspace, agent).await.ok()?;
        let is_above = !lineage.ancestors.is_empty();
        let persists = lineage.top.spec.lifetime() == Lifetime::Persistent;
        Some(lineage.top).filter(|_| is_above && persists)
    }

    /// Decides to read a coding run of the caller's workspace.
    pub async fn authorize_run(
        &self,
        cluster: &Cluster,
        caller: &Principal,
        id: &str,
        run: &CodingRun,
    ) -> Result<(), Problem> {
        let decision = self.decide_run(cluster, Parents::Read, caller, id, run).await;
        self.conclude(caller, Action::ReadCodingRun, id, &decision)
    }

    /// Whether the caller may read a run; for lists, as [`Authorizer::may_see`].
    pub async fn may_see_run(
        &self,
        cluster: &Cluster,
        caller: &Principal,
        run: &CodingRun,
    ) -> bool {
        let Some(id) = run.metadata.name.as_deref() else { return false };
        self.decide_run(cluster, Parents::Cached, caller, id, run).await.allowed
    }

    async fn decide_run(
        &self,
        cluster: &Cluster,
        parents: Parents,
        caller: &Principal,
        id: &str,
        run: &CodingRun,
    ) -> Decision {
        let lineage = match run_lineage(cluster, parents, &caller.workspace, run).await {
            Ok(lineage) => lineage,
            Err(because) => return Decision { allowed: false, because },
        };
        let action = Action::ReadCodingRun;
        let decision = self.policies.decide_run(caller, action, id, &lineage.ancestors);
        second(decision, caller, action, &lineage)
    }

    fn decide_agent(
        &self,
        caller: &Principal,
        action: Action,
        id: &str,
        lineage: &Lineage,
    ) -> Decision {
        let decision = self.policies.decide_agent(caller, action, id, &lineage.ancestors);
        second(decision, caller, action, lineage)
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

/// The role on the resource decides second, and only where the policies allow.
fn second(first: Decision, caller: &Principal, action: Action, lineage: &Lineage) -> Decision {
    if !first.allowed {
        return first;
    }
    match Role::of(caller, &lineage.top.spec) {
        Some(role) if role.may(action) => first,
        Some(role) => Decision { allowed: false, because: format!("role {role}") },
        None => Decision { allowed: false, because: "no role on this agent".to_owned() },
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
    climb(cluster, parents, workspace, agent.clone()).await
}

/// A run's roles are those of the line of agents that spawned it; of a run that none
/// spawned its owner alone has one.
async fn run_lineage(
    cluster: &Cluster,
    parents: Parents,
    workspace: &str,
    run: &CodingRun,
) -> Result<Lineage, String> {
    let owner = run.spec.owner.clone();
    let spawner = run.spec.agent.clone();
    let spec = AgentSpec { owner, parent: spawner, ..AgentSpec::default() };
    let stand_in = Agent::new(run.metadata.name.as_deref().unwrap_or_default(), spec);
    climb(cluster, parents, workspace, stand_in).await
}

async fn climb(
    cluster: &Cluster,
    parents: Parents,
    workspace: &str,
    mut top: Agent,
) -> Result<Lineage, String> {
    let mut ancestors = Vec::new();
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
