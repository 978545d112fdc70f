//! A task from its plan to its end.

use fakes::model::{Reply, Wire};
use foundry_client::{Approval, CheckView, CodingOutcome, QuestionKind};
use foundry_coding::digest::sha256;
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;

use crate::project::{RIGHT, add, check, commit_work, finish, git, mend, plan, run};
use crate::scene::Scene;

/// CODE-28, CODE-31: also CODE-18, for the gate opens only after the check passed.
#[rstest]
#[case(Wire::OpenAi)]
#[case(Wire::Anthropic)]
#[tokio::test]
async fn a_task_is_planned_approved_built_checked_and_committed(#[case] wire: Wire) {
    let scene = Scene::answered(wire, &["build"]).await;
    scene.model.script([
        Reply::call("list_dir", json!({})).and_call("read_file", json!({ "path": "greet.js" })),
        check(),
        plan("# Plan\n\nPut the comma in."),
        mend().and_text("The template lacks its comma."),
        finish("completed"),
        check(),
        finish("completed"),
        add().and_call("run_command", json!({ "command": ["git", "commit", "-m", "Greet"] })),
        finish("completed"),
    ]);
    let result = scene.ends_as(CodingOutcome::Completed).await;
    assert_eq!(result.summary, "It greets properly.");

    let requests = scene.model.requests();
    assert!(requests[0].system().contains("# Planning"));
    assert_eq!(scene.said(1), "# Task\n\nFix the greeting.");
    assert!(requests[3].system().contains("# Building"));
    assert_eq!(
        scene.said(4),
        "# Task\n\nFix the greeting.\n\n# Approved plan\n\n# Plan\n\nPut the comma in."
    );
    assert!(scene.result(3).contains("greets by name"), "{}", scene.result(3));
    assert!(scene.result(6).starts_with("not completed yet:\n- "), "{}", scene.result(6));
    assert!(scene.result(8).contains("not committed"), "{}", scene.result(8));
    for (earlier, later) in [(0, 1), (1, 2), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8)] {
        assert!(requests[later].extends(&requests[earlier]), "{later} begins as {earlier} did");
    }

    let folder = scene.folder.path();
    let mended = std::fs::read_to_string(folder.join("greet.js")).unwrap();
    assert!(mended.contains(RIGHT), "{mended}");
    assert_eq!(git(folder, &["log", "--format=%s", "main..flow/fix-greeting"]), "Greet");
    let progress = scene.progress();
    assert_eq!(progress.checks, [CheckView { name: "node --test".to_owned(), passed: true }]);
    assert_eq!((progress.attempts, progress.turns), (2, 9));
    assert_eq!(progress.head_commit.as_deref(), Some(git(folder, &["rev-parse", "HEAD"]).as_str()));
    assert_ne!(progress.head_commit, progress.base_commit);
}

/// CODE-28: while planning there is nothing to change anything with, and no end but a plan.
#[tokio::test]
async fn each_phase_offers_its_own_tools() {
    let scene = Scene::answered(Wire::OpenAi, &["build"]).await;
    scene.model.script([plan("# Plan"), finish("failed")]);
    scene.ends_as(CodingOutcome::Failed).await;
    let offered: Vec<Vec<String>> =
        scene.model.requests().iter().map(fakes::model::Captured::tools).collect();
    let both = ["list_dir", "glob", "grep", "explore", "read_file", "run_command", "ask_question"];
    for tool in both {
        assert!(offered.iter().all(|tools| tools.contains(&tool.to_owned())), "{tool}");
    }
    let only = |phase: usize| -> Vec<String> {
        let other = &offered[1 - phase];
        offered[phase].iter().filter(|tool| !other.contains(tool)).cloned().collect()
    };
    assert_eq!(only(0), ["save_coding_plan"]);
    assert_eq!(only(1), ["edit_file", "write_file", "delete_file", "finish"]);
}

/// CODE-31
#[rstest]
#[case(Wire::OpenAi)]
#[case(Wire::Anthropic)]
#[tokio::test]
async fn words_other_than_build_change_the_plan_and_its_digest(#[case] wire: Wire) {
    let scene = Scene::answered(wire, &["Keep the old text, too.", " BUILD "]).await;
    scene.model.script([plan("# First"), plan("# Second"), finish("failed")]);
    scene.ends_as(CodingOutcome::Failed).await;

    let asked = scene.desk.asked.lock().unwrap().clone();
    let digests: Vec<_> = asked.iter().map(|one| one.plan_sha256.clone().unwrap()).collect();
    assert_eq!(digests, [sha256("# First"), sha256("# Second")]);
    assert!(asked.iter().all(|one| one.kind == QuestionKind::Plan));
    let requests = scene.model.requests();
    assert!(requests[1].extends(&requests[0]), "planning goes on where it was");
    assert!(scene.said(2).contains("Keep the old text, too."), "{}", scene.said(2));
    assert!(scene.said(3).ends_with("# Approved plan\n\n# Second"), "{}", scene.said(3));
}

/// CODE-32, CODE-33
#[tokio::test]
async fn an_agent_that_approves_itself_builds_at_once_and_answers_as_it_recommends() {
    let mut scene = Scene::new(Wire::OpenAi).await;
    scene.approval = Approval::Itself;
    let question = json!({ "question": "Which mark?", "options": ["!", "?"], "recommended": "!" });
    scene.model.script([
        Reply::call("ask_question", question),
        plan("# Plan"),
        Reply::call("ask_question", json!({ "question": "And in Korean?" })),
        finish("failed"),
    ]);
    scene.ends_as(CodingOutcome::Failed).await;
    assert!(scene.desk.asked.lock().unwrap().is_empty(), "nobody is asked");
    assert_eq!(scene.result(2), "!");
    assert!(scene.result(4).starts_with("Nobody is asked in this run"), "{}", scene.result(4));
    assert_eq!(scene.desk.answered_itself.lock().unwrap().len(), 2);
    assert_eq!(scene.progress().approved_plan_sha256, Some(sha256("# Plan")));
}

/// CODE-17
#[tokio::test]
async fn the_answer_of_a_person_is_the_result_of_the_question() {
    let scene = Scene::answered(Wire::Anthropic, &["Korean, please.", "build"]).await;
    let question = json!({ "question": "Which language?", "options": ["English", "Korean"] });
    scene.model.script([Reply::call("ask_question", question), plan("# Plan"), finish("failed")]);
    scene.ends_as(CodingOutcome::Failed).await;
    assert_eq!(scene.result(2), "Korean, please.");
    let asked = scene.desk.asked.lock().unwrap().clone();
    assert_eq!(asked[0].kind, QuestionKind::Question);
    assert_eq!(asked[0].options, ["English", "Korean"]);
}

/// CODE-16
#[tokio::test]
async fn the_task_list_is_kept_through_the_run() {
    let scene = Scene::answered(Wire::OpenAi, &["build"]).await;
    scene.model.script([
        Reply::call("list_tasks", json!({})),
        Reply::call("add_task", json!({ "title": "Mend greet.js" }))
            .and_call("add_task", json!({ "title": "Mend README" })),
        plan("# Plan"),
        Reply::call("update_task", json!({ "task_id": 2, "status": "dropped" })),
        Reply::call("update_task", json!({ "task_id": 3, "status": "done" })),
        finish("failed"),
    ]);
    scene.ends_as(CodingOutcome::Failed).await;
    assert_eq!(scene.result(2), "The task list is empty.");
    assert_eq!(scene.result(3), "added as task 2");
    assert_eq!(scene.result(5), "1. [open] Mend greet.js\n2. [dropped] Mend README");
    assert!(scene.result(6).starts_with("there is no task 3."), "{}", scene.result(6));
}

/// CODE-12, CODE-05
#[tokio::test]
async fn a_command_runs_only_when_it_is_allowed() {
    let mut scene = Scene::answered(Wire::OpenAi, &["build"]).await;
    scene.extra_commands = vec!["true".to_owned()];
    scene.model.script([
        run(&["sh", "-c", "true"]),
        run(&["git", "push"]),
        run(&["true"]),
        run(&["pwd"]),
        Reply::call("run_command", json!({ "command": ["pwd"], "path": ".." })),
        plan("# Plan"),
        finish("failed"),
    ]);
    scene.ends_as(CodingOutcome::Failed).await;
    assert!(scene.result(2).contains("sh"), "{}", scene.result(2));
    assert!(scene.result(3).contains("git_push"), "{}", scene.result(3));
    assert!(scene.result(4).starts_with("The command ended with status 0 after"));
    let root = scene.folder.path().canonicalize().unwrap();
    assert!(scene.result(5).contains(&root.display().to_string()), "{}", scene.result(5));
    assert!(!scene.result(6).contains("ended with status"), "{}", scene.result(6));
    let ran = scene.told.data("command");
    assert_eq!(ran.len(), 2);
    assert_eq!((&ran[0]["command"], &ran[0]["exit_status"]), (&json!("true"), &json!(0)));
    assert_eq!((&ran[0]["check"], ran[0]["duration_ms"].is_u64()), (&json!(false), true));
}

#[tokio::test]
async fn a_first_request_is_small_and_offers_what_there_is() {
    for wire in [Wire::OpenAi, Wire::Anthropic] {
        let scene = Scene::answered(wire, &["build"]).await;
        scene.model.script([
            plan("# Plan"),
            mend(),
            check(),
            add(),
            commit_work(),
            finish("completed"),
        ]);
        scene.ends_as(CodingOutcome::Completed).await;
        for request in [&scene.model.requests()[0], &scene.model.requests()[1]] {
            assert!(request.raw.len() <= 15 * 1024, "{} bytes", request.raw.len());
            assert!(request.tools().len() >= 11, "{:?}", request.tools());
        }
    }
}
