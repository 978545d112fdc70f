//! Whose an agent is, and when a cache is believed.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;

fn swarm() -> Version {
    Version {
        name: "team".to_owned(),
        namespace: "space".to_owned(),
        uid: "uid-swarm".to_owned(),
        revision: "1".to_owned(),
    }
}

fn spec() -> SwarmSpec {
    SwarmSpec { owner: "ann".to_owned(), ..SwarmSpec::default() }
}

/// An agent that says it is the swarm's.
fn claiming(change: impl FnOnce(&mut Agent)) -> Agent {
    let mut agent = Agent::new(
        "team-docs",
        AgentSpec {
            owner: "ann".to_owned(),
            lifetime: Some(Lifetime::Ephemeral),
            swarm: Some("team".to_owned()),
            ..AgentSpec::default()
        },
    );
    agent.metadata = ObjectMeta {
        namespace: Some("space".to_owned()),
        uid: Some("uid-agent".to_owned()),
        resource_version: Some("1".to_owned()),
        generation: Some(1),
        owner_references: Some(vec![OwnerReference {
            kind: "Swarm".to_owned(),
            name: "team".to_owned(),
            uid: "uid-swarm".to_owned(),
            controller: Some(true),
            ..OwnerReference::default()
        }]),
        ..agent.metadata
    };
    change(&mut agent);
    agent
}

fn own() -> Found {
    found(&claiming(|_| {}), &swarm(), &spec()).unwrap()
}

fn owner(agent: &mut Agent) -> &mut OwnerReference {
    &mut agent.metadata.owner_references.as_mut().unwrap()[0]
}

type Change = fn(&mut Agent);

/// LIFE-05
#[rstest]
#[case::persistent(|agent: &mut Agent| agent.spec.lifetime = None)]
#[case::of_another_person(|agent: &mut Agent| agent.spec.owner = "ben".to_owned())]
#[case::of_no_swarm(|agent: &mut Agent| agent.spec.swarm = None)]
#[case::of_another_swarm(|agent: &mut Agent| {
    owner(agent).uid = "uid-other".to_owned();
    owner(agent).name = "other".to_owned();
})]
#[case::of_a_run(|agent: &mut Agent| {
    owner(agent).uid = "uid-other".to_owned();
    owner(agent).kind = "CodingRun".to_owned();
})]
#[case::of_nobody(|agent: &mut Agent| agent.metadata.owner_references = None)]
fn a_name_or_an_owner_reference_alone_makes_no_agent_a_members_own(#[case] change: Change) {
    assert_eq!(found(&claiming(change), &swarm(), &spec()).unwrap(), Found::Foreign);
}

#[test]
fn an_agent_that_foundry_made_for_this_very_swarm_is_its_members_own() {
    assert!(matches!(own(), Found::Own(_)));
    let earlier = claiming(|agent| owner(agent).uid = "uid-earlier".to_owned());
    assert_eq!(found(&earlier, &swarm(), &spec()).unwrap(), Found::OfAnEarlierSwarm);
}

/// The agent itself is read before its absence counts.
#[rstest]
#[case::not_made(Found::None, None, false, false)]
#[case::made(Found::None, Some(MemberPhase::Pending), false, true)]
#[case::replaced(Found::Foreign, Some(MemberPhase::Running), false, true)]
#[case::of_an_earlier_swarm(Found::OfAnEarlierSwarm, Some(MemberPhase::Pending), false, true)]
#[case::ended(Found::None, Some(MemberPhase::Failed), false, false)]
#[case::there(own(), Some(MemberPhase::Running), false, false)]
#[case::perhaps_just_made(Found::None, None, true, true)]
#[case::ended_and_dismissed(Found::None, Some(MemberPhase::Failed), true, false)]
fn a_cache_that_shows_no_agent_is_not_believed_where_that_would_end_something(
    #[case] shown: Found,
    #[case] known: Option<MemberPhase>,
    #[case] is_being_dismissed: bool,
    #[case] is: bool,
) {
    assert_eq!(is_behind(&shown, known, is_being_dismissed), is, "{shown:?}");
}
