//! What the API knows of agents: how they are shown, what makes a request for one
//! valid, and how they are moved through their life.

pub mod draft;
pub mod repository;
pub mod slugs;
pub mod verbs;
pub mod view;

use foundry_crds::{
    Agent, AgentSpec, Harness,
    agent::{Lifecycle, Lifetime},
};

/// Whether an agent has this tool: by a grant of its own, or because its harness grants
/// it to everyone.
pub fn is_granted(spec: &AgentSpec, harness: Option<&Harness>, tool: &str) -> bool {
    let has = |tools: &[String]| tools.iter().any(|name| name == tool);
    has(&spec.tools) || harness.is_some_and(|harness| has(&harness.spec.always_granted))
}

/// Whether an ephemeral agent is over: expired, archived, or ended by itself. One that is
/// only stopped is not, for a start goes on with it.
pub fn is_over(agent: &Agent) -> bool {
    let in_use = agent.spec.lifecycle() == Lifecycle::Active;
    agent.spec.lifetime() == Lifetime::Ephemeral && (!in_use || has_ended(agent))
}

/// Whether the newest process of an ephemeral agent has ended by itself: its Job is
/// never made again, so only another start begins anew.
pub fn has_ended(agent: &Agent) -> bool {
    let Some(status) = &agent.status else { return false };
    let newest = status.last_start.as_ref().map(|start| start.number);
    agent.spec.lifetime() == Lifetime::Ephemeral
        && newest.is_some()
        && status.finished_start == newest
}
