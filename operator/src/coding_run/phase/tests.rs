//! Where a run stands, as tables.

use foundry_crds::agent::{LastStart, Lifetime};
use foundry_crds::coding_run::Limits;
use foundry_crds::{AgentSpec, AgentStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;
use crate::apply::Version;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

/// The Job of a start.
fn job(start: i64) -> WorkloadRef {
    WorkloadRef { kind: "Job".to_owned(), name: WorkloadKind::Job.name("fix", start) }
}

fn run() -> RunId {
    RunId { namespace: "team".to_owned(), name: "fix".to_owned(), uid: "uid-run".to_owned() }
}

fn condition(kind: &str, status: bool, reason: &str, message: &str) -> Condition {
    Condition {
        type_: kind.to_owned(),
        status: if status { "True" } else { "False" }.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: None,
        last_transition_time: Time(at(0)),
    }
}

/// An agent whose first process lives.
fn agent() -> Own {
    Own {
        version: Version {
            name: "fix".to_owned(),
            namespace: "team".to_owned(),
            uid: "uid-agent".to_owned(),
            revision: "1".to_owned(),
        },
        spec: AgentSpec {
            lifetime: Some(Lifetime::Ephemeral),
            ttl_at: Some(Time(at(16_200))),
            limits: Some(Limits::default().in_full()),
            ..AgentSpec::default()
        },
        status: AgentStatus {
            last_start: Some(LastStart { number: 1, ..LastStart::default() }),
            workload: Some(job(1)),
            state: Some(AgentState::Running),
            conditions: vec![condition("Ready", true, reason::RUNNING, "its harness runs")],
            ..AgentStatus::default()
        },
        going: false,
    }
}

/// The same agent, its process ended by itself.
fn ended(reason: &str, message: &str) -> Own {
    let mut agent = agent();
    agent.status.state = Some(AgentState::Stopped);
    agent.status.finished_start = Some(1);
    agent.status.conditions =
        vec![condition("Ready", reason == reason::COMPLETED, reason, message)];
    agent
}

fn expired() -> Own {
    let mut agent = agent();
    agent.spec.lifecycle = Some(Lifecycle::Expired);
    agent.spec.desired_state = Some(DesiredState::Completed);
    agent.status.state = Some(AgentState::Expired);
    agent.status.workload = None;
    agent
}

fn stopped() -> Own {
    let mut agent = agent();
    agent.spec.desired_state = Some(DesiredState::Completed);
    agent.status.state = Some(AgentState::Stopped);
    agent.status.workload = None;
    agent
}

fn reported(start: i64, change: impl FnOnce(&mut Reported)) -> CodingRunStatus {
    let mut reported = Reported { start_number: Some(start), ..Reported::default() };
    change(&mut reported);
    CodingRunStatus { reported: Some(reported), ..CodingRunStatus::default() }
}

fn result(outcome: &str) -> CodingRunStatus {
    reported(1, |it| {
        it.result =
            Some(RunResult { outcome: outcome.to_owned(), summary: Some("words".to_owned()) });
    })
}

fn plan(approved_by: Option<&str>) -> Plan {
    Plan {
        document_id: "doc-1".to_owned(),
        sha256: "ab12".to_owned(),
        approved_by: approved_by.map(str::to_owned),
    }
}

fn question(kind: QuestionKind) -> Question {
    Question { id: "q-1".to_owned(), kind, text: Some("Which port?".to_owned()) }
}

fn of(status: &CodingRunStatus, agent: &Own, now: i64) -> Standing {
    standing(&run(), status, agent, SignedDuration::from_secs(20), at(now))
}

fn told(standing: &Standing) -> (Phase, &'static str, Readiness) {
    (standing.phase, standing.reason, standing.readiness)
}

/// CODE-24, CODE-31
#[rstest]
#[case::nothing_yet(None, None, Phase::Planning, reason::PLANNING)]
#[case::stored(Some(plan(None)), None, Phase::Planning, reason::PLANNING)]
#[case::asked(
    Some(plan(None)),
    Some(QuestionKind::Plan),
    Phase::AwaitingApproval,
    reason::AWAITING_APPROVAL
)]
#[case::approved(Some(plan(Some("ann"))), None, Phase::Building, reason::BUILDING)]
#[case::asks_while_planning(
    None,
    Some(QuestionKind::Question),
    Phase::Planning,
    reason::AWAITING_ANSWER
)]
#[case::asks_while_building(
    Some(plan(Some("ann"))),
    Some(QuestionKind::Question),
    Phase::Building,
    reason::AWAITING_ANSWER
)]
fn a_process_that_lives_is_where_its_reports_say(
    #[case] plan: Option<Plan>,
    #[case] asks: Option<QuestionKind>,
    #[case] phase: Phase,
    #[case] reason: &'static str,
) {
    let status = reported(1, |it| {
        it.plan = plan;
        it.question = asks.map(question);
    });
    let standing = of(&status, &agent(), 0);
    assert_eq!(told(&standing), (phase, reason, Readiness::Ready));
    assert_eq!((standing.start_number, standing.began), (Some(1), true));
}

/// A person reads in the message what to send, and approves by the digest.
#[test]
fn what_waits_for_a_person_says_how_to_answer() {
    let status = reported(1, |it| {
        it.plan = Some(plan(None));
        it.question = Some(question(QuestionKind::Plan));
    });
    assert_eq!(
        of(&status, &agent(), 0).message,
        "plan ab12 waits for a person: GET /v1/agents/fix/plans/doc-1 leads to it; POST \
         /v1/agents/fix/answer with {\"text\":\"build\",\"plan_sha256\":\"ab12\"} approves it, and \
         other words change it"
    );
    let status = reported(1, |it| it.question = Some(question(QuestionKind::Question)));
    let message = of(&status, &agent(), 0).message;
    assert!(message.starts_with("Which port?") && message.contains("\"question_id\":\"q-1\""));
}

/// CODE-24: and whatever else a harness reports as the end.
#[rstest]
#[case("completed", Phase::Succeeded, reason::SUCCEEDED, Readiness::Ready)]
#[case("out_of_time", Phase::Unfinished, reason::OUT_OF_TIME, Readiness::Stalled)]
#[case("budget", Phase::Unfinished, reason::BUDGET_EXHAUSTED, Readiness::Stalled)]
#[case("failed", Phase::Failed, reason::RUN_FAILED, Readiness::Stalled)]
#[case("clone_failed", Phase::Failed, reason::CLONE_FAILED, Readiness::Stalled)]
#[case("model_failed", Phase::Failed, reason::MODEL_FAILED, Readiness::Stalled)]
#[case("harness_failed", Phase::Failed, reason::HARNESS_FAILED, Readiness::Stalled)]
#[case("dreamt", Phase::Failed, reason::RUN_FAILED, Readiness::Stalled)]
fn a_result_is_the_end_whatever_its_process_does(
    #[case] outcome: &str,
    #[case] phase: Phase,
    #[case] reason: &'static str,
    #[case] readiness: Readiness,
) {
    for agent in [agent(), ended(reason::COMPLETED, ""), expired(), stopped()] {
        let standing = of(&result(outcome), &agent, 0);
        assert_eq!(told(&standing), (phase, reason, readiness));
        assert!(standing.message.contains("words"), "{}", standing.message);
        assert_eq!(standing.gone_since, None);
    }
}

/// LIFE-14: a restart begins from the beginning.
#[test]
fn what_an_earlier_start_reported_counts_for_nothing() {
    let mut again = agent();
    again.status.last_start = Some(LastStart { number: 3, ..LastStart::default() });
    again.status.workload = Some(job(3));
    let standing = of(&result("completed"), &again, 0);
    assert_eq!(told(&standing).1, reason::PLANNING);
    assert_eq!(standing.start_number, Some(3));
    let mut never = agent();
    never.status = AgentStatus::default();
    assert_eq!(of(&result("completed"), &never, 0).phase, Phase::Pending);
}

/// The end of one start is no end of the next.
#[test]
fn a_restart_of_an_ended_run_is_pending_again() {
    let mut status = result("failed");
    status.phase = Some(Phase::Failed);
    status.start_number = Some(1);
    status.conditions = vec![condition("Complete", false, reason::RUN_FAILED, "words")];
    let mut again = agent();
    again.status.last_start = Some(LastStart { number: 2, ..LastStart::default() });
    again.status.state = Some(AgentState::Pending);
    again.status.conditions = vec![condition("Ready", false, reason::PENDING, "no node yet")];
    let standing = of(&status, &again, 0);
    assert_eq!(told(&standing), (Phase::Pending, reason::PENDING, Readiness::Ready));
}

#[rstest]
#[case::killed(ended(reason::FAILED, "OOMKilled: exit status 137"), "OOMKilled")]
#[case::left(ended(reason::COMPLETED, "its process ended well"), "ended well")]
fn a_process_that_is_gone_without_a_result_is_lost_after_a_while(
    #[case] agent: Own,
    #[case] why: &str,
) {
    let mut status = reported(1, |it| it.plan = Some(plan(Some("ann"))));
    let first = of(&status, &agent, 100);
    assert_eq!(told(&first), (Phase::Building, reason::FINISHING, Readiness::Ready));
    assert_eq!((&first.gone_since, first.look_again.as_secs()), (&Some(Time(at(100))), 20));
    status.gone_since = first.gone_since;
    status.start_number = Some(1);
    let second = of(&status, &agent, 119);
    assert_eq!((second.reason, second.look_again.as_secs()), (reason::FINISHING, 1));
    let third = of(&status, &agent, 120);
    assert_eq!(told(&third), (Phase::Failed, reason::HARNESS_LOST, Readiness::Stalled));
    assert!(third.message.contains(why), "{}", third.message);
    assert!(third.message.ends_with("restart its agent to begin again"), "{}", third.message);

    let mut late = result("completed");
    late.gone_since = status.gone_since.clone();
    late.start_number = Some(1);
    assert_eq!(of(&late, &agent, 119).phase, Phase::Succeeded, "the result was on its way");
}

/// The result is the fact, and its absence was a presumption.
#[rstest]
#[case(Phase::Failed, reason::HARNESS_LOST, Phase::Succeeded)]
#[case(Phase::Failed, reason::EXPIRED, Phase::Succeeded)]
#[case(Phase::Unfinished, reason::STOPPED, Phase::Succeeded)]
#[case(Phase::Failed, reason::RUN_FAILED, Phase::Failed)]
#[case(Phase::Unfinished, reason::OUT_OF_TIME, Phase::Unfinished)]
fn a_result_that_comes_late_takes_the_place_of_an_end_without_one(
    #[case] phase: Phase,
    #[case] reason: &'static str,
    #[case] wanted: Phase,
) {
    let mut status = result("completed");
    status.phase = Some(phase);
    status.start_number = Some(1);
    status.conditions = vec![condition("Complete", false, reason, "told")];
    for agent in [ended(reason::FAILED, "killed"), expired(), stopped()] {
        let standing = of(&status, &agent, 0);
        assert_eq!((standing.phase, standing.start_number), (wanted, Some(1)));
    }
    let mut again = agent();
    again.status.last_start = Some(LastStart { number: 2, ..LastStart::default() });
    again.status.workload = Some(job(2));
    assert_eq!(of(&status, &again, 0).phase, Phase::Planning, "it is not that start's");
}

/// What an agent said of its last process is not what a run tells of the next.
#[test]
fn a_restarted_agent_that_was_not_looked_at_yet_is_only_asked_for() {
    let mut again = expired();
    again.spec.lifecycle = Some(Lifecycle::Active);
    again.spec.desired_state = Some(DesiredState::Running);
    again.status.last_start = Some(LastStart { number: 2, ..LastStart::default() });
    again.status.conditions = vec![condition("Ready", true, reason::EXPIRED, "it is expired")];
    let standing = of(&CodingRunStatus::default(), &again, 0);
    assert_eq!(told(&standing), (Phase::Pending, reason::PENDING, Readiness::Reconciling));
    assert_eq!(standing.message, "its process is asked for");
}

/// LIFE-03: between a restart and the next look at it, an agent tells of the process
/// before; that is not the run's to tell.
#[test]
fn the_process_of_the_start_before_is_not_taken_for_the_one_asked_for() {
    let mut again = agent();
    again.status.last_start = Some(LastStart { number: 2, ..LastStart::default() });
    let status = CodingRunStatus {
        phase: Some(Phase::Building),
        start_number: Some(1),
        ..reported(1, |it| it.plan = Some(plan(Some("ann"))))
    };
    let standing = of(&status, &again, 0);
    assert_eq!(told(&standing), (Phase::Pending, reason::PENDING, Readiness::Reconciling));
    assert_eq!(standing.message, "its process is asked for");
    // Something keeps the restart waiting while the process before it goes on.
    again.status.conditions =
        vec![condition("Ready", false, reason::HARNESS_NOT_FOUND, "create it")];
    assert_eq!(of(&status, &again, 0).reason, reason::HARNESS_NOT_FOUND);
    again.status.workload =
        Some(WorkloadRef { kind: "Pod".to_owned(), name: WorkloadKind::Pod.name("fix", 2) });
    assert_eq!(of(&status, &again, 0).phase, Phase::Planning, "in the local runtime too");
}

/// LIFE-09: a drained node takes a pod along and not the run, which goes back to no phase.
#[test]
fn a_pod_that_is_made_again_keeps_the_phase_of_its_run() {
    let mut drained = agent();
    drained.status.state = Some(AgentState::Pending);
    drained.status.conditions = vec![condition("Ready", false, reason::PENDING, "no node yet")];
    for phase in [Phase::Planning, Phase::AwaitingApproval, Phase::Building] {
        let status = CodingRunStatus {
            phase: Some(phase),
            start_number: Some(1),
            ..CodingRunStatus::default()
        };
        let standing = of(&status, &drained, 0);
        assert_eq!(told(&standing), (phase, reason::PENDING, Readiness::Ready));
    }
}

#[test]
fn a_process_that_ends_leaves_the_run_at_the_phase_it_had_reached() {
    let mut ending = stopped();
    ending.status.state = Some(AgentState::Pending);
    ending.status.workload = Some(WorkloadRef::default());
    let status = CodingRunStatus {
        phase: Some(Phase::AwaitingApproval),
        start_number: Some(1),
        // The question is closed with the stop.
        ..reported(1, |it| it.plan = Some(plan(None)))
    };
    for agent in [ending, ended(reason::FAILED, "killed")] {
        let standing = of(&status, &agent, 0);
        let reached = (Phase::AwaitingApproval, reason::FINISHING);
        assert_eq!((standing.phase, standing.reason), reached);
    }
    // A Job whose pod failed waits a moment before it gives up.
    let status = CodingRunStatus { phase: Some(Phase::Pending), ..status };
    assert_eq!(of(&status, &ended(reason::FAILED, "killed"), 0).phase, Phase::Planning);
}

/// LIFE-11: the harness expires its agent a moment after it has reported.
#[test]
fn an_expired_agent_waits_for_the_result_that_is_on_its_way() {
    let mut status = CodingRunStatus { start_number: Some(1), ..CodingRunStatus::default() };
    let first = of(&status, &expired(), 0);
    assert_eq!(first.reason, reason::FINISHING);
    status.gone_since = first.gone_since;
    let standing = of(&status, &expired(), 20);
    assert_eq!(told(&standing), (Phase::Unfinished, reason::STOPPED, Readiness::Ready));
}

#[test]
fn an_agent_whose_time_ran_out_fails_its_run() {
    let gone_since = Some(Time(at(16_200)));
    let status =
        CodingRunStatus { start_number: Some(1), gone_since, ..CodingRunStatus::default() };
    let standing = of(&status, &expired(), 16_220);
    assert_eq!(told(&standing), (Phase::Failed, reason::EXPIRED, Readiness::Stalled));
}

#[test]
fn an_agent_that_never_began_owes_no_result() {
    let mut agent = expired();
    agent.status.last_start = None;
    let standing = of(&CodingRunStatus::default(), &agent, 0);
    assert_eq!(told(&standing), (Phase::Unfinished, reason::STOPPED, Readiness::Ready));
    assert_eq!((standing.began, standing.start_number), (false, None));
}

#[test]
fn a_stop_by_a_person_leaves_the_run_unfinished_once_the_process_is_gone() {
    let mut ending = stopped();
    ending.status.state = Some(AgentState::Pending);
    ending.status.workload = Some(WorkloadRef::default());
    let standing = of(&CodingRunStatus::default(), &ending, 0);
    assert_eq!((standing.phase, standing.reason), (Phase::Planning, reason::FINISHING));
    let standing = of(&CodingRunStatus::default(), &stopped(), 0);
    assert_eq!(told(&standing), (Phase::Unfinished, reason::STOPPED, Readiness::Ready));

    let mut by_itself = stopped();
    by_itself.status.finished_start = Some(1);
    let standing = of(&CodingRunStatus::default(), &by_itself, 0);
    assert_eq!(standing.reason, reason::FINISHING, "it had ended before, perhaps with a result");
}

#[rstest]
#[case::quota(
    vec![condition("Ready", false, reason::REFUSED, "exceeded quota")],
    false, reason::REFUSED, Readiness::Reconciling
)]
#[case::admitted(
    vec![condition("Ready", false, reason::PENDING, "no node yet")],
    true, reason::PENDING, Readiness::Ready
)]
#[case::not_admitted(
    vec![condition("Ready", false, reason::PENDING, "asked for")],
    false, reason::PENDING, Readiness::Reconciling
)]
#[case::secret(
    vec![condition("Ready", false, reason::SECRET_NOT_FOUND, "create it")],
    true, reason::SECRET_NOT_FOUND, Readiness::Reconciling
)]
#[case::slug(
    vec![
        condition("Ready", false, reason::SLUG_TAKEN, "taken"),
        condition("Stalled", true, reason::SLUG_TAKEN, "taken"),
    ],
    false, reason::SLUG_TAKEN, Readiness::Stalled
)]
#[case::of_a_later_release(
    vec![condition("Ready", false, "Unheard", "of")],
    true, reason::PENDING, Readiness::Ready
)]
#[case::not_looked_at(vec![], false, reason::PENDING, Readiness::Reconciling)]
fn a_run_that_waits_says_what_its_agent_says(
    #[case] conditions: Vec<Condition>,
    #[case] is_admitted: bool,
    #[case] reason: &'static str,
    #[case] readiness: Readiness,
) {
    let mut agent = agent();
    agent.status.state = Some(AgentState::Pending);
    agent.status.workload = is_admitted.then(WorkloadRef::default);
    agent.status.conditions.clone_from(&conditions);
    let standing = of(&CodingRunStatus::default(), &agent, 0);
    assert_eq!(told(&standing), (Phase::Pending, reason, readiness));
    if let Some(first) = conditions.first() {
        assert!(standing.message.starts_with(&first.message), "{}", standing.message);
    }
}
