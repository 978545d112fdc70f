//! How a coding agent's task stands.

use foundry_store::{
    AfterResult, AgentStart, CODING_TASK, CodingCheck, CodingProgress, CodingPullRequest,
    CodingResult, CodingTask, Error, PlanApproval, Store,
};
use pretty_assertions::assert_eq;
use rstest::rstest;

use crate::backend::{Backend, ann, at, other_ann, plan, start};

async fn task(store: &Store) -> CodingTask {
    store.coding_task(&ann(), "uid-1").await.unwrap().unwrap()
}

fn turns(turns: i64) -> CodingProgress {
    CodingProgress { turns: Some(turns), ..CodingProgress::default() }
}

fn ended(outcome: &str) -> CodingProgress {
    let result = CodingResult { outcome: outcome.into(), summary: "so it went".into() };
    CodingProgress { result: Some(result), ..CodingProgress::default() }
}

fn check(name: &str, passed: bool) -> CodingCheck {
    CodingCheck { name: name.into(), passed }
}

#[rstest]
#[tokio::test]
async fn a_report_changes_what_it_names_and_leaves_the_rest(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    assert_eq!(store.coding_task(&ann(), "uid-1").await.unwrap(), None);
    let first = CodingProgress {
        branch: Some("flow/fix".into()),
        base_commit: Some("aa".into()),
        checks: Some(vec![check("go vet \"./...\"", true), check("go test ./...", false)]),
        attempts: Some(1),
        turns: Some(3),
        ..CodingProgress::default()
    };
    store.report_coding(&start(2), first, at(0)).await.unwrap();
    let second = CodingProgress {
        head_commit: Some("bb".into()),
        checks: Some(vec![check("go test ./...", true)]),
        turns: Some(9),
        pull_request: Some(CodingPullRequest { url: "https://h/7".into(), number: 7 }),
        ..CodingProgress::default()
    };
    store.report_coding(&start(2), second, at(1)).await.unwrap();
    let expected = CodingTask {
        generation: 2,
        branch: Some("flow/fix".into()),
        base_commit: Some("aa".into()),
        head_commit: Some("bb".into()),
        plan: None,
        approval: None,
        checks: vec![check("go test ./...", true)],
        attempts: 1,
        turns: 9,
        pull_request: Some(CodingPullRequest { url: "https://h/7".into(), number: 7 }),
        result: None,
    };
    assert_eq!(task(&store).await, expected);
    assert_eq!(store.coding_task(&ann(), "uid-2").await.unwrap(), None, "another of that name");
    assert_eq!(store.coding_task(&other_ann(), "uid-1").await.unwrap(), None);
}

/// LIFE-14
#[rstest]
#[tokio::test]
async fn a_later_start_begins_anew_and_an_earlier_one_is_told_that_it_is_over(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    store.save_plan(&start(1), &plan("aa"), at(0)).await.unwrap();
    store.report_coding(&start(1), ended("failed"), at(0)).await.unwrap();
    store.report_coding(&start(3), turns(1), at(1)).await.unwrap();
    let anew = CodingTask { generation: 3, turns: 1, ..CodingTask::default() };
    assert_eq!(task(&store).await, anew);
    let late = store.report_coding(&start(2), ended("completed"), at(2)).await.unwrap_err();
    assert!(matches!(late, Error::Superseded { generation: 2, .. }), "{late:?}");
    let late = store.save_plan(&start(1), &plan("bb"), at(2)).await.unwrap_err();
    assert_eq!(late.category(), "Superseded");
    assert_eq!(store.document("document-bb").await.unwrap(), None, "nothing half-stored is left");
    assert_eq!(task(&store).await, anew);
}

#[rstest]
#[tokio::test]
async fn after_the_result_of_its_one_task_nothing_is_taken_but_the_same_report_again(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    store.report_coding(&start(1), turns(4), at(0)).await.unwrap();
    store.report_coding(&start(1), ended("completed"), at(1)).await.unwrap();
    let after = task(&store).await;
    store.report_coding(&start(1), ended("completed"), at(2)).await.unwrap();
    assert_eq!(task(&store).await, after);
    for late in [ended("failed"), turns(5), turns(4)] {
        let refused = store.report_coding(&start(1), late, at(3)).await.unwrap_err();
        assert!(matches!(refused, Error::TaskEnded { .. }), "{refused:?}");
    }
    let refused = store.save_plan(&start(1), &plan("aa"), at(3)).await.unwrap_err();
    assert_eq!(refused.category(), "TaskEnded");
    assert_eq!(task(&store).await, after);
}

/// CODE-28
#[rstest]
#[tokio::test]
async fn an_agent_with_many_tasks_begins_the_next_after_a_result(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let start = AgentStart { after_result: AfterResult::BeginAnew, ..start(1) };
    store.report_coding(&start, turns(4), at(0)).await.unwrap();
    store.report_coding(&start, ended("completed"), at(1)).await.unwrap();
    store.report_coding(&start, ended("completed"), at(2)).await.unwrap();
    assert_eq!(task(&store).await.turns, 4, "the same report again is no next task");
    store.save_plan(&start, &plan("aa"), at(3)).await.unwrap();
    let next = task(&store).await;
    assert_eq!((next.turns, next.result), (0, None));
}

/// CODE-33
#[rstest]
#[tokio::test]
async fn an_agent_approves_only_the_plan_it_saved_last(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let approving = |sha256: &str| CodingProgress {
        approval: Some(PlanApproval { sha256: sha256.into(), by: "ann@mail".into() }),
        ..CodingProgress::default()
    };
    let refused = store.report_coding(&start(1), approving("aa"), at(0)).await.unwrap_err();
    assert!(matches!(refused, Error::PlanChanged { .. }), "{refused:?}");
    store.save_plan(&start(1), &plan("aa"), at(1)).await.unwrap();
    store.report_coding(&start(1), approving("aa"), at(2)).await.unwrap();
    assert_eq!(task(&store).await.approved_by(), Some("ann@mail"));
    store.save_plan(&start(1), &plan("bb"), at(3)).await.unwrap();
    assert_eq!(task(&store).await.approved_by(), None, "the plan has changed");
    let refused = store.report_coding(&start(1), approving("aa"), at(4)).await.unwrap_err();
    assert_eq!(refused.category(), "PlanChanged");
}

#[rstest]
#[tokio::test]
async fn whatever_changes_a_task_is_in_the_outbox_with_it(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let minute = std::time::Duration::from_mins(1);
    store.report_coding(&start(1), turns(1), at(0)).await.unwrap();
    let due = store.claim_outbox(CODING_TASK, at(0), minute, 5).await.unwrap();
    assert_eq!(due.iter().map(|delivery| &delivery.key).collect::<Vec<_>>(), [&ann()]);
    // It changes again while it is on its way.
    store.save_plan(&start(1), &plan("aa"), at(1)).await.unwrap();
    store.complete_outbox(&due[0], at(2)).await.unwrap();
    let again = store.claim_outbox(CODING_TASK, at(2), minute, 5).await.unwrap();
    assert_eq!(again.len(), 1);
    store.complete_outbox(&again[0], at(3)).await.unwrap();
    assert_eq!(store.claim_outbox(CODING_TASK, at(9_999), minute, 5).await.unwrap(), []);
}

#[rstest]
#[tokio::test]
async fn a_change_is_due_at_once_though_whoever_had_the_one_before_has_died_or_failed(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let minute = std::time::Duration::from_mins(1);
    store.report_coding(&start(1), turns(1), at(0)).await.unwrap();
    let died = store.claim_outbox(CODING_TASK, at(0), minute, 5).await.unwrap();
    assert_eq!(store.claim_outbox(CODING_TASK, at(1), minute, 5).await.unwrap(), []);
    store.report_coding(&start(1), turns(2), at(2)).await.unwrap();
    let due = store.claim_outbox(CODING_TASK, at(2), minute, 5).await.unwrap();
    assert_eq!((died.len(), due.len()), (1, 1));
    store.fail_outbox(&due[0], "away", minute, at(3)).await.unwrap();
    assert_eq!(store.claim_outbox(CODING_TASK, at(3), minute, 5).await.unwrap(), []);
    store.report_coding(&start(1), ended("completed"), at(3)).await.unwrap();
    assert_eq!(store.claim_outbox(CODING_TASK, at(3), minute, 5).await.unwrap().len(), 1);
}

#[rstest]
#[tokio::test]
async fn what_no_database_holds_in_text_is_replaced(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let progress = CodingProgress {
        branch: Some("flow/\0".into()),
        checks: Some(vec![check("go\0test", true)]),
        ..ended("failed\0")
    };
    store.report_coding(&start(1), progress.clone(), at(0)).await.unwrap();
    let task = task(&store).await;
    assert_eq!(task.branch.as_deref(), Some("flow/\u{fffd}"));
    assert_eq!(task.result.unwrap().outcome, "failed\u{fffd}");
    store.report_coding(&start(1), progress, at(1)).await.unwrap();
}
