//! What stands in the way of a process, and what a person is told.

use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;

#[test]
fn a_missing_harness_is_waited_for_and_takes_nothing_down() {
    let mut observed = fresh();
    observed.harness = None;
    let plan = planned(&observed);
    assert_eq!(plan.make, None);
    assert_eq!(plan.outlook.reason, reason::HARNESS_NOT_FOUND);
    assert_eq!(plan.outlook.readiness, Readiness::Reconciling);
    assert_eq!(plan.look_again, MISSING_AGAIN);

    let mut running = settled(&fresh());
    running.harness = None;
    let plan = planned(&running);
    assert_eq!(plan.remove, vec![]);
    assert!(plan.outlook.running, "what runs goes on");

    let mut healed = after(&observed);
    healed.harness = Some(HarnessSpec::default());
    let plan = planned(&healed);
    assert_eq!(plan.ledger.start_number, 1, "it heals untouched, under its number");
    assert!(plan.make.is_some());
}

fn on_a_repository() -> Observed {
    let mut observed = ephemeral();
    observed.spec.repository = Some(foundry_crds::coding_run::Repository::default());
    observed
}

fn coding() -> HarnessSpec {
    HarnessSpec { features: vec!["repo_scope".to_owned()], ..HarnessSpec::default() }
}

/// CODE-09
#[test]
fn an_agent_with_a_repository_waits_for_a_harness_that_can_work_on_it() {
    let mut observed = on_a_repository();
    let plan = planned(&observed);
    assert_eq!((plan.make, plan.outlook.reason), (None, reason::HARNESS_LACKS_FEATURE));
    assert_eq!(plan.outlook.readiness, Readiness::Stalled);
    observed.harness = Some(HarnessSpec { host: Some(HarnessHost::Chat), ..coding() });
    let plan = planned(&observed);
    assert_eq!((plan.make, plan.outlook.reason), (None, reason::HARNESS_LACKS_FEATURE));
    assert!(plan.outlook.message.contains("has no pods"), "{}", plan.outlook.message);
    observed.harness = Some(coding());
    assert!(planned(&observed).make.is_some(), "it heals untouched");
}

/// WORK-12: what is missing is waited for, and said.
#[test]
fn a_pod_that_waits_for_its_secret_says_which_and_heals() {
    let mut observed = on_a_repository();
    observed.harness = Some(coding());
    let mut observed = settled(&observed);
    observed.workloads[0].health = Health::Waiting("ContainerCreating".to_owned());
    observed.missing_secret = Some("foundry-harness-ssh");
    let plan = planned(&observed);
    assert_eq!((plan.make, plan.look_again), (None, MISSING_AGAIN));
    assert_eq!(plan.outlook.reason, reason::SECRET_NOT_FOUND);
    assert_eq!(plan.outlook.readiness, Readiness::Reconciling);
    assert!(plan.outlook.message.contains("\"foundry-harness-ssh\" not found"));
    observed.workloads[0].health = Health::Running;
    assert_eq!(planned(&observed).outlook.reason, reason::RUNNING);
}

/// LIFE-20
#[test]
fn the_later_agent_of_a_slug_is_stalled_and_starts_nothing() {
    let mut observed = fresh();
    observed.slug_holder = Some("team/older".to_owned());
    let plan = planned(&observed);
    assert_eq!(plan.make, None);
    assert_eq!(plan.outlook.readiness, Readiness::Stalled);
    assert_eq!(plan.outlook.reason, reason::SLUG_TAKEN);
    assert!(plan.outlook.message.contains("team/older"), "{}", plan.outlook.message);
}

#[rstest]
#[case::missing(Parent::Missing("pa".to_owned()), reason::PARENT_NOT_FOUND)]
#[case::foreign(Parent::OwnedBy("mallory".to_owned()), reason::PARENT_OWNER)]
fn a_child_of_nobody_or_of_somebody_elses_agent_is_not_started(
    #[case] parent: Parent,
    #[case] reason: &str,
) {
    let mut observed = ephemeral();
    observed.parent = parent;
    let plan = planned(&observed);
    assert_eq!((plan.make, plan.outlook.reason), (None, reason));
    observed.parent = Parent::OwnedBy("eve".to_owned());
    assert!(planned(&observed).make.is_some());
}

#[rstest]
#[case::of_an_earlier_agent(Belongs::ToAnother, reason::DRAINING)]
#[case::of_a_person(Belongs::ToNobody, reason::NAME_TAKEN)]
fn a_workload_of_somebody_else_is_never_taken_over(#[case] belongs: Belongs, #[case] reason: &str) {
    let mut observed = settled(&fresh());
    observed.workloads[0].belongs = belongs;
    let plan = planned(&observed);
    assert_eq!((plan.make, plan.remove, plan.outlook.reason), (None, vec![], reason));
}

#[test]
fn replicas_changed_by_another_hand_are_put_back_without_a_new_template() {
    let mut observed = settled(&fresh());
    observed.workloads[0].drifted = true;
    assert_eq!(planned(&observed).make, Some(Make::Rescale("foundry-agent-ann".to_owned())));
}

#[rstest]
#[case(Health::Waiting("Unschedulable".to_owned()), AgentState::Pending, reason::PENDING, false)]
#[case(Health::Running, AgentState::Running, reason::RUNNING, true)]
#[case(Health::Crashing("again".to_owned()), AgentState::Pending, reason::CRASH_LOOP, false)]
fn the_state_is_running_only_while_a_process_lives(
    #[case] health: Health,
    #[case] state: AgentState,
    #[case] reason: &str,
    #[case] running: bool,
) {
    let mut observed = settled(&fresh());
    observed.workloads[0].health = health;
    let outlook = planned(&observed).outlook;
    assert_eq!((outlook.state, outlook.reason, outlook.running), (state, reason, running));
}
