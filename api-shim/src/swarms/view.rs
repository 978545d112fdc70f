//! A Swarm resource as one [`SwarmView`].

use foundry_client::{MemberView, SkillRef, SwarmView};
use foundry_crds::{
    Swarm, condition,
    swarm::{MemberStanding, SwarmMember, member_agent},
};
use kube::ResourceExt;

/// The swarm as the API shows it.
pub fn of(swarm: &Swarm) -> SwarmView {
    let (id, spec) = (swarm.name_any(), &swarm.spec);
    let status = swarm.status.clone().unwrap_or_default();
    let complete = status.conditions.iter().find(|told| told.type_ == condition::kind::COMPLETE);
    SwarmView {
        namespace: swarm.namespace().unwrap_or_default(),
        owner: spec.owner.clone(),
        parent_agent_id: spec.parent.clone(),
        goal: spec.goal.clone(),
        members: spec.members.iter().map(|of| member(&id, of, &status.members)).collect(),
        ttl_seconds: spec.ttl().as_secs(),
        dismissed: spec.is_dismissed(),
        phase: status.phase.map(|phase| phase.as_str().to_owned()),
        reason: complete.map(|told| told.reason.clone()),
        message: complete.map(|told| told.message.clone()),
        created_at: swarm.creation_timestamp().map(|time| time.0).unwrap_or_default(),
        started_at: status.start_time.map(|time| time.0),
        completed_at: status.completion_time.map(|time| time.0),
        id,
    }
}

fn member(swarm: &str, member: &SwarmMember, standings: &[MemberStanding]) -> MemberView {
    let model = member.model().to_owned();
    let SwarmMember { name, harness, instructions, model: _, tools, skills, tool_servers } =
        member.clone();
    let standing = standings.iter().find(|standing| standing.name == name);
    MemberView {
        agent_id: member_agent(swarm, &name),
        phase: standing.map(|standing| standing.phase.as_str().to_owned()),
        name,
        harness_id: harness,
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
