use foundry_crds::{
    AgentSpec, AgentStatus,
    agent::{LastStart, Lifecycle, Lifetime},
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
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

/// LIFE-13, LIFE-14
#[test]
fn an_ephemeral_agent_whose_process_was_lost_is_restarted_without_an_expiry() {
    let mut agent = agent(Ephemeral, Active, Running);
    let last_start = Some(LastStart { number: 2, at: None, refused: None, starts: None });
    for (finished_start, expected) in
        [(None, Err("NotExpired")), (Some(1), Err("NotExpired")), (Some(2), Ok(Some(4)))]
    {
        let last_start = last_start.clone();
        agent.status = Some(AgentStatus { finished_start, last_start, ..AgentStatus::default() });
        let spec = after(Verb::Restart, &agent);
        assert_eq!(spec.clone().map(|spec| spec.starts), expected, "{finished_start:?}");
        if let Ok(spec) = spec {
            assert_eq!(spec.ttl_at.unwrap().0, NOW + jiff::SignedDuration::from_hours(4));
        }
    }
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

/// LIFE-15
#[test]
fn a_refused_start_is_told_to_that_start_and_a_refused_stop_to_that_stop() {
    let mut seen = agent(Persistent, Active, Stopped);
    seen.metadata.generation = Some(7);
    let written = seen.clone();
    let words = "quota".to_owned();
    let last = |starts| LastStart {
        number: 1,
        at: None,
        refused: Some(words.clone()),
        starts: Some(starts),
    };
    let ready = |observed| Condition {
        type_: condition::kind::READY.to_owned(),
        status: "False".to_owned(),
        reason: condition::reason::REFUSED.to_owned(),
        message: String::new(),
        last_transition_time: Time(NOW),
        observed_generation: Some(observed),
    };
    let mut told = |verb, starts, conditions: Vec<Condition>| {
        let last_start = Some(last(starts));
        seen.status = Some(AgentStatus { last_start, conditions, ..AgentStatus::default() });
        refusal(verb, &seen, &written)
    };
    assert_eq!(told(Verb::Start, 3, vec![]).as_ref(), Some(&words));
    assert_eq!(told(Verb::Start, 2, vec![]), None, "an earlier start's");
    assert_eq!(told(Verb::Stop, 3, vec![]), None, "the start's, not the stop's");
    assert_eq!(told(Verb::Stop, 3, vec![ready(6)]), None, "of an earlier write");
    assert_eq!(told(Verb::Stop, 2, vec![ready(7)]).as_ref(), Some(&words));
}
