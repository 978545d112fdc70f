//! The rules of an agent's life, as tables.

use foundry_crds::agent::{DesiredState, LastStart, SkillRef};
use foundry_crds::condition::kind;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;
use crate::conditions::Readiness;
use crate::runtime::Limit;

mod named;
mod obstacles;
mod on_demand;
mod properties;
mod starts;

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn in_seconds(seconds: i64) -> Time {
    Time(Timestamp::from_second(now().as_second() + seconds).unwrap())
}

fn settings() -> TemplateConfig {
    TemplateConfig {
        harness_image: "foundry-harness:dev".to_owned(),
        harness_coding_image: "foundry-harness-coding:dev".to_owned(),
        api_url: "http://foundry-api.default:8080".to_owned(),
        evaluate_seconds: None,
        heartbeat_seconds: None,
        node_selector: None,
        toleration: None,
    }
}

/// An always-on agent that was never seen, its Harness there.
fn fresh() -> Observed {
    Observed {
        agent: AgentId {
            namespace: "team".to_owned(),
            name: "ann".to_owned(),
            uid: "uid-ann".to_owned(),
        },
        spec: AgentSpec {
            owner: "eve".to_owned(),
            harness: "agent-v1".to_owned(),
            ..AgentSpec::default()
        },
        status: AgentStatus::default(),
        harness: Some(HarnessSpec::default()),
        slug_holder: None,
        parent: Parent::None,
        workloads: Vec::new(),
        draining: false,
        missing_secret: None,
        carrier: WorkloadKind::Deployment,
        people: None,
        named: grants::Named::default(),
    }
}

fn ephemeral() -> Observed {
    let mut observed = fresh();
    observed.carrier = WorkloadKind::Job;
    observed.spec.lifetime = Some(Lifetime::Ephemeral);
    observed.spec.ttl_at = Some(in_seconds(600));
    observed
}

/// The same agent once its plan has been carried out and reported.
fn after(observed: &Observed) -> Observed {
    let plan = plan(observed, &settings(), now());
    let mut next = observed.clone();
    if plan.expire {
        next.spec.lifecycle = Some(Lifecycle::Expired);
        next.spec.desired_state = Some(DesiredState::Completed);
    }
    next.workloads
        .retain(|workload| !plan.remove.iter().any(|removal| removal.uid == workload.uid));
    if let Some(make) = &plan.make {
        let workload = made(observed, make, &plan);
        next.workloads.retain(|present| present.name != workload.name);
        next.workloads.push(workload);
    }
    next.status = AgentStatus {
        start_number: Some(plan.ledger.start_number),
        observed_starts: Some(plan.ledger.starts),
        finished_start: plan.finished_start,
        config_digest: Some(plan.ledger.config_digest.clone()),
        observed_desired_state: Some(plan.ledger.desired_state),
        last_start: plan.ledger.last_start.clone(),
        workload: plan.workload.clone(),
        state: Some(plan.outlook.state),
        ..observed.status.clone()
    };
    next
}

fn made(observed: &Observed, make: &Make, plan: &Plan) -> Workload {
    let name = match make {
        Make::Deployment(it) => it.metadata.name.clone().unwrap(),
        Make::Job(it) => it.metadata.name.clone().unwrap(),
        Make::Pod(it) => it.metadata.name.clone().unwrap(),
        Make::Rescale(name) | Make::Deadline(name, _) => name.clone(),
    };
    Workload {
        kind: observed.carrier,
        uid: format!("uid-{name}"),
        name,
        start: plan.ledger.process(),
        belongs: Belongs::ToAgent,
        going: false,
        drifted: false,
        limit: None,
        health: Health::Running,
    }
}

fn settled(observed: &Observed) -> Observed {
    let mut next = observed.clone();
    for _ in 0..4 {
        next = after(&next);
    }
    next
}

fn planned(observed: &Observed) -> Plan {
    plan(observed, &settings(), now())
}

fn deployment(plan: &Plan) -> &Deployment {
    match plan.make.as_ref() {
        Some(Make::Deployment(deployment)) => deployment,
        other => panic!("no Deployment is made but {other:?}"),
    }
}

fn job(plan: &Plan) -> &Job {
    match plan.make.as_ref() {
        Some(Make::Job(job)) => job,
        other => panic!("no Job is made but {other:?}"),
    }
}

/// LIFE-02
#[test]
fn a_running_persistent_agent_gets_one_deployment_of_one_replica() {
    let plan = planned(&fresh());
    let deployment = deployment(&plan);
    assert_eq!(deployment.metadata.name.as_deref(), Some("foundry-agent-ann"));
    let spec = deployment.spec.as_ref().unwrap();
    assert_eq!(spec.replicas, Some(1));
    assert_eq!(spec.strategy.as_ref().unwrap().type_.as_deref(), Some("Recreate"));
    assert_eq!(plan.ledger.start_number, 1, "the first sight of a running agent is a start");
    assert_eq!(plan.outlook.state, AgentState::Pending, "nothing has started yet");
}

/// LIFE-02
#[test]
fn a_start_of_what_runs_already_makes_nothing_and_is_ready() {
    let plan = planned(&settled(&fresh()));
    assert_eq!((plan.make, plan.remove), (None, vec![]));
    assert_eq!(plan.outlook.readiness, Readiness::Ready);
    assert_eq!(plan.outlook.state, AgentState::Running);
}

/// LIFE-03
#[test]
fn a_restart_raises_the_number_and_recycles_the_pod_by_its_template() {
    let mut observed = settled(&fresh());
    observed.spec.starts = Some(1);
    let plan = planned(&observed);
    assert_eq!(plan.ledger.start_number, 2);
    let template = deployment(&plan).spec.as_ref().unwrap().template.metadata.as_ref().unwrap();
    let number = &template.annotations.as_ref().unwrap()["foundry.flow.life/process-start"];
    assert_eq!(number, "2");
    assert_eq!(plan.remove, vec![], "the Deployment itself stays");
}

/// LIFE-04
#[test]
fn an_on_demand_agent_starts_without_a_workload() {
    let mut observed = fresh();
    observed.spec.activation = Some(Activation::OnDemand);
    let plan = planned(&observed);
    assert_eq!(plan.make, None);
    assert_eq!(plan.outlook.state, AgentState::OnDemand);
    assert_eq!(plan.outlook.readiness, Readiness::Ready);
    assert_eq!(plan.ledger.start_number, 1);
}

/// LIFE-07
#[test]
fn an_ephemeral_agent_runs_once_as_a_job_bounded_in_time() {
    let plan = planned(&ephemeral());
    let job = job(&plan);
    assert_eq!(job.metadata.name.as_deref(), Some("foundry-agent-ann-1"));
    let spec = job.spec.as_ref().unwrap();
    assert_eq!(spec.backoff_limit, Some(0));
    assert_eq!(spec.active_deadline_seconds, Some(600));
    assert!(spec.ttl_seconds_after_finished.is_some());
    assert_eq!(spec.pod_replacement_policy.as_deref(), Some("Failed"));
    let template = spec.template.spec.as_ref().unwrap();
    assert_eq!(template.restart_policy.as_deref(), Some("Never"));
}

/// LIFE-07
#[test]
fn a_ttl_beyond_what_a_deadline_can_say_is_cut_to_it() {
    let mut observed = ephemeral();
    observed.spec.ttl_at = Some(in_seconds(3_000_000_000));
    let spec = job(&planned(&observed)).spec.clone().unwrap();
    assert_eq!(spec.active_deadline_seconds, Some(i64::from(i32::MAX)));
}

/// LIFE-07: an operator that was away must still find that it finished, or it would run
/// again.
#[test]
fn a_finished_job_is_kept_until_the_agent_is_over() {
    let mut observed = ephemeral();
    observed.spec.ttl_at = Some(in_seconds(90_000));
    let spec = job(&planned(&observed)).spec.clone().unwrap();
    assert_eq!(spec.ttl_seconds_after_finished, Some(90_000));
    observed.spec.ttl_at = Some(in_seconds(60));
    let spec = job(&planned(&observed)).spec.clone().unwrap();
    assert_eq!(spec.ttl_seconds_after_finished, Some(3_600), "long enough to be looked at");
}

/// LIFE-07, CODE-24: the deadline of a Job follows `ttlAt`, counted from its begin.
#[test]
fn a_moved_ttl_moves_the_deadline_of_the_job_and_rolls_nothing() {
    let mut observed = settled(&ephemeral());
    let began = in_seconds(-100).0;
    observed.workloads[0].limit = Some(Limit { began, seconds: 730 });
    assert_eq!(planned(&observed).make, None, "half a minute of difference is none");
    observed.spec.ttl_at = Some(in_seconds(7_200));
    let moved = Make::Deadline("foundry-agent-ann-1".to_owned(), 7_300);
    let plan = planned(&observed);
    assert_eq!((plan.make, plan.remove), (Some(moved), vec![]));
    observed.workloads[0].limit = Some(Limit { began, seconds: 7_300 });
    assert_eq!(planned(&observed).make, None);
    observed.workloads[0].limit = Some(Limit { began, seconds: 730 });
    observed.workloads[0].health = Health::Succeeded;
    assert_eq!(planned(&observed).make, None, "what is over needs no more time");
}

/// LIFE-08, LIFE-09
#[test]
fn a_start_after_stop_removes_the_earlier_job_before_it_makes_the_next() {
    let mut observed = settled(&ephemeral());
    observed.spec.starts = Some(1);
    let first = planned(&observed);
    assert_eq!(first.ledger.start_number, 2);
    assert_eq!(first.make, None, "the earlier Job's pods may live");
    assert_eq!(first.remove[0].name, "foundry-agent-ann-1");
    assert_eq!(first.outlook.reason, reason::DRAINING);

    let mut leaving = after(&observed);
    leaving.workloads = vec![Workload { going: true, ..observed.workloads[0].clone() }];
    let second = planned(&leaving);
    assert_eq!((second.make, second.remove), (None, vec![]), "it is told once");

    leaving.workloads.clear();
    assert_eq!(job(&planned(&leaving)).metadata.name.as_deref(), Some("foundry-agent-ann-2"));
}

/// LIFE-10
#[rstest]
#[case::persistent(fresh())]
#[case::ephemeral(ephemeral())]
fn a_stop_leaves_no_workload(#[case] observed: Observed) {
    let mut observed = settled(&observed);
    observed.spec.desired_state = Some(DesiredState::Stopped);
    let plan = planned(&observed);
    assert_eq!(plan.remove.len(), 1);
    assert_eq!(plan.outlook.state, AgentState::Pending, "its process still ends");

    let stopped = planned(&after(&observed));
    assert_eq!((stopped.make, stopped.remove), (None, vec![]));
    assert_eq!(stopped.outlook.state, AgentState::Stopped);
    assert_eq!(stopped.outlook.readiness, Readiness::Ready);
}

/// LIFE-12
#[test]
fn an_ephemeral_agent_is_expired_at_its_ttl_even_when_stopped() {
    for desired in [DesiredState::Running, DesiredState::Stopped] {
        let mut observed = ephemeral();
        observed.spec.desired_state = Some(desired);
        observed.spec.ttl_at = Some(in_seconds(0));
        let plan = planned(&observed);
        assert!(plan.expire);
        assert_eq!(plan.make, None);
        assert_eq!(plan.outlook.state, AgentState::Expired);
    }
}

/// LIFE-12
#[test]
fn an_ephemeral_agent_is_looked_at_again_at_its_ttl() {
    let mut observed = settled(&ephemeral());
    observed.spec.ttl_at = Some(in_seconds(42));
    let plan = planned(&observed);
    assert!(!plan.expire);
    assert_eq!(plan.look_again, Duration::from_secs(42));
}

#[test]
fn a_persistent_agent_has_no_end_whatever_its_ttl_says() {
    let mut observed = fresh();
    observed.spec.ttl_at = Some(in_seconds(-10));
    assert!(!planned(&observed).expire);
}

/// LIFE-13
#[test]
fn a_restart_of_an_expired_agent_is_a_new_job() {
    let mut observed = ephemeral();
    observed.spec.ttl_at = Some(in_seconds(0));
    let mut observed = settled(&after(&observed));
    assert_eq!(observed.status.start_number.unwrap_or(0), 0, "it never ran");
    observed.spec.lifecycle = Some(Lifecycle::Active);
    observed.spec.desired_state = Some(DesiredState::Running);
    observed.spec.starts = Some(1);
    observed.spec.ttl_at = Some(in_seconds(4 * 3600));
    assert_eq!(job(&planned(&observed)).metadata.name.as_deref(), Some("foundry-agent-ann-1"));
}

type Edit = fn(&mut AgentSpec);

/// LIFE-16
#[rstest]
#[case::instructions(|spec: &mut AgentSpec| spec.instructions = Some("do more".to_owned()))]
#[case::model(|spec: &mut AgentSpec| spec.model = Some("gpt-5".to_owned()))]
#[case::harness(|spec: &mut AgentSpec| spec.harness = "agent-v2".to_owned())]
#[case::skills(|spec: &mut AgentSpec| spec.skills = vec![SkillRef { name: "x".to_owned(), version: None }])]
#[case::tools(|spec: &mut AgentSpec| spec.tools = vec!["send_email".to_owned()])]
fn an_edit_raises_the_number_and_leaves_the_process_alone(#[case] edit: Edit) {
    let mut observed = settled(&fresh());
    edit(&mut observed.spec);
    let plan = planned(&observed);
    assert_eq!(plan.ledger.start_number, 2);
    assert_eq!(plan.ledger.process(), Some(1));
    assert_eq!((plan.make, plan.remove), (None, vec![]));
}

/// LIFE-16, LIFE-22
#[rstest]
#[case::display_name(|spec: &mut AgentSpec| spec.display_name = Some("Ann".to_owned()))]
#[case::members(|spec: &mut AgentSpec| spec.members = vec![])]
#[case::explicit_default(|spec: &mut AgentSpec| spec.model = Some("auto".to_owned()))]
fn other_edits_raise_nothing(#[case] edit: Edit) {
    let mut observed = settled(&fresh());
    edit(&mut observed.spec);
    assert_eq!(planned(&observed).ledger.start_number, 1);
}

/// LIFE-16: what is rendered anew after an edit belongs to the next start.
#[test]
fn a_changed_harness_rolls_no_pod() {
    let mut observed = settled(&fresh());
    observed.harness =
        Some(HarnessSpec { image: Some("other:2".to_owned()), ..HarnessSpec::default() });
    let plan = planned(&observed);
    assert_eq!((plan.make, plan.remove), (None, vec![]));
}

/// LIFE-16: what is on another host is so from the next start on.
#[test]
fn a_harness_of_the_conversation_server_ends_no_running_process() {
    let mut observed = settled(&fresh());
    let chat = HarnessSpec { host: Some(HarnessHost::Chat), ..HarnessSpec::default() };
    observed.harness = Some(chat);
    observed.spec.harness = "chat-v1".to_owned();
    let plan = planned(&observed);
    assert_eq!((plan.make, plan.remove), (None, vec![]));
    assert_eq!(plan.outlook.state, AgentState::Running);

    observed.spec.starts = Some(1);
    let plan = planned(&observed);
    assert_eq!((plan.make, plan.remove.len()), (None, 1));
    assert_eq!(planned(&after(&observed)).outlook.state, AgentState::OnDemand);
}

#[test]
fn a_deleted_deployment_comes_back_and_a_finished_job_does_not() {
    let mut persistent = settled(&fresh());
    persistent.workloads.clear();
    assert!(planned(&persistent).make.is_some());

    let mut ephemeral = settled(&ephemeral());
    ephemeral.workloads.clear();
    assert!(planned(&ephemeral).make.is_some(), "it had not finished");
    ephemeral.status.finished_start = Some(1);
    let plan = planned(&ephemeral);
    assert_eq!((plan.make, plan.outlook.reason), (None, reason::COMPLETED));
}

#[rstest]
#[case::well(Health::Succeeded, Readiness::Ready, reason::COMPLETED)]
#[case::badly(Health::Failed("Error: no".to_owned()), Readiness::Stalled, reason::FAILED)]
fn a_job_that_ended_is_final_for_its_number(
    #[case] health: Health,
    #[case] readiness: Readiness,
    #[case] reason: &str,
) {
    let mut observed = settled(&ephemeral());
    observed.workloads[0].health = health;
    let plan = planned(&observed);
    assert_eq!(plan.finished_start, Some(1));
    assert_eq!((plan.outlook.readiness, plan.outlook.reason), (readiness, reason));
    assert_eq!((plan.make, plan.remove), (None, vec![]), "it stays to be looked at");
}

#[test]
fn a_failure_is_still_told_when_its_job_is_gone() {
    let mut observed = settled(&ephemeral());
    observed.workloads.clear();
    observed.status.finished_start = Some(1);
    observed.status.conditions = vec![Condition {
        type_: kind::READY.to_owned(),
        status: "False".to_owned(),
        reason: reason::FAILED.to_owned(),
        message: "OOMKilled".to_owned(),
        observed_generation: None,
        last_transition_time: Time(now()),
    }];
    let plan = planned(&observed);
    assert_eq!((plan.outlook.reason, plan.outlook.message.as_str()), (reason::FAILED, "OOMKilled"));
}

/// OPS-01, LIFE-09
#[test]
fn a_local_restart_waits_until_the_earlier_process_is_gone() {
    let mut observed = fresh();
    observed.carrier = WorkloadKind::Pod;
    let mut observed = settled(&observed);
    observed.spec.starts = Some(1);
    assert_eq!(planned(&observed).remove[0].name, "foundry-agent-ann-1-local");
    let mut ending = after(&observed);
    ending.draining = true;
    assert_eq!(planned(&ending).make, None);
    ending.draining = false;
    let Some(Make::Pod(pod)) = planned(&ending).make else { panic!("no Pod is made") };
    assert_eq!(pod.metadata.name.as_deref(), Some("foundry-agent-ann-2-local"));
    assert_eq!(pod.spec.unwrap().scheduler_name.as_deref(), Some("foundry-local"));
}

/// OPS-01: a change of runtime moves the process; it never doubles it.
#[test]
fn a_workload_of_the_other_runtime_goes_first() {
    let mut observed = settled(&fresh());
    observed.carrier = WorkloadKind::Pod;
    let plan = planned(&observed);
    assert_eq!(plan.remove[0].name, "foundry-agent-ann");
    assert_eq!(plan.make, None);
}
