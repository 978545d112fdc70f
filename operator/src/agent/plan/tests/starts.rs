//! What counts as a start, and that each counts once.

use pretty_assertions::assert_eq;

use super::*;

/// LIFE-03: whoever takes `starts` out of a manifest begins to count anew.
#[test]
fn a_start_asked_for_after_the_count_was_taken_out_is_a_start() {
    let mut observed = settled(&fresh());
    observed.spec.starts = Some(1);
    let mut observed = settled(&observed);
    assert_eq!(observed.status.start_number, Some(2));
    observed.spec.starts = None;
    let mut observed = settled(&observed);
    assert_eq!(observed.status.start_number, Some(2));
    observed.spec.starts = Some(1);
    assert_eq!(settled(&observed).status.start_number, Some(3));
}

/// LIFE-03: several requests between two looks are one start, and all are answered.
#[test]
fn starts_raised_by_five_at_once_are_one_start() {
    let mut observed = settled(&fresh());
    observed.spec.starts = Some(5);
    observed.spec.instructions = Some("do more".to_owned());
    let settled = settled(&observed);
    assert_eq!((settled.status.start_number, settled.status.observed_starts), (Some(2), Some(5)));
}

#[test]
fn a_flip_to_running_by_another_hand_counts_as_a_start() {
    let mut observed = fresh();
    observed.spec.desired_state = Some(DesiredState::Stopped);
    let mut observed = settled(&observed);
    assert_eq!(planned(&observed).ledger.start_number, 0);
    observed.spec.desired_state = None;
    let plan = planned(&observed);
    assert_eq!((plan.ledger.start_number, plan.ledger.process()), (1, Some(1)));
}

#[test]
fn a_start_verb_that_also_flips_to_running_counts_once() {
    let mut observed = fresh();
    observed.spec.desired_state = Some(DesiredState::Stopped);
    let mut observed = settled(&observed);
    observed.spec.desired_state = Some(DesiredState::Running);
    observed.spec.starts = Some(1);
    assert_eq!(settled(&observed).status.start_number, Some(1));
}

/// An operator that dies between storing the number and making the workload.
#[test]
fn a_start_that_was_recorded_and_not_made_is_made_under_the_same_number() {
    let mut observed = settled(&fresh());
    observed.spec.starts = Some(1);
    let ledger = planned(&observed).ledger;
    observed.status.start_number = Some(ledger.start_number);
    observed.status.last_start.clone_from(&ledger.last_start);
    observed.status.observed_desired_state = Some(ledger.desired_state);
    let plan = planned(&observed);
    assert_eq!(plan.ledger.start_number, 2);
    assert_eq!(plan.ledger.process(), Some(2));
    assert!(!plan.ledger.begins);
    assert_eq!(deployment(&plan).metadata.name.as_deref(), Some("foundry-agent-ann"));
}
