//! Threads of ephemeral agents that are over.

use std::time::Duration;

use foundry_store::{AgentKey, NewWake, Store, Wake};
use pretty_assertions::assert_eq;
use rstest::rstest;

use crate::backend::{Backend, ann, at, bob, other_ann};

fn scout() -> AgentKey {
    AgentKey::new("foundry-agents", "scout")
}

fn wake(text: &str, thread: Option<&str>) -> NewWake {
    NewWake {
        source: "mail".into(),
        text: Some(text.into()),
        thread_id: thread.map(str::to_owned),
        ..NewWake::default()
    }
}

async fn pending(store: &Store, key: &AgentKey) -> Vec<Wake> {
    store.claim_wakes(key, at(1_000), Duration::from_mins(1), 10).await.unwrap()
}

/// LIFE-18
#[rstest]
#[tokio::test]
async fn a_wake_that_is_handed_on_waits_for_the_agent_above_and_links_its_thread(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let handed = store.hand_on_wake(&scout(), "ann", &wake("hello", Some("t-1")), at(0)).await;
    let handed = handed.unwrap();
    assert_eq!(handed.addressed_to.as_deref(), Some("scout"));
    assert_eq!(pending(&store, &ann()).await, [handed], "it reaches Ann");
    assert_eq!(pending(&store, &scout()).await, [], "and nobody else");
    assert_eq!(store.thread_holder(&scout(), "t-1").await.unwrap().as_deref(), Some("ann"));
    assert_eq!(store.thread_holder(&scout(), "t-2").await.unwrap(), None);
    assert_eq!(store.thread_holder(&bob(), "t-1").await.unwrap(), None, "Bob's own thread");
    assert_eq!(store.thread_holder(&other_ann(), "t-1").await.unwrap(), None);
}

/// LIFE-18
#[rstest]
#[tokio::test]
async fn every_thread_in_which_the_agent_was_spoken_to_is_linked(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    for thread in [Some("t-1"), Some("t-2"), Some("t-1"), None] {
        store.record_wake(&scout(), &wake("while it lived", thread), at(0)).await.unwrap();
    }
    store.record_wake(&bob(), &wake("to Bob", Some("t-3")), at(0)).await.unwrap();
    store.hand_on_wake(&scout(), "ann", &wake("too late", None), at(9)).await.unwrap();
    for (thread, holder) in [("t-1", Some("ann")), ("t-2", Some("ann")), ("t-3", None)] {
        let found = store.thread_holder(&scout(), thread).await.unwrap();
        assert_eq!(found.as_deref(), holder, "{thread}");
    }
}

/// LIFE-18
#[rstest]
#[tokio::test]
async fn a_wake_sent_again_after_its_agent_has_ended_is_the_same_wake(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let keyed = |text: &str| NewWake { idempotency_key: Some("k".into()), ..wake(text, None) };
    let first = store.record_wake(&scout(), &keyed("while it lived"), at(0)).await.unwrap();
    let again = store.hand_on_wake(&scout(), "ann", &keyed("again"), at(9)).await.unwrap();
    assert_eq!(again, first);
    assert_eq!(pending(&store, &ann()).await, [], "Ann gets no second one");

    let others = AgentKey::new("foundry-agents", "rover");
    let one = store.hand_on_wake(&others, "ann", &keyed("to the rover"), at(9)).await.unwrap();
    let same = store.hand_on_wake(&others, "ann", &keyed("again"), at(10)).await.unwrap();
    let own = store.record_wake(&ann(), &keyed("to Ann herself"), at(11)).await.unwrap();
    assert_eq!(same, one);
    assert_eq!(pending(&store, &ann()).await, [one, own], "a key is one agent's");
}

/// LIFE-18
#[rstest]
#[tokio::test]
async fn a_link_outlives_the_agent_that_is_over_and_goes_with_the_one_above(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    store.hand_on_wake(&scout(), "ann", &wake("hello", Some("t-1")), at(0)).await.unwrap();
    store.delete_agent_rows(&scout(), at(5)).await.unwrap();
    assert_eq!(store.thread_holder(&scout(), "t-1").await.unwrap().as_deref(), Some("ann"));
    assert_eq!(pending(&store, &ann()).await.len(), 1);
    store.delete_earlier_rows(&ann(), at(0), at(6)).await.unwrap();
    let kept = store.thread_holder(&scout(), "t-1").await.unwrap();
    assert_eq!(kept.as_deref(), Some("ann"), "it is a later Ann's");
    store.delete_agent_rows(&ann(), at(7)).await.unwrap();
    assert_eq!(store.thread_holder(&scout(), "t-1").await.unwrap(), None);
}
