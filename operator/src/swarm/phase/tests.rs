//! Where a member stands, as tables.

use foundry_crds::agent::{LastStart, Lifetime, WorkloadRef};
use foundry_crds::{AgentSpec, AgentStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;
use crate::apply::Version;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn told(status: bool, kind: &str, reason: &str, message: &str) -> Condition {
    Condition {
        type_: kind.to_owned(),
        status: if status { "True" } else { "False" }.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: None,
        last_transition_time: Time(at(0)),
    }
}

/// An agent that nobody has looked at.
fn new() -> Own {
    Own {
        version: Version {
            name: "team-docs".to_owned(),
            namespace: "space".to_owned(),
            uid: "uid-agent".to_owned(),
            revision: "1".to_owned(),
        },
        spec: AgentSpec {
            owner: "ann".to_owned(),
            lifetime: Some(Lifetime::Ephemeral),
            ttl_at: Some(Time(at(3_600))),
            ..AgentSpec::default()
        },
        status: AgentStatus::default(),
        ttl_seconds: Some(3_600),
        is_seen: false,
        going: false,
    }
}

/// An agent whose first process was asked for.
fn in_state(state: AgentState) -> Own {
    Own {
        status: AgentStatus {
            state: Some(state),
            last_start: Some(LastStart { number: 1, ..LastStart::default() }),
            ..AgentStatus::default()
        },
        is_seen: true,
        ..new()
    }
}

fn pending(reason: &str, is_stalled: bool, has_job: bool) -> Own {
    let mut own = in_state(AgentState::Pending);
    let job = WorkloadRef { kind: "Job".to_owned(), name: "foundry-agent-team-docs-1".to_owned() };
    own.status.workload = has_job.then_some(job);
    own.status.conditions = vec![told(false, kind::READY, reason, "as it is")];
    if is_stalled {
        own.status.conditions.push(told(true, kind::STALLED, reason, "as it is"));
    }
    own
}

fn finished(reason: &str, message: &str) -> Own {
    let mut own = in_state(AgentState::Stopped);
    own.status.finished_start = Some(1);
    own.status.conditions = vec![told(false, kind::READY, reason, message)];
    own
}

fn expired(mut own: Own) -> Own {
    own.spec.lifecycle = Some(Lifecycle::Expired);
    own.status.state = Some(AgentState::Expired);
    own
}

fn expiring(mut own: Own) -> Own {
    own.spec.lifecycle = Some(Lifecycle::Expired);
    own.is_seen = false;
    own
}

fn stopped(mut own: Own) -> Own {
    own.spec.desired_state = Some(DesiredState::Stopped);
    own
}

fn archived(mut own: Own) -> Own {
    own.spec.lifecycle = Some(Lifecycle::Archive);
    own.status.state = Some(AgentState::Archived);
    own
}

fn out_of_time(mut own: Own) -> Own {
    own.spec.ttl_at = Some(Time(at(0)));
    own
}

/// A restart that the operator has yet to act on.
fn restarted(mut own: Own) -> Own {
    own.spec.lifecycle = None;
    own.spec.starts = Some(1);
    own.is_seen = false;
    own
}

const P: Option<MemberPhase> = Some(MemberPhase::Pending);
const R: Option<MemberPhase> = Some(MemberPhase::Running);
const S: Option<MemberPhase> = Some(MemberPhase::Succeeded);
const F: Option<MemberPhase> = Some(MemberPhase::Failed);

/// LIFE-11, LIFE-12, LIFE-13, LIFE-19
#[rstest]
#[case::new(new(), P, MemberPhase::Pending)]
#[case::asked_for(in_state(AgentState::Pending), P, MemberPhase::Pending)]
#[case::alive(in_state(AgentState::Running), P, MemberPhase::Running)]
#[case::made_again_elsewhere(in_state(AgentState::Pending), R, MemberPhase::Pending)]
#[case::stopped(stopped(in_state(AgentState::Stopped)), R, MemberPhase::Stopped)]
#[case::stopped_after_it_ended(stopped(finished(reason::STOPPED, "")), S, MemberPhase::Succeeded)]
#[case::ended_well(finished(reason::COMPLETED, ""), R, MemberPhase::Succeeded)]
#[case::ended_badly(finished(reason::FAILED, "OOMKilled"), R, MemberPhase::Failed)]
#[case::job_out_of_time(finished(reason::FAILED, "DeadlineExceeded: no"), R, MemberPhase::Expired)]
#[case::done_early(expired(in_state(AgentState::Running)), R, MemberPhase::Succeeded)]
#[case::still_ends(expiring(in_state(AgentState::Running)), R, MemberPhase::Running)]
#[case::never_ran(expired(in_state(AgentState::Pending)), P, MemberPhase::Expired)]
#[case::time_is_over(out_of_time(expired(in_state(AgentState::Running))), R, MemberPhase::Expired)]
#[case::well_before_time_was_over(
    out_of_time(expired(finished("", ""))),
    S,
    MemberPhase::Succeeded
)]
#[case::badly_before_it(out_of_time(expired(finished("", ""))), F, MemberPhase::Failed)]
#[case::archived(archived(in_state(AgentState::Running)), R, MemberPhase::Succeeded)]
#[case::restarted(restarted(expired(in_state(AgentState::Running))), S, MemberPhase::Pending)]
#[case::restart_not_seen(restarted(expired(finished("", ""))), F, MemberPhase::Failed)]
#[case::runs_again(in_state(AgentState::Running), F, MemberPhase::Running)]
fn a_member_stands_where_its_agent_does(
    #[case] agent: Own,
    #[case] known: Option<MemberPhase>,
    #[case] phase: MemberPhase,
) {
    assert_eq!(of_agent(&agent, known, false, at(10)).phase, phase);
}

/// SWARM-04: what the swarm itself told to go is expired, and not done.
#[rstest]
#[case::ran(R, MemberPhase::Expired)]
#[case::had_ended_well(S, MemberPhase::Succeeded)]
#[case::had_ended_badly(F, MemberPhase::Failed)]
fn a_member_told_to_go_is_expired_unless_it_had_ended(
    #[case] known: Option<MemberPhase>,
    #[case] phase: MemberPhase,
) {
    let agent = expired(in_state(AgentState::Running));
    let stand = of_agent(&agent, known, true, at(10));
    assert_eq!((stand.phase, stand.is_clear), (phase, true));
}

/// A harness that finishes at once is not seen to run; its heartbeat is.
#[test]
fn a_heartbeat_shows_that_a_process_lived() {
    let mut agent = expired(in_state(AgentState::Pending));
    agent.status.last_heartbeat = Some(Time(at(1)));
    assert_eq!(of_agent(&agent, P, false, at(10)).phase, MemberPhase::Succeeded);
}

/// LIFE-10: the Job is gone when the agent's own status says so, of this very spec.
#[rstest]
#[case::lives(in_state(AgentState::Running), false)]
#[case::ended_but_active(finished(reason::COMPLETED, ""), false)]
#[case::not_looked_at(expiring(in_state(AgentState::Expired)), false)]
#[case::still_ends({ let mut own = expired(pending("", false, true)); own.status.state = Some(AgentState::Pending); own }, false)]
#[case::has_its_job(expired(pending("", false, true)), false)]
#[case::at_rest(expired(in_state(AgentState::Running)), true)]
#[case::archived(archived(in_state(AgentState::Running)), true)]
fn a_member_is_clear_when_nothing_of_it_runs(#[case] agent: Own, #[case] is: bool) {
    assert_eq!(of_agent(&agent, R, true, at(10)).is_clear, is);
}

#[rstest]
#[case::new(new(), Some((Readiness::Reconciling, reason::PENDING)))]
#[case::taken(pending(reason::PENDING, false, true), None)]
#[case::not_taken(pending(reason::PENDING, false, false), Some((Readiness::Reconciling, reason::PENDING)))]
#[case::no_harness(pending(reason::HARNESS_NOT_FOUND, false, false), Some((Readiness::Reconciling, reason::HARNESS_NOT_FOUND)))]
#[case::no_secret(pending(reason::SECRET_NOT_FOUND, false, true), Some((Readiness::Reconciling, reason::SECRET_NOT_FOUND)))]
#[case::refused(pending(reason::REFUSED, true, false), Some((Readiness::Stalled, reason::REFUSED)))]
#[case::slug(pending(reason::SLUG_TAKEN, true, false), Some((Readiness::Stalled, reason::SLUG_TAKEN)))]
#[case::failed(finished(reason::FAILED, "OOMKilled"), Some((Readiness::Stalled, reason::MEMBER_FAILED)))]
#[case::alive(in_state(AgentState::Running), None)]
#[case::stopped(stopped(in_state(AgentState::Stopped)), None)]
#[case::done(expired(in_state(AgentState::Running)), None)]
fn what_keeps_a_members_agent_the_swarm_tells_too(
    #[case] agent: Own,
    #[case] trouble: Option<(Readiness, &str)>,
) {
    let stand = of_agent(&agent, R, false, at(10));
    assert_eq!(stand.trouble.map(|trouble| (trouble.readiness, trouble.reason)), trouble);
}

#[rstest]
#[case::ran(MemberPhase::Running, MemberPhase::Failed)]
#[case::waited(MemberPhase::Pending, MemberPhase::Failed)]
#[case::was_stopped(MemberPhase::Stopped, MemberPhase::Failed)]
#[case::had_ended_well(MemberPhase::Succeeded, MemberPhase::Succeeded)]
#[case::had_expired(MemberPhase::Expired, MemberPhase::Expired)]
fn a_member_whose_agent_is_deleted_failed_unless_it_had_ended(
    #[case] known: MemberPhase,
    #[case] phase: MemberPhase,
) {
    let stand = Stand::deleted(known);
    assert_eq!((stand.phase, stand.is_made, stand.is_clear), (phase, true, true));
}
