//! An Agent resource, and its rows, as one [`AgentView`].

use foundry_client as wire;
use foundry_crds::{
    Agent,
    agent::{Activation, AgentState, DesiredState, Lifecycle, Lifetime, SkillRef},
    condition,
};
use foundry_store::Beat;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;

use super::repository;

/// What the rows know better than the resource's status, which follows them slowly.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The latest heartbeat.
    pub beat: Option<Beat>,
    /// Document of the newest plan (ROUTE-03).
    pub plan_document_id: Option<String>,
}

/// The agent as the API shows it.
pub fn of(agent: &Agent, rows: Rows) -> wire::AgentView {
    let id = agent.name_any();
    let spec = &agent.spec;
    let status = agent.status.clone().unwrap_or_default();
    let slug = slug_of(agent);
    let standing = standing(agent);
    let last_heartbeat =
        rows.beat.map(|beat| beat.at).or(status.last_heartbeat.as_ref().map(|time| time.0));
    let context_percent =
        rows.beat.and_then(|beat| beat.context_percent).or(status.context_percent);
    wire::AgentView {
        namespace: agent.namespace().unwrap_or_default(),
        name: spec.display_name.clone().unwrap_or_else(|| slug.clone()),
        slug,
        owner: spec.owner.clone(),
        harness_id: spec.harness.clone(),
        lifetime: match spec.lifetime() {
            Lifetime::Persistent => wire::Lifetime::Persistent,
            Lifetime::Ephemeral => wire::Lifetime::Ephemeral,
        },
        activation: match spec.activation() {
            Activation::AlwaysOn => wire::Activation::AlwaysOn,
            Activation::OnDemand => wire::Activation::OnDemand,
        },
        status: match spec.lifecycle() {
            Lifecycle::Active => wire::Status::Active,
            Lifecycle::Expired => wire::Status::Expired,
            Lifecycle::Archive => wire::Status::Archive,
        },
        desired_state: match spec.desired_state() {
            DesiredState::Running => wire::DesiredState::Running,
            DesiredState::Completed => wire::DesiredState::Completed,
            DesiredState::Stopped => wire::DesiredState::Stopped,
        },
        generation: status.start_number.unwrap_or(0),
        process_generation: status.last_start.as_ref().map_or(0, |start| start.number),
        state: standing.state,
        reason: standing.reason,
        message: standing.message,
        instructions: spec.instructions.clone().unwrap_or_default(),
        model: spec.model().to_owned(),
        memory_model: spec.memory_model.clone().unwrap_or_else(|| "auto".to_owned()),
        max_turns: spec.max_turns(),
        tools: spec.tools.clone(),
        skills: spec.skills.iter().map(skill).collect(),
        tool_servers: spec.tool_servers.clone(),
        repository: repository::of_agent(spec),
        parent_agent_id: spec.parent.clone(),
        swarm_id: spec.swarm.clone(),
        ttl_at: spec.ttl_at.as_ref().map(|time| time.0),
        mailbox: status.mailbox,
        plan_document_id: rows.plan_document_id.or(status.plan_document_id),
        last_heartbeat,
        context_percent,
        created_at: agent.creation_timestamp().map(|time| time.0).unwrap_or_default(),
        resource_version: agent.resource_version().unwrap_or_default(),
        id,
    }
}

/// The agent's name in addresses: its own, or the resource's.
pub fn slug_of(agent: &Agent) -> String {
    agent.spec.slug.clone().unwrap_or_else(|| agent.name_any())
}

fn skill(skill: &SkillRef) -> wire::SkillRef {
    let SkillRef { name, version } = skill;
    wire::SkillRef { name: name.clone(), version: *version }
}

/// What truly is, and why.
struct Standing {
    state: wire::AgentState,
    reason: Option<String>,
    message: Option<String>,
}

fn standing(agent: &Agent) -> Standing {
    let status = agent.status.as_ref();
    let asked = agent.spec.starts.unwrap_or(0);
    let acted = status.and_then(|status| status.observed_starts).unwrap_or(0);
    let seen = status.and_then(|status| status.state);
    let runs = agent.spec.lifecycle() == Lifecycle::Active
        && agent.spec.desired_state() == DesiredState::Running
        && agent.spec.activation() == Activation::AlwaysOn;
    let unseen_start = runs && (asked > acted || matches!(seen, None | Some(AgentState::Stopped)));
    if unseen_start {
        // UI-04: what nobody has started yet is never shown as running.
        let told = conditions(agent).iter().find(|c| c.type_ == condition::kind::READY);
        let told = told.filter(|c| asked <= acted && c.status == "False");
        return Standing {
            state: wire::AgentState::Pending,
            reason: Some(told.map_or(condition::reason::PENDING.to_owned(), |c| c.reason.clone())),
            message: Some(told.map_or("the operator has not acted on this yet".to_owned(), |c| {
                c.message.clone()
            })),
        };
    }
    let state = match seen {
        Some(AgentState::Running) => wire::AgentState::Running,
        Some(AgentState::Pending) => wire::AgentState::Pending,
        Some(AgentState::Stopped) => wire::AgentState::Stopped,
        Some(AgentState::OnDemand) => wire::AgentState::OnDemand,
        Some(AgentState::Expired) => wire::AgentState::Expired,
        Some(AgentState::Archived) => wire::AgentState::Archived,
        None => unseen(agent),
    };
    let ready = conditions(agent).iter().find(|c| c.type_ == condition::kind::READY);
    Standing {
        state,
        reason: ready.map(|ready| ready.reason.clone()),
        message: ready.map(|ready| ready.message.clone()),
    }
}

/// The state of an agent that the operator has never looked at: nothing runs.
fn unseen(agent: &Agent) -> wire::AgentState {
    match (agent.spec.lifecycle(), agent.spec.activation()) {
        (Lifecycle::Archive, _) => wire::AgentState::Archived,
        (Lifecycle::Expired, _) => wire::AgentState::Expired,
        (Lifecycle::Active, Activation::OnDemand) => wire::AgentState::OnDemand,
        (Lifecycle::Active, Activation::AlwaysOn) => wire::AgentState::Stopped,
    }
}

fn conditions(agent: &Agent) -> &[Condition] {
    agent.status.as_ref().map_or(&[], |status| &status.conditions)
}

#[cfg(test)]
mod tests;
