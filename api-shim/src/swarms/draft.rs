//! The Swarm that an agent starts. Its members are the operator's to make.

use std::collections::{BTreeMap, BTreeSet};

use foundry_client::{SpawnMember, SpawnSwarm};
use foundry_crds::{
    Agent, Harness, Model, Swarm, SwarmSpec,
    agent::{Lifecycle, Lifetime, SkillRef},
    names::MAX_AGENT_NAME,
    swarm::{SwarmMember, member_agent},
};
use kube::{ResourceExt, api::ObjectMeta};

use crate::{
    agents::{
        draft::{check_label, check_model, check_skills, check_tool_servers, check_tools},
        is_granted,
    },
    coding_runs::draft::SPAWN as SPAWN_CODING_AGENT,
    problem::Problem,
    spawned,
};

/// Catalog tool that lets an agent start swarms.
pub const SPAWN: &str = "spawn_swarm";
/// Harness of a member that names none.
pub const DEFAULT_HARNESS: &str = "agent-v1";
/// Most members of a swarm, as admission lets it in.
pub const MAX_MEMBERS: usize = 20;
/// Seconds that members may live, as admission lets it in.
const SECONDS: std::ops::RangeInclusive<u64> = 60..=86_400;
/// Longest goal and instructions, in characters, as admission lets them in.
const MAX_GOAL: usize = 16_384;
const MAX_INSTRUCTIONS: usize = 32_768;
/// Longest idempotency key.
const MAX_KEY: usize = 200;

/// What is looked up of the workspace to check a request.
pub struct Workspace {
    /// The harnesses that members name, by name.
    pub harnesses: BTreeMap<String, Harness>,
    /// Its models.
    pub models: Vec<Model>,
    /// Names of its tool servers.
    pub tool_servers: Vec<String>,
}

/// Who starts the swarm.
#[derive(Clone, Copy)]
pub enum Asking<'a> {
    /// Somebody who may edit the agent, and so could give it whatever its members get.
    Editor,
    /// The agent's own process, on this harness.
    Itself(Option<&'a Harness>),
}

/// The harness that a member means.
pub fn harness_id(member: &SpawnMember) -> &str {
    member.harness_id.as_deref().unwrap_or(DEFAULT_HARNESS)
}

/// The swarm that a valid request asks for. `replay` tells this request from the agent's
/// others: the same one again gives the same name.
pub fn create(
    request: &SpawnSwarm,
    parent: &Agent,
    asking: Asking<'_>,
    workspace: &Workspace,
    replay: &str,
) -> Result<Swarm, Problem> {
    check_parent(parent, asking)?;
    check_request(request)?;
    let SpawnSwarm { goal, members, ttl_seconds, id, idempotency_key: _ } = request;
    let mut drawn = Vec::with_capacity(members.len());
    for (index, member) in members.iter().enumerate() {
        let within = |problem: Problem| {
            let field = problem.document().field.unwrap_or_default();
            problem.field(format!("members[{index}].{field}"))
        };
        check_member(member, workspace).map_err(within)?;
        check_handed_on(member, parent, asking, workspace).map_err(within)?;
        drawn.push(draw(member));
    }
    let metadata = ObjectMeta {
        name: Some(name(id.as_deref(), members, parent, replay)?),
        namespace: parent.namespace(),
        ..ObjectMeta::default()
    };
    let spec = SwarmSpec {
        // AUTHZ-01: its members act as the agent that starts it acts.
        owner: parent.spec.owner.clone(),
        parent: parent.name_any(),
        goal: goal.clone(),
        members: drawn,
        ttl: ttl_seconds.map(|seconds| format!("{seconds}s")),
        dismissed: None,
    };
    Ok(Swarm { metadata, spec, status: None })
}

/// A swarm has an agent above it that outlives it, for that one ends it (LIFE-19); and
/// members that could start swarms of their own would have no end.
fn check_parent(parent: &Agent, asking: Asking<'_>) -> Result<(), Problem> {
    let id = parent.name_any();
    if let Asking::Itself(harness) = asking
        && !is_granted(&parent.spec, harness, SPAWN)
    {
        let detail = format!("agent {id:?} is not granted {SPAWN}");
        return Err(Problem::forbidden("NotGranted", detail)
            .remedy(format!("have somebody who may edit the agent grant it {SPAWN}")));
    }
    if parent.spec.lifetime() != Lifetime::Persistent {
        let detail = format!("agent {id:?} is ephemeral and starts no swarm");
        return Err(Problem::conflict("NotPersistent", detail)
            .remedy("start the swarm for the persistent agent above it"));
    }
    if parent.spec.lifecycle() != Lifecycle::Active {
        let detail = format!("agent {id:?} is not in use and starts no swarm");
        return Err(Problem::conflict("NotActive", detail));
    }
    Ok(())
}

fn check_request(request: &SpawnSwarm) -> Result<(), Problem> {
    check_text("goal", &request.goal, MAX_GOAL)?;
    if request.members.is_empty() || request.members.len() > MAX_MEMBERS {
        let detail = format!("a swarm has from 1 to {MAX_MEMBERS} members");
        return Err(Problem::invalid("members", "OutOfRange", detail));
    }
    let mut names = BTreeSet::new();
    if let Some(index) = request.members.iter().position(|member| !names.insert(&member.name)) {
        let detail = "another member has this name";
        return Err(Problem::invalid(&format!("members[{index}].name"), "NameTaken", detail));
    }
    if request.ttl_seconds.is_some_and(|seconds| !SECONDS.contains(&seconds)) {
        let (least, most) = (SECONDS.start(), SECONDS.end());
        let detail = format!("ttl_seconds is not within {least} and {most}");
        return Err(Problem::invalid("ttl_seconds", "OutOfRange", detail));
    }
    let key = request.idempotency_key.as_deref();
    if key.is_some_and(|key| key.is_empty() || key.len() > MAX_KEY) {
        let detail = format!("idempotency_key is empty or longer than {MAX_KEY} bytes");
        return Err(Problem::invalid("idempotency_key", "NotAKey", detail));
    }
    Ok(())
}

/// What holds for a member whoever asks for it (TOOLS-02, TOOLS-05).
fn check_member(member: &SpawnMember, workspace: &Workspace) -> Result<(), Problem> {
    let harness_id = harness_id(member);
    let harness = workspace
        .harnesses
        .get(harness_id)
        .ok_or_else(|| Problem::not_found("harness", harness_id).field("harness_id"))?;
    check_label("name", &member.name)?;
    check_text("instructions", &member.instructions, MAX_INSTRUCTIONS)?;
    check_tools(&member.tools, harness)?;
    check_skills(&member.skills, harness)?;
    check_model("model", member.model.as_deref(), &workspace.models)?;
    check_tool_servers(&member.tool_servers, &workspace.tool_servers)?;
    Ok(())
}

/// An agent hands on only what it has: a swarm must not be a way to tools, servers and Git
/// keys that nobody gave its parent.
fn check_handed_on(
    member: &SpawnMember,
    parent: &Agent,
    asking: Asking<'_>,
    workspace: &Workspace,
) -> Result<(), Problem> {
    let own = match asking {
        Asking::Editor => return Ok(()),
        Asking::Itself(own) => own,
    };
    let refused = |field: &str, what: String| {
        let detail = format!("agent {:?} does not have {what} itself", parent.name_any());
        Err(Problem::forbidden("NotGranted", detail)
            .field(field)
            .remedy("leave it out, or have somebody who may edit the agent give it that"))
    };
    let harness = workspace.harnesses.get(harness_id(member));
    let has = |tool: &str| is_granted(&parent.spec, own, tool);
    if let Some(tool) = member.tools.iter().find(|tool| !has(tool)) {
        return refused("tools", format!("tool {tool:?}"));
    }
    let always = harness.iter().flat_map(|harness| &harness.spec.always_granted);
    if let Some(tool) = always.into_iter().find(|tool| !has(tool)) {
        return refused("harness_id", format!("tool {tool:?}, which that harness always grants,"));
    }
    let skills = |name: &str| parent.spec.skills.iter().any(|skill| skill.name == name);
    if let Some(skill) = member.skills.iter().find(|skill| !skills(&skill.name)) {
        return refused("skills", format!("skill {:?}", skill.name));
    }
    let servers = &parent.spec.tool_servers;
    if let Some(server) = member.tool_servers.iter().find(|name| !servers.contains(name)) {
        return refused("tool_servers", format!("tool server {server:?}"));
    }
    // Its pods have keys for Git.
    if harness.is_some_and(|h| h.spec.has_repo_scope()) && !has(SPAWN_CODING_AGENT) {
        return refused("harness_id", format!("tool {SPAWN_CODING_AGENT:?}"));
    }
    Ok(())
}

fn check_text(field: &str, text: &str, longest: usize) -> Result<(), Problem> {
    if text.trim().is_empty() {
        return Err(Problem::invalid(field, "Empty", format!("{field} is empty")));
    }
    if text.chars().count() > longest {
        let detail = format!("{field} is longer than {longest} characters");
        return Err(Problem::invalid(field, "TooLong", detail));
    }
    Ok(())
}

fn draw(member: &SpawnMember) -> SwarmMember {
    let SpawnMember { name, instructions, harness_id: _, model, tools, skills, tool_servers } =
        member.clone();
    SwarmMember {
        name,
        harness: harness_id(member).to_owned(),
        instructions,
        model,
        tools,
        skills: skills
            .into_iter()
            .map(|skill| SkillRef { name: skill.name, version: skill.version })
            .collect(),
        tool_servers,
    }
}

/// The name that is asked for, or one of the parent's, with which each member's agent has a
/// name that fits.
fn name(
    id: Option<&str>,
    members: &[SpawnMember],
    parent: &Agent,
    replay: &str,
) -> Result<String, Problem> {
    let longest = members.iter().map(|member| member.name.len()).max().unwrap_or_default();
    // What a member's name and the dash before it leave.
    let room = MAX_AGENT_NAME.saturating_sub(longest + 1);
    let name = match id {
        Some(id) => {
            check_label("id", id)?;
            id.to_owned()
        }
        None => spawned::name(parent, replay, room.max(spawned::SUFFIX)),
    };
    if name.len() > room {
        let detail = format!(
            "a member's agent is named {{swarm}}-{{member}}, and that is longer than {MAX_AGENT_NAME} \
             characters: the longest member's name leaves {room} for the swarm's"
        );
        let field = if id.is_some() { "id" } else { "members" };
        return Err(Problem::invalid(field, "TooLong", detail).remedy("shorten one of the two"));
    }
    let takes = |member: &SpawnMember| member_agent(&name, &member.name) == parent.name_any();
    if members.iter().any(takes) {
        let detail = "a member's agent would have the name of the agent that starts the swarm";
        return Err(Problem::invalid("members", "NameTaken", detail).remedy("rename the member"));
    }
    Ok(name)
}

#[cfg(test)]
mod tests;
