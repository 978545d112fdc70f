//! The agent that carries a member out, as the swarm says it.

use std::collections::BTreeMap;

use foundry_crds::agent::{Lifecycle, Lifetime, Member as Reader, SkillRef};
use foundry_crds::swarm::{SwarmMember, member_agent};
use foundry_crds::{Agent, AgentSpec, Swarm, SwarmSpec, meta};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::Resource as _;
use serde::Serialize;

use super::SwarmId;
use super::observe::Own;
use crate::conditions::whole_second;

/// The agent of a member that has none yet (SWARM-01, LIFE-06).
pub fn agent(swarm: &SwarmId, spec: &SwarmSpec, member: &SwarmMember, now: Timestamp) -> Agent {
    let ttl = ttl_seconds(spec);
    Agent {
        metadata: ObjectMeta {
            name: Some(member_agent(&swarm.name, &member.name)),
            namespace: Some(swarm.namespace.clone()),
            labels: Some(labels(swarm, spec)),
            annotations: Some([(meta::annotation::SWARM_TTL.to_owned(), ttl.to_string())].into()),
            owner_references: Some(vec![owner(swarm)]),
            ..ObjectMeta::default()
        },
        // Members of its own it has none: its roles are those of the parent (AUTHZ-02).
        spec: AgentSpec {
            owner: spec.owner.clone(),
            parent: Some(spec.parent.clone()),
            swarm: Some(swarm.name.clone()),
            harness: member.harness.clone(),
            instructions: Some(instructions(&spec.goal, member)), // LIFE-14
            model: Some(member.model().to_owned()),
            tools: member.tools.clone(),
            skills: member.skills.clone(),
            tool_servers: member.tool_servers.clone(),
            lifetime: Some(Lifetime::Ephemeral),
            ttl_at: Some(Time(after(now, ttl))),
            ..AgentSpec::default()
        },
        status: None,
    }
}

/// What a member is told: the goal of all, then its own part of it. Both are bounded by
/// admission so that together they fit an agent.
pub fn instructions(goal: &str, member: &SwarmMember) -> String {
    format!(
        "# Goal of the swarm\n\n{}\n\n# Your part, as member {}\n\n{}",
        goal.trim_end(),
        member.name,
        member.instructions
    )
}

/// Hints for people and selectors (SWARM-05).
fn labels(swarm: &SwarmId, spec: &SwarmSpec) -> BTreeMap<String, String> {
    [
        (meta::label::MANAGED_BY, meta::label::MANAGED_BY_OPERATOR),
        (meta::label::PARENT, &spec.parent),
        (meta::label::SWARM, &swarm.name),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into()
}

/// The reference that makes an agent the swarm's own, so that it goes with the swarm.
///
/// It does not block the owner's deletion: that would need a right on finalizers.
fn owner(swarm: &SwarmId) -> OwnerReference {
    OwnerReference {
        api_version: Swarm::api_version(&()).into_owned(),
        kind: Swarm::kind(&()).into_owned(),
        name: swarm.name.clone(),
        uid: swarm.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(false),
    }
}

/// What of an agent is otherwise than its swarm says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Edit {
    /// Seconds of `spec.ttl` that `ttlAt` goes by from now on.
    pub ttl_seconds: Option<i64>,
    /// The fields to write.
    pub fields: Fields,
}

/// Fields of an agent's spec to write.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fields {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<SkillRef>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_servers: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub members: Option<Vec<Reader>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_at: Option<Time>,
}

/// Compares an agent with what its swarm says now. What of it cannot change (owner,
/// parent, swarm) cannot differ either; `lifecycle`, `desiredState` and `starts` are the
/// runtime verbs'.
pub fn edit(spec: &SwarmSpec, member: &SwarmMember, agent: &Own, now: Timestamp) -> Option<Edit> {
    let present = &agent.spec;
    let told = instructions(&spec.goal, member);
    let SwarmMember { name: _, harness, instructions: _, model: _, tools, skills, tool_servers } =
        member;
    let ttl = ttl_seconds(spec);
    let edit = Edit {
        ttl_seconds: (agent.ttl_seconds != Some(ttl)).then_some(ttl),
        fields: Fields {
            harness: differs(&present.harness, harness),
            instructions: (present.instructions.as_ref() != Some(&told)).then_some(told),
            model: (present.model() != member.model()).then(|| member.model().to_owned()),
            tools: differs(&present.tools, tools),
            skills: differs(&present.skills, skills),
            tool_servers: differs(&present.tool_servers, tool_servers),
            members: (!present.members.is_empty()).then(Vec::new), // AUTHZ-02
            ttl_at: moved_ttl(agent, ttl, now).map(Time),
        },
    };
    (edit != Edit::default()).then_some(edit)
}

fn differs<T: Clone + PartialEq>(present: &T, wanted: &T) -> Option<T> {
    (present != wanted).then(|| wanted.clone())
}

/// When the agent is over, if an edit of the swarm's `ttl` changes that: it moves by as
/// much, from wherever a restart has put it (LIFE-13).
fn moved_ttl(agent: &Own, ttl: i64, now: Timestamp) -> Option<Timestamp> {
    if agent.spec.lifecycle() != Lifecycle::Active {
        return None;
    }
    let difference = ttl - agent.ttl_seconds?;
    // One that is past is somebody's word to end it, or the agent's end already.
    let present = agent.spec.ttl_at.as_ref().map(|at| at.0).filter(|at| *at > now)?;
    (difference != 0).then(|| after(present, difference))
}

fn ttl_seconds(spec: &SwarmSpec) -> i64 {
    // At most a day: admission sees to that.
    i64::try_from(spec.ttl().as_secs()).unwrap_or(i64::MAX)
}

/// A whole second, so that what is read again equals what was written.
fn after(instant: Timestamp, seconds: i64) -> Timestamp {
    whole_second(instant.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(instant))
}

#[cfg(test)]
mod tests {
    use foundry_crds::generate::definitions;
    use pretty_assertions::assert_eq;
    use rstest::rstest;

    use super::*;

    fn member(instructions: &str) -> SwarmMember {
        SwarmMember {
            name: "docs".to_owned(),
            instructions: instructions.to_owned(),
            ..SwarmMember::default()
        }
    }

    /// LIFE-14
    #[test]
    fn a_member_is_told_the_goal_first_and_then_its_part() {
        assert_eq!(
            instructions("Ship 2.0.\n\n", &member("Write the notes.\n")),
            "# Goal of the swarm\n\nShip 2.0.\n\n# Your part, as member docs\n\nWrite the notes.\n"
        );
    }

    /// The longest text that the schema of a field takes, in characters.
    fn most(schema: &serde_json::Value, path: &str) -> usize {
        let most = schema.pointer(path).and_then(serde_json::Value::as_u64);
        usize::try_from(most.unwrap_or_else(|| panic!("no bound at {path}"))).unwrap()
    }

    /// LIFE-14: what admission takes of a swarm, it takes of the members' agents.
    #[rstest]
    #[case::ascii('a')]
    #[case::multi_byte('語')]
    #[case::beyond_the_first_plane('🦀')]
    fn the_longest_goal_and_part_fit_the_instructions_of_an_agent(#[case] letter: char) {
        let schema = |crd: &serde_json::Value| {
            let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
            crd.pointer(schema).unwrap().clone()
        };
        let definitions = definitions();
        let of = |kind: &str| {
            let found = definitions.iter().find(|it| it["spec"]["names"]["kind"] == kind);
            schema(found.unwrap())
        };
        let text = |length: usize| letter.to_string().repeat(length);
        let (swarm, agent) = (of("Swarm"), of("Agent"));
        let goal = text(most(&swarm, "/goal/maxLength"));
        let part = text(most(&swarm, "/members/items/properties/instructions/maxLength"));
        let name = "n".repeat(40);
        let told = instructions(&goal, &SwarmMember { name, ..member(&part) });
        assert!(told.chars().count() <= most(&agent, "/instructions/maxLength"));
    }
}
