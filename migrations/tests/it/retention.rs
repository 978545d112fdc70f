//! What goes with an agent, and what stays.

use foundry_store::{AgentKey, AgentStart, Class, DELETED_DOCUMENT, PageRequest};
use foundry_store::{
    Author, Beat, LogEvent, NewDelivery, NewMemory, NewQuestion, NewWake, QuestionKind, Run, Store,
    Tier,
};
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;
use uuid::Uuid;

use crate::backend::{Backend, ann, at, bob, plan, reference, start};

async fn fill(store: &Store, key: &AgentKey) {
    let memory = NewMemory {
        text: "fact".into(),
        tier: Tier::Archive,
        author: Author::Agent(key.agent.clone()),
    };
    store.remember(key, memory, at(0)).await.unwrap();
    let event = LogEvent {
        id: Uuid::new_v4(),
        at: at(0),
        kind: "plan".into(),
        level: "info".into(),
        message: "documents:d1".into(),
        data: None,
    };
    store.append_log_events(key, &[event], at(0)).await.unwrap();
    store.record_wake(key, &NewWake::default(), at(0)).await.unwrap();
    let beat = Beat { at: at(0), process_id: Uuid::nil(), generation: 1, context_percent: None };
    store.heartbeat(key, beat).await.unwrap();
    let run = Run {
        id: Uuid::new_v4(),
        wake_id: None,
        reason: "tick".into(),
        started_at: at(0),
        finished_at: at(1),
        turns: 1,
        input_tokens: 1,
        output_tokens: 1,
        outcome: "completed".into(),
    };
    store.record_run(key, &run, at(1)).await.unwrap();
    let delivery = NewDelivery { topic: "t".into(), subject: "s".into(), payload: json!(1) };
    store.push_outbox(key, &delivery, at(0)).await.unwrap();
}

/// How many of each kind of row the agent has.
async fn rows(store: &Store, key: &AgentKey) -> [usize; 5] {
    let page = PageRequest { limit: 10, cursor: None };
    [
        store.list_memories(key, None, &page).await.unwrap().items.len(),
        store.read_log(key, 0, 10, None).await.unwrap().lines.len(),
        store.list_runs(key, &page).await.unwrap().items.len(),
        usize::from(store.last_heartbeat(key).await.unwrap().is_some()),
        usize::from(store.newest_plan_document(key).await.unwrap().is_some()),
    ]
}

#[rstest]
#[tokio::test]
async fn the_rows_of_a_deleted_agent_go_and_no_others(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    fill(&store, &ann()).await;
    fill(&store, &bob()).await;
    store.delete_agent_rows(&ann(), at(5)).await.unwrap();
    assert_eq!(rows(&store, &ann()).await, [0; 5]);
    assert_eq!(rows(&store, &bob()).await, [1; 5]);
    let minute = std::time::Duration::from_mins(1);
    assert_eq!(store.claim_wakes(&ann(), at(5), minute, 5).await.unwrap(), []);
    let due = store.claim_outbox("t", at(5), minute, 5).await.unwrap();
    assert_eq!(due.into_iter().map(|d| d.key).collect::<Vec<_>>(), [bob()]);
}

#[rstest]
#[tokio::test]
async fn what_is_older_than_an_agent_of_the_same_name_goes_and_its_own_stays(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    fill(&store, &ann()).await;
    fill(&store, &bob()).await;
    store.save_plan(&start(1), &plan("aa"), at(1)).await.unwrap();
    store.delete_earlier_rows(&ann(), at(60), at(61)).await.unwrap();
    assert_eq!(rows(&store, &ann()).await, [0; 5]);
    assert_eq!(store.coding_task(&ann(), "uid-1").await.unwrap(), None);
    assert_eq!(rows(&store, &bob()).await, [1; 5]);

    let anew = AgentStart { uid: "uid-2".into(), ..start(1) };
    let event = LogEvent {
        id: Uuid::new_v4(),
        at: at(60),
        kind: "plan".into(),
        level: "info".into(),
        message: "documents:d2".into(),
        data: None,
    };
    let appended = store.append_log_events(&ann(), &[event], at(60)).await.unwrap();
    assert_eq!(appended.last_sequence, 2, "a number is never handed out again");
    store.save_plan(&anew, &plan("bb"), at(62)).await.unwrap();
    store.delete_earlier_rows(&ann(), at(60), at(63)).await.unwrap();
    let task = store.coding_task(&ann(), "uid-2").await.unwrap();
    assert_eq!(task.unwrap().plan.unwrap().sha256, "bb");
    let newest = store.newest_plan_document(&ann()).await.unwrap();
    assert_eq!(newest.as_deref(), Some("d2"));
    assert_eq!(store.read_log(&ann(), 0, 10, None).await.unwrap().lines.len(), 1);
}

/// CODE-29
#[rstest]
#[tokio::test]
async fn what_a_coding_agent_left_goes_with_it_and_its_documents_are_named_for_deletion(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let of_bob = AgentStart { key: bob(), uid: "uid-2".into(), ..start(1) };
    for start in [&start(1), &of_bob] {
        let mut plan = plan(&start.uid);
        plan.reference = reference(&start.key.agent);
        store.save_plan(start, &plan, at(0)).await.unwrap();
        let question = NewQuestion {
            id: Uuid::from_u128(1),
            kind: QuestionKind::Question,
            text: "Which?".into(),
            options: vec![],
            recommended: None,
            plan_sha256: None,
        };
        store.ask_question(start, &question, at(0)).await.unwrap();
    }
    store.delete_agent_rows(&ann(), at(5)).await.unwrap();
    for (start, expected) in [(&start(1), 0), (&of_bob, 1)] {
        let task = store.coding_task(&start.key, &start.uid).await.unwrap();
        let open = store.open_questions(&start.key, &start.uid, 1).await.unwrap();
        let document = store.document(&format!("document-{}", start.uid)).await.unwrap();
        let rows = [usize::from(task.is_some()), open.len(), usize::from(document.is_some())];
        assert_eq!(rows, [expected; 3], "{}", start.key.agent);
    }
    let minute = std::time::Duration::from_mins(1);
    let due = store.claim_outbox(DELETED_DOCUMENT, at(5), minute, 5).await.unwrap();
    let named = due.into_iter().map(|delivery| delivery.payload).collect::<Vec<_>>();
    let path = "foundry-agents/ann/uid-1.md";
    assert_eq!(named, [json!({"container": "agent-storage", "path": path})]);
}

#[rstest]
#[tokio::test]
async fn a_store_that_is_open_answers_a_ping(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    store.ping().await.unwrap();
    store.close().await;
    assert_eq!(store.ping().await.unwrap_err().class(), Class::Transient);
}
