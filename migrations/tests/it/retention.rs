//! What goes with an agent, and what stays.

use foundry_store::{AgentKey, Class, PageRequest};
use foundry_store::{Author, Beat, LogEvent, NewDelivery, NewMemory, NewWake, Run, Store, Tier};
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;
use uuid::Uuid;

use crate::backend::{Backend, ann, at, bob};

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
async fn a_store_that_is_open_answers_a_ping(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    store.ping().await.unwrap();
    store.close().await;
    assert_eq!(store.ping().await.unwrap_err().class(), Class::Transient);
}
