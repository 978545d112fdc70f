use foundry_crds::{
    AgentSpec, AgentStatus,
    agent::{LastStart, Lifecycle, Lifetime},
};
use jiff::Timestamp;
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn agent(lifetime: Lifetime, lifecycle: Lifecycle, desired: DesiredState) -> Agent {
    Agent::new(
        "scout",
        AgentSpec {
            owner: "ann".to_owned(),
            harness: "agent-v1".to_owned(),
            lifetime: Some(lifetime),
            lifecycle: Some(lifecycle),
            desired_state: Some(desired),
            starts: Some(3),
            ..AgentSpec::default()
        },
    )
}

/// The spec after the verb, or the reason why not.
fn after(verb: Verb, agent: &Agent) -> Result<AgentSpec, &'static str> {
    let mut spec = agent.spec.clone();
    match verb.on(agent, NOW).map_err(|problem| problem.reason())? {
        Intent::Nothing => {}
        Intent::Write(change) => change.apply(&mut spec),
    }
    Ok(spec)
}

use DesiredState::{Completed, Running, Stopped};
use Lifecycle::{Active, Archive, Expired};
use Lifetime::{Ephemeral, Persistent};

/// ROUTE-04, ROUTE-05, ROUTE-06, ROUTE-07, ROUTE-08
#[rstest]
#[case::start_stopped(Verb::Start, (Persistent, Active, Stopped), Ok((Active, Running, 4)))]
#[case::start_after_stop(Verb::Start, (Persistent, Active, Completed), Ok((Active, Running, 4)))]
#[case::start_running(Verb::Start, (Persistent, Active, Running), Ok((Active, Running, 3)))]
#[case::start_expired(Verb::Start, (Persistent, Expired, Completed), Err("Expired"))]
#[case::start_archived(Verb::Start, (Persistent, Archive, Completed), Err("Archived"))]
#[case::stop_running(Verb::Stop, (Persistent, Active, Running), Ok((Active, Completed, 3)))]
#[case::stop_stopped(Verb::Stop, (Persistent, Active, Completed), Ok((Active, Completed, 3)))]
#[case::stop_expired(Verb::Stop, (Ephemeral, Expired, Completed), Ok((Expired, Completed, 3)))]
#[case::restart_running(Verb::Restart, (Persistent, Active, Running), Ok((Active, Running, 4)))]
#[case::restart_stopped(Verb::Restart, (Persistent, Active, Completed), Err("NotRunning"))]
#[case::restart_expired(Verb::Restart, (Ephemeral, Expired, Completed), Ok((Active, Running, 4)))]
#[case::restart_active(Verb::Restart, (Ephemeral, Active, Running), Err("NotExpired"))]
#[case::restart_archived(Verb::Restart, (Ephemeral, Archive, Completed), Err("Archived"))]
#[case::expire_running(Verb::Expire, (Persistent, Active, Running), Ok((Expired, Completed, 3)))]
#[case::expire_expired(Verb::Expire, (Ephemeral, Expired, Completed), Ok((Expired, Completed, 3)))]
#[case::expire_archived(Verb::Expire, (Persistent, Archive, Completed), Err("Archived"))]
#[case::archive_running(Verb::Archive, (Persistent, Active, Running), Ok((Archive, Completed, 3)))]
#[case::archive_expired(Verb::Archive, (Ephemeral, Expired, Completed), Ok((Archive, Completed, 3)))]
fn a_verb_moves_an_agent_or_says_why_not(
    #[case] verb: Verb,
    #[case] (lifetime, lifecycle, desired): (Lifetime, Lifecycle, DesiredState),
    #[case] expected: Result<(Lifecycle, DesiredState, i64), &str>,
) {
    let spec = after(verb, &agent(lifetime, lifecycle, desired));
    let spec = spec.map(|spec| (spec.lifecycle(), spec.desired_state(), spec.starts.unwrap_or(0)));
    assert_eq!(spec, expected);
}

/// LIFE-13
#[test]
fn a_restarted_ephemeral_agent_gets_four_more_hours() {
    let spec = after(Verb::Restart, &agent(Ephemeral, Expired, Completed)).unwrap();
    assert_eq!(spec.ttl_at.unwrap().0, NOW + jiff::SignedDuration::from_hours(4));
}

/// LIFE-15
#[test]
fn a_start_that_the_cluster_refused_can_be_asked_for_again() {
    let mut agent = agent(Persistent, Active, Running);
    agent.status = Some(AgentStatus {
        observed_starts: Some(3),
        last_start: Some(LastStart {
            number: 1,
            at: None,
            refused: Some("exceeded quota".to_owned()),
            starts: Some(3),
        }),
        ..AgentStatus::default()
    });
    assert_eq!(after(Verb::Start, &agent).unwrap().starts, Some(4));
}

#[test]
fn an_operator_has_acted_only_when_it_saw_this_very_write() {
    let mut written = agent(Persistent, Active, Running);
    written.metadata.generation = Some(7);
    let seen = |generation, starts| {
        let mut agent = written.clone();
        agent.status = Some(AgentStatus {
            observed_generation: Some(generation),
            observed_starts: Some(starts),
            ..AgentStatus::default()
        });
        acted(&agent, &written)
    };
    assert!(!acted(&written, &written));
    assert!(!seen(6, 3));
    assert!(!seen(7, 2));
    assert!(seen(7, 3));
}
