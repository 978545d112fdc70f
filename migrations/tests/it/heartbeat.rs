//! Heartbeats: one row an agent.

use foundry_store::Beat;
use pretty_assertions::assert_eq;
use rstest::rstest;
use uuid::Uuid;

use crate::backend::{Backend, ann, at, bob, other_ann};

#[rstest]
#[tokio::test]
async fn a_beat_takes_the_place_of_the_one_before_and_gives_it_back(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let first =
        Beat { at: at(0), process_id: Uuid::new_v4(), generation: 1, context_percent: Some(40) };
    let second = Beat { at: at(30), context_percent: None, ..first };
    let shown = Beat { context_percent: Some(40), ..second };
    assert_eq!(store.heartbeat(&ann(), first).await.unwrap(), None);
    assert_eq!(store.heartbeat(&ann(), second).await.unwrap(), Some(first));
    assert_eq!(store.last_heartbeat(&ann()).await.unwrap(), Some(shown), "percent stays known");

    store.heartbeat(&bob(), first).await.unwrap();
    store.heartbeat(&other_ann(), first).await.unwrap();
    let all = store.read_heartbeats("foundry-agents").await.unwrap();
    assert_eq!(all, [(ann(), shown), (bob(), first)]);
}
