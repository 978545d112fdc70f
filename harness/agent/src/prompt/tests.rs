use pretty_assertions::assert_eq;

use super::*;
use crate::working_set::{Cycle, Lookup};

const ANN: Identity<'_> = Identity { id: "ann", slug: "ann-of-billing", name: "Ann" };

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn log() -> WorkingSet {
    let mut log = WorkingSet::default();
    log.push(&Cycle {
        at: at("2026-01-02T10:00:00Z"),
        what: "evaluation 1 of start 7".to_owned(),
        lookups: vec![Lookup::new("recall query=x".to_owned(), "[]")],
        conclusion: "Nothing is due.".to_owned(),
    });
    log
}

/// LOOP-11
#[test]
fn the_system_prompt_is_policy_then_instructions_then_thoughts() {
    let prompt = system("Watch the invoices.", "- 2026-01-01T00:00:00Z, you: A fact.");
    let places = ["# Policy", "Watch the invoices.", "2026-01-01T00:00:00Z, you: A fact."]
        .map(|part| prompt.find(part).unwrap());
    assert!(places.is_sorted(), "{prompt}");
}

/// LOOP-12
#[test]
fn two_cycles_with_nothing_changed_send_the_same_system_prompt() {
    assert_eq!(system("Watch.", "A fact."), system("Watch.", "A fact."));
    assert!(!POLICY.contains('{'), "the policy has nothing to fill in");
}

/// LOOP-10
#[test]
fn the_cycle_log_is_in_the_user_turn_and_not_in_the_system_prompt() {
    let start = Start::begin(7, at("2026-01-02T10:00:00Z"));
    let turn = evaluation(at("2026-01-02T10:00:15Z"), ANN, &start, &log());
    assert!(turn.contains("recall query=x returned: []"), "{turn}");
    assert!(!system("Watch.", "").contains("evaluation 1"));
}

/// LOOP-14, LOOP-15
#[test]
fn the_user_turn_says_when_it_is_who_the_agent_is_and_which_start_this_is() {
    let mut start = Start::begin(7, at("2026-01-02T10:00:00Z"));
    start.evaluated(true);
    assert_eq!(
        evaluation(at("2026-01-02T10:00:15Z"), ANN, &start, &log()),
        "Time now: 2026-01-02T10:00:15Z\n\
         You are agent ann, slug ann-of-billing, shown as Ann.\n\
         This start began at 2026-01-02T10:00:00Z. It is start number 7. \
         Evaluations done in it: 1.\n\
         \n\
         Decide whether anything your instructions ask for is due now, and do it. \
         If nothing is due, say why in one short sentence and call no tool.\n\
         \n\
         Cycle log of this process, oldest first:\n\
         - evaluation 1 of start 7 at 2026-01-02T10:00:00Z\n  \
         - recall query=x returned: []\n  \
         - concluded: Nothing is due."
    );
}

/// LOOP-17
#[test]
fn work_of_each_start_is_called_due_until_the_model_has_acted() {
    let now = at("2026-01-02T10:00:15Z");
    let mut start = Start::begin(7, now);
    let due = "Work that your instructions assign to each start is due in this start";
    assert!(evaluation(now, ANN, &start, &log()).contains(due));
    start.evaluated(true);
    assert!(!evaluation(now, ANN, &start, &log()).contains(due));
}

/// LOOP-14
#[test]
fn a_wake_says_what_woke_the_agent() {
    let now = at("2026-01-02T10:00:15Z");
    let turn = wake(now, ANN, &Start::begin(1, now), &WorkingSet::default(), "A person wrote: hi");
    assert!(turn.contains("Time now: 2026-01-02T10:00:15Z"), "{turn}");
    assert!(turn.contains("A person wrote: hi"), "{turn}");
}
