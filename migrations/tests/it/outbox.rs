//! The outbox: tried until delivered, the newest payload wins.

use std::time::Duration;

use foundry_store::{NewDelivery, Store};
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::{Value, json};

use crate::backend::{Backend, ann, at, bob};

const TOPIC: &str = "agent-status";
const LEASE: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_mins(5);

async fn push(store: &Store, payload: Value, second: i64) {
    let delivery = NewDelivery { topic: TOPIC.into(), subject: "heartbeat".into(), payload };
    store.push_outbox(&ann(), &delivery, at(second)).await.unwrap();
}

async fn claim(store: &Store, second: i64) -> Vec<foundry_store::Delivery> {
    store.claim_outbox(TOPIC, at(second), LEASE, 10).await.unwrap()
}

#[rstest]
#[tokio::test]
async fn a_failed_delivery_comes_back_later_each_time(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    push(&store, json!({"n": 1}), 0).await;
    let first = claim(&store, 0).await.remove(0);
    assert_eq!((&first.key, &first.payload, first.attempts), (&ann(), &json!({"n": 1}), 0));
    assert_eq!(claim(&store, 29).await, [], "the lease holds");
    store.fail_outbox(&first, "api server says 500", LONGEST, at(29)).await.unwrap();
    assert_eq!(claim(&store, 29).await, [], "one second");
    let second = claim(&store, 30).await.remove(0);
    assert_eq!(second.attempts, 1);
    store.fail_outbox(&second, "again", LONGEST, at(30)).await.unwrap();
    assert_eq!(claim(&store, 31).await, [], "two seconds");
    let third = claim(&store, 32).await.remove(0);
    let short = Duration::from_secs(2);
    store.fail_outbox(&third, "and again", short, at(32)).await.unwrap();
    assert_eq!(claim(&store, 33).await, []);
    let third = claim(&store, 34).await.remove(0);
    store.complete_outbox(&third, at(35)).await.unwrap();
    assert_eq!(claim(&store, 9_999).await, []);
}

#[rstest]
#[tokio::test]
async fn a_newer_payload_replaces_a_waiting_one(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    push(&store, json!(1), 0).await;
    push(&store, json!(2), 1).await;
    let other = NewDelivery { topic: TOPIC.into(), subject: "plan".into(), payload: json!("p") };
    store.push_outbox(&bob(), &other, at(2)).await.unwrap();
    let payloads: Vec<Value> =
        claim(&store, 2).await.into_iter().map(|delivery| delivery.payload).collect();
    assert_eq!(payloads, [json!(2), json!("p")]);
    assert_eq!(store.claim_outbox("another", at(2), LEASE, 10).await.unwrap(), []);
}

#[rstest]
#[tokio::test]
async fn what_comes_during_a_delivery_is_delivered_after_it(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    push(&store, json!("old"), 0).await;
    let old = claim(&store, 0).await.remove(0);
    push(&store, json!("new"), 1).await;
    store.complete_outbox(&old, at(2)).await.unwrap();
    let new = claim(&store, 2).await.remove(0);
    assert_eq!(new.payload, json!("new"));
    store.complete_outbox(&new, at(3)).await.unwrap();
    assert_eq!(claim(&store, 9_999).await, []);
}
