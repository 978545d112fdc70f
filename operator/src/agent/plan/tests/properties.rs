//! What holds for any life of an agent.

use proptest::prelude::*;

use super::*;

/// What may happen to an agent between two looks.
#[derive(Debug, Clone)]
enum Happening {
    Start,
    Restart,
    Stop,
    FlipToRunning,
    Edit(u8),
    Archive,
    Expire,
    Activate,
    HarnessGoes,
    HarnessComes,
    WorkloadsGo,
    ProcessEnds(bool),
    OperatorDiesAfterRecording,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        Just(Happening::Start),
        Just(Happening::Restart),
        Just(Happening::Stop),
        Just(Happening::FlipToRunning),
        any::<u8>().prop_map(Happening::Edit),
        Just(Happening::Archive),
        Just(Happening::Expire),
        Just(Happening::Activate),
        Just(Happening::HarnessGoes),
        Just(Happening::HarnessComes),
        Just(Happening::WorkloadsGo),
        any::<bool>().prop_map(Happening::ProcessEnds),
        Just(Happening::OperatorDiesAfterRecording),
    ]
}

fn happen(observed: &mut Observed, happening: &Happening) {
    let spec = &mut observed.spec;
    match happening {
        Happening::Start | Happening::Restart => {
            spec.desired_state = Some(DesiredState::Running);
            spec.starts = Some(spec.starts.unwrap_or(0) + 1);
        }
        Happening::Stop => spec.desired_state = Some(DesiredState::Stopped),
        Happening::FlipToRunning => spec.desired_state = None,
        Happening::Edit(text) => spec.instructions = Some(text.to_string()),
        Happening::Archive => spec.lifecycle = Some(Lifecycle::Archive),
        Happening::Expire => spec.lifecycle = Some(Lifecycle::Expired),
        Happening::Activate => spec.lifecycle = Some(Lifecycle::Active),
        Happening::HarnessGoes => observed.harness = None,
        Happening::HarnessComes => observed.harness = Some(HarnessSpec::default()),
        Happening::WorkloadsGo => observed.workloads.clear(),
        Happening::ProcessEnds(well) => {
            for workload in &mut observed.workloads {
                if workload.kind == WorkloadKind::Job {
                    workload.health =
                        if *well { Health::Succeeded } else { Health::Failed("no".to_owned()) };
                }
            }
        }
        Happening::OperatorDiesAfterRecording => {
            let ledger = planned(observed).ledger;
            observed.status.start_number = Some(ledger.start_number);
            observed.status.config_digest = Some(ledger.config_digest);
            observed.status.observed_desired_state = Some(ledger.desired_state);
            observed.status.last_start = ledger.last_start;
        }
    }
}

fn wants_a_process(observed: &Observed) -> bool {
    observed.spec.lifecycle() == Lifecycle::Active
        && observed.spec.desired_state() == DesiredState::Running
}

proptest! {
    /// LIFE-09, WORK-01
    #[test]
    fn never_two_workloads_and_never_one_name_twice(
        is_ephemeral in any::<bool>(),
        happenings in prop::collection::vec(happening(), 1..40),
    ) {
        let mut observed = if is_ephemeral { ephemeral() } else { fresh() };
        for it in &happenings {
            happen(&mut observed, it);
            observed = after(&observed);
            prop_assert!(observed.workloads.len() <= 1, "{:?}", observed.workloads);
        }
    }

    /// WORK-01
    #[test]
    fn a_plan_is_the_same_from_the_same_observation_and_settles(
        is_ephemeral in any::<bool>(),
        happenings in prop::collection::vec(happening(), 1..40),
    ) {
        let mut observed = if is_ephemeral { ephemeral() } else { fresh() };
        for it in &happenings {
            happen(&mut observed, it);
            prop_assert_eq!(planned(&observed), planned(&observed));
            observed = after(&observed);
        }
        let settled = settled(&observed);
        let plan = planned(&settled);
        prop_assert_eq!(plan.make, None);
        prop_assert_eq!(plan.remove, vec![]);
        prop_assert_eq!(after(&settled).status, settled.status);
    }

    /// LIFE-03, LIFE-08, LIFE-16
    #[test]
    fn the_number_only_rises_and_the_process_never_runs_ahead_of_it(
        is_ephemeral in any::<bool>(),
        happenings in prop::collection::vec(happening(), 1..40),
    ) {
        let mut observed = if is_ephemeral { ephemeral() } else { fresh() };
        let mut before = 0;
        for it in &happenings {
            happen(&mut observed, it);
            observed = after(&observed);
            let number = observed.status.start_number.unwrap_or(0);
            prop_assert!(number == before || number == before + 1 || matches!(it, Happening::OperatorDiesAfterRecording));
            prop_assert!(observed.status.last_start.as_ref().is_none_or(|start: &LastStart| start.number <= number));
            before = number;
        }
    }

    /// LIFE-10
    #[test]
    fn what_should_not_run_does_not(
        is_ephemeral in any::<bool>(),
        happenings in prop::collection::vec(happening(), 1..40),
    ) {
        let mut observed = if is_ephemeral { ephemeral() } else { fresh() };
        for it in &happenings {
            happen(&mut observed, it);
            observed = after(&observed);
        }
        let settled = settled(&observed);
        if !wants_a_process(&settled) {
            prop_assert_eq!(settled.workloads, vec![]);
        }
    }

    /// LIFE-16
    #[test]
    fn an_edit_alone_never_touches_a_workload(texts in prop::collection::vec(any::<u8>(), 1..20)) {
        let mut observed = settled(&fresh());
        for text in texts {
            happen(&mut observed, &Happening::Edit(text));
            let plan = planned(&observed);
            prop_assert_eq!(plan.make, None);
            prop_assert_eq!(plan.remove, vec![]);
            observed = after(&observed);
        }
    }
}
