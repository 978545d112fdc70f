//! When a task may be called completed.

use fakes::model::{Reply, Wire};
use foundry_client::CodingOutcome;
use serde_json::json;

use crate::project::{RIGHT, add, check, commit_work, edit, finish, mend, plan, run};
use crate::scene::Scene;

async fn built(steps: impl IntoIterator<Item = Reply>) -> Scene {
    let scene = Scene::answered(Wire::OpenAi, &["build"]).await;
    scene.model.script(std::iter::once(plan("# Plan")).chain(steps));
    scene
}

/// CODE-18
#[tokio::test]
async fn neither_an_earlier_pass_nor_a_failing_check_nor_another_command_opens_the_gate() {
    let scene = built([
        mend(),
        check(), // passes
        edit(RIGHT, "`Good day, ${name}!`"),
        finish("completed"), // 5: an edit came after the pass
        check(),             // fails
        finish("completed"), // 7
        run(&["ls"]),
        finish("completed"), // 9: ls is no check
        edit("`Good day, ${name}!`", RIGHT),
        check(),
        add(),
        commit_work(),
        finish("completed"),
    ])
    .await;
    scene.ends_as(CodingOutcome::Completed).await;
    for refused in [6, 8, 10] {
        let words = scene.result(refused);
        assert!(words.starts_with("not completed yet:"), "request {refused}: {words}");
    }
}

/// CODE-18: what a command changes is an edit as well as any.
#[tokio::test]
async fn a_change_made_by_a_command_closes_the_gate_again() {
    let program = "require('fs').appendFileSync('greet.js', '// more\\n')";
    let scene = built([
        mend(),
        check(),
        run(&["node", "-e", program]),
        add(),
        commit_work(),
        finish("completed"),
        check(),
        finish("completed"),
    ])
    .await;
    scene.ends_as(CodingOutcome::Completed).await;
    assert!(scene.result(8).starts_with("not completed yet:"), "{}", scene.result(8));
}

/// CODE-19
#[tokio::test]
async fn documents_alone_need_no_check() {
    let write = json!({ "path": "GUIDE.md", "content": "# Guide\n" });
    let scene =
        built([Reply::call("write_file", write), add(), commit_work(), finish("completed")]).await;
    scene.ends_as(CodingOutcome::Completed).await;
}

/// CODE-18
#[tokio::test]
async fn a_task_that_changes_nothing_is_not_completed_without_a_check_that_passed() {
    let scene = built([finish("completed"), check(), finish("completed"), finish("failed")]).await;
    scene.ends_as(CodingOutcome::Failed).await;
    for refused in [3, 5] {
        let words = scene.result(refused);
        assert!(words.contains("nothing was changed"), "{words}");
    }
}

/// CODE-05, CODE-18
#[tokio::test]
async fn work_that_is_not_on_the_branch_is_not_completed() {
    let scene = built([
        run(&["git", "switch", "-c", "elsewhere"]),
        mend(),
        check(),
        add(),
        commit_work(),
        finish("completed"),
        run(&["git", "switch", "-"]),
        run(&["git", "merge", "elsewhere"]),
        check(),
        finish("completed"),
    ])
    .await;
    scene.ends_as(CodingOutcome::Completed).await;
    let words = scene.result(8);
    assert!(words.contains("is not the newest of flow/"), "{words}");
}

/// CODE-18
#[tokio::test]
async fn what_is_committed_and_taken_back_in_the_files_alone_is_not_completed() {
    let scene = built([
        mend(),
        add(),
        commit_work(),
        run(&["git", "checkout", "main", "--", "."]),
        finish("completed"),
        finish("failed"),
    ])
    .await;
    scene.ends_as(CodingOutcome::Failed).await;
    assert!(scene.result(7).contains("not committed"), "{}", scene.result(7));
}

#[tokio::test]
async fn a_task_that_is_given_up_ends_failed_whatever_was_done() {
    let scene = built([mend(), finish("failed")]).await;
    let result = scene.ends_as(CodingOutcome::Failed).await;
    assert_eq!(result.summary, "It greets properly.");
}

/// CODE-10
#[tokio::test]
async fn a_change_outside_the_permitted_paths_must_be_put_back() {
    let mut scene = Scene::answered(Wire::OpenAi, &["build"]).await;
    scene.paths = vec!["greet.js".to_owned()];
    let program = "require('fs').appendFileSync('package.json', '\\n')";
    scene.model.script([
        plan("# Plan"),
        Reply::call("write_file", json!({ "path": "package.json", "content": "{}" })),
        mend(),
        run(&["node", "-e", program]),
        check(),
        add(),
        commit_work(),
        finish("completed"),
        run(&["git", "checkout", "main", "--", "package.json"]),
        check(),
        run(&["git", "commit", "--amend", "--no-edit"]),
        finish("completed"),
    ]);
    scene.ends_as(CodingOutcome::Completed).await;
    assert!(!scene.result(3).contains("wrote"), "{}", scene.result(3));
    let words = scene.result(9);
    assert!(
        words.contains("outside the permitted paths") && words.contains("package.json"),
        "{words}"
    );
}
