use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;

fn setting() -> Setting {
    Setting {
        instructions: None,
        branch: "flow/fix-greeting".to_owned(),
        paths: Vec::new(),
        extra_commands: Vec::new(),
        delivery: Delivery::PullRequest,
    }
}

/// The headings are what scripts and readers find a phase by.
#[test]
fn each_phase_has_its_heading_and_nothing_of_the_other() {
    let planning = system(Phase::Plan, &setting());
    assert!(planning.contains("\n# Planning\n"), "{planning}");
    assert!(!planning.contains("finish"), "{planning}");
    let building = system(Phase::Build, &setting());
    assert!(building.contains("\n# Building\n"), "{building}");
    assert!(!building.contains("save_coding_plan"), "{building}");
    for prompt in [planning, building] {
        assert!(prompt.starts_with("# Policy\n\nYou are a coding agent"), "{prompt}");
        assert!(!prompt.contains("{{"), "{prompt}");
    }
}

#[test]
fn the_place_is_told_as_far_as_it_is_narrowed() {
    let repository = |setting: &Setting| {
        let prompt = system(Phase::Plan, setting);
        prompt.split_once("# Repository\n\n").unwrap().1.to_owned()
    };
    assert_eq!(
        repository(&setting()),
        "The branch flow/fix-greeting is checked out, and the work belongs on it.\n"
    );
    let narrowed = Setting {
        paths: vec!["services/a".to_owned(), "docs".to_owned()],
        extra_commands: vec!["cargo".to_owned()],
        ..setting()
    };
    assert_eq!(
        repository(&narrowed),
        "The branch flow/fix-greeting is checked out, and the work belongs on it.\n\
         You may see and change only these paths: services/a, docs\n\
         Beside the usual programs you may run: cargo\n"
    );
}

#[test]
fn standing_instructions_are_part_of_the_system_prompt() {
    let instructed = Setting { instructions: Some("Keep it simple.\n".to_owned()), ..setting() };
    assert!(
        system(Phase::Plan, &instructed).contains("\n# Instructions\n\nKeep it simple.\n\n# Pl")
    );
    let blank = Setting { instructions: Some("  ".to_owned()), ..setting() };
    assert_eq!(system(Phase::Plan, &blank), system(Phase::Plan, &setting()));
}

/// CODE-25
#[test]
fn an_attempt_opens_with_task_plan_and_what_is_known() {
    let plan = Plan { markdown: "1. Fix it.\n".to_owned(), sha256: String::new(), location: None };
    let first = Opening { task: " Fix the greeting.\n", plan: None, change: None, known: None };
    assert_eq!(opening(first), "# Task\n\nFix the greeting.");
    let later = Opening { plan: Some(&plan), known: Some("Files edited so far:\n- a.go"), ..first };
    let told = opening(later);
    assert!(
        told.starts_with("# Task\n\nFix the greeting.\n\n# Approved plan\n\n1. Fix it.\n\n# From")
    );
    assert!(told.ends_with("\n\nFiles edited so far:\n- a.go"), "{told}");
}

/// CODE-26
#[rstest]
#[case(Delivery::PullRequest, "commit what works, push it, open the pull request and call finish.")]
#[case(Delivery::Push, "commit what works, push it and call finish.")]
#[case(Delivery::Commit, "commit what works, and call finish.")]
fn with_five_turns_left_the_model_is_told_to_stop_exploring_commit_deliver_and_finish(
    #[case] delivery: Delivery,
    #[case] expected: &str,
) {
    let told = hint(Hint::LastTurns, Phase::Build, delivery, 60);
    assert!(told.starts_with("Five of your 60 turns are left in this attempt. Stop exploring"));
    assert!(told.contains(expected), "{told}");
}

/// CODE-26
#[test]
fn with_five_turns_left_of_planning_the_model_is_told_to_save_its_plan() {
    let told = hint(Hint::LastTurns, Phase::Plan, Delivery::PullRequest, 10);
    assert!(told.starts_with("Five of your 10 turns are left for planning."), "{told}");
    assert!(told.ends_with("call save_coding_plan."), "{told}");
}

/// CODE-31
#[test]
fn a_persons_words_reach_the_model_as_a_change_of_the_plan() {
    assert!(said(" Keep the old name. ").contains("\n\nKeep the old name.\n\n"));
    assert!(said("").contains("The answer was empty"));
}

/// CODE-25, CODE-31
#[test]
fn an_attempt_at_changing_a_plan_opens_with_that_plan_and_the_words_to_it() {
    let plan = Plan { markdown: "1. Fix it.\n".to_owned(), sha256: String::new(), location: None };
    let words = format!("Keep the old name. {}the end", "And more. ".repeat(100));
    let change = Change { plan, words };
    let told = opening(Opening {
        task: "Fix the greeting.",
        plan: None,
        change: Some(&change),
        known: Some("Files read so far:\n- a.go"),
    });
    assert!(told.contains("\n\n# Plan so far\n\n1. Fix it.\n\n# Change\n\nThe plan was not"));
    assert!(told.contains(&format!("\n\n{}\n\n", change.words)), "{told}");
    assert!(told.ends_with("\n\nFiles read so far:\n- a.go"), "{told}");
}
