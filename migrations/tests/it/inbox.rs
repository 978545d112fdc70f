//! The inbox and the runs that empty it.

use std::collections::HashSet;
use std::time::Duration;

use foundry_store::{AgentKey, Error, NewWake, PageRequest, Run, Store, Wake};
use pretty_assertions::assert_eq;
use rstest::rstest;
use uuid::Uuid;

use crate::backend::{Backend, ann, at, bob};

const LEASE: Duration = Duration::from_mins(1);

fn wake(text: &str) -> NewWake {
    NewWake { source: "person".into(), text: Some(text.into()), ..NewWake::default() }
}

fn run(wake: Option<&Wake>, second: i64) -> Run {
    Run {
        id: Uuid::new_v4(),
        wake_id: wake.map(|wake| wake.id.clone()),
        reason: "wake".into(),
        started_at: at(second),
        finished_at: at(second + 5),
        turns: 2,
        input_tokens: 1_000,
        output_tokens: 50,
        outcome: "completed".into(),
    }
}

async fn claim(store: &Store, key: &AgentKey, second: i64) -> Vec<Wake> {
    store.claim_wakes(key, at(second), LEASE, 10).await.unwrap()
}

/// ROUTE-10
#[rstest]
#[tokio::test]
async fn a_wake_is_handed_out_again_until_a_run_acknowledges_it(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let first = store.record_wake(&ann(), &wake("first"), at(0)).await.unwrap();
    let second = store.record_wake(&ann(), &wake("second"), at(1)).await.unwrap();

    assert_eq!(claim(&store, &ann(), 2).await, [first.clone(), second.clone()], "oldest first");
    assert_eq!(claim(&store, &ann(), 61).await, [], "the lease holds");
    assert_eq!(claim(&store, &bob(), 2).await, [], "nobody else's");
    assert!(store.record_run(&ann(), &run(Some(&first), 10), at(15)).await.unwrap());
    assert_eq!(claim(&store, &ann(), 62).await, std::slice::from_ref(&second), "delivered again");
    assert!(store.record_run(&ann(), &run(Some(&second), 63), at(68)).await.unwrap());
    assert_eq!(claim(&store, &ann(), 1_000).await, []);
}

/// ROUTE-10
#[rstest]
#[tokio::test]
async fn wakes_come_one_by_one_when_one_is_asked_for(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let mut recorded = Vec::new();
    for n in 0..3 {
        recorded.push(store.record_wake(&ann(), &wake(&n.to_string()), at(n)).await.unwrap());
    }
    let mut claimed = Vec::new();
    for _ in 0..4 {
        claimed.extend(store.claim_wakes(&ann(), at(5), LEASE, 1).await.unwrap());
    }
    assert_eq!(claimed, recorded);
}

#[rstest]
#[tokio::test]
async fn a_wake_sent_twice_with_one_key_is_one_wake(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let keyed = |text: &str| NewWake { idempotency_key: Some("k-1".into()), ..wake(text) };
    let first = store.record_wake(&ann(), &keyed("hello"), at(0)).await.unwrap();
    let again = store.record_wake(&ann(), &keyed("hello again"), at(9)).await.unwrap();
    assert_eq!(again, first);
    let elsewhere = store.record_wake(&bob(), &keyed("hello"), at(0)).await.unwrap();
    assert_ne!(elsewhere.id, first.id, "keys are one agent's");
    store.record_wake(&ann(), &wake("without a key"), at(1)).await.unwrap();
    store.record_wake(&ann(), &wake("without a key"), at(1)).await.unwrap();
    assert_eq!(claim(&store, &ann(), 10).await.len(), 3);
}

#[rstest]
#[tokio::test]
async fn a_run_sent_twice_is_one_run(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let wake = store.record_wake(&ann(), &wake("hello"), at(0)).await.unwrap();
    let record = run(Some(&wake), 1);
    assert!(store.record_run(&ann(), &record, at(6)).await.unwrap());
    assert!(!store.record_run(&ann(), &record, at(7)).await.unwrap());
    let page = store.list_runs(&ann(), &PageRequest { limit: 5, cursor: None }).await.unwrap();
    assert_eq!(page.items, [record]);
}

#[rstest]
#[tokio::test]
async fn a_run_for_a_wake_that_never_was_is_refused_and_not_kept(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let of_bob = store.record_wake(&bob(), &wake("for Bob"), at(0)).await.unwrap();
    let refused = store.record_run(&ann(), &run(Some(&of_bob), 1), at(6)).await.unwrap_err();
    assert!(matches!(refused, Error::UnknownWake { .. }), "{refused:?}");
    let page = store.list_runs(&ann(), &PageRequest { limit: 5, cursor: None }).await.unwrap();
    assert_eq!(page.items, []);
    assert_eq!(claim(&store, &bob(), 2).await, [of_bob], "Bob still gets it");
}

#[rstest]
#[tokio::test]
async fn runs_are_listed_newest_first_in_pages(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let mut runs: Vec<Run> = (0..5).map(|n| run(None, n)).collect();
    for record in &runs {
        store.record_run(&ann(), record, at(20)).await.unwrap();
    }
    runs.reverse();
    let first = store.list_runs(&ann(), &PageRequest { limit: 3, cursor: None }).await.unwrap();
    let rest = PageRequest { limit: 3, cursor: first.next_cursor.clone() };
    let second = store.list_runs(&ann(), &rest).await.unwrap();
    assert_eq!((first.items.as_slice(), second.items.as_slice()), runs.split_at(3));
    assert_eq!(second.next_cursor, None);
}

/// ROUTE-10
#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_two_claimers_get_the_same_wake_within_its_lease(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    const WAKES: usize = 60;
    let fresh = backend.fresh().await;
    for n in 0..WAKES {
        fresh.store.record_wake(&ann(), &wake(&n.to_string()), at(0)).await.unwrap();
    }
    let mut claimers = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let store = Store::open(&fresh.url).await.unwrap();
        claimers.spawn(async move {
            let mut mine = Vec::new();
            // A claim may come back empty while others hold the rows; all are handed
            // out after as many claims as there are wakes.
            for _ in 0..WAKES {
                mine.extend(store.claim_wakes(&ann(), at(1), LEASE, 3).await.unwrap());
            }
            mine
        });
    }
    let claimed: Vec<String> =
        claimers.join_all().await.into_iter().flatten().map(|wake| wake.id).collect();
    let distinct: HashSet<&String> = claimed.iter().collect();
    assert_eq!((claimed.len(), distinct.len()), (WAKES, WAKES));
}
