//! What is known of documents, and the key of links to them.

use foundry_store::{CodingPlan, CodingProgress, CodingResult, Error, MAX_PLANS_A_DAY, Store};
use pretty_assertions::assert_eq;
use rstest::rstest;

use crate::backend::{Backend, ann, at, plan, reference, start};

/// ROUTE-13, CODE-29
#[rstest]
#[tokio::test]
async fn a_plan_is_found_by_the_agent_it_refers_to_and_by_no_other(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    store.save_plan(&start(1), &plan("aa"), at(0)).await.unwrap();
    let id = "document-aa";
    let known = store.document(id).await.unwrap().unwrap();
    assert_eq!((known.source.as_str(), known.container.as_str()), ("coding_plan", "agent-storage"));
    assert_eq!((known.path, known.created_at), (plan("aa").path, at(0)));

    let namespace = ann().namespace;
    let found = store.referenced_document(&namespace, id, &reference("ann")).await.unwrap();
    assert_eq!(found.unwrap().id, id);
    let mut attachment = reference("ann");
    attachment.category = "attachment".into();
    let mut swarm = reference("ann");
    swarm.kind = "swarm".into();
    for (namespace, id, reference) in [
        ("elsewhere", id, reference("ann")),
        (&*namespace, "another", reference("ann")),
        (&*namespace, id, reference("bob")),
        (&*namespace, id, attachment),
        (&*namespace, id, swarm),
    ] {
        let found = store.referenced_document(namespace, id, &reference).await.unwrap();
        assert_eq!(found, None, "{namespace} {id} {reference:?}");
    }
}

#[rstest]
#[tokio::test]
async fn the_same_plan_again_is_one_document_and_the_newest_plan_again(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    for (sha256, second) in [("aa", 0), ("bb", 1), ("aa", 2)] {
        store.save_plan(&start(1), &plan(sha256), at(second)).await.unwrap();
        let task = store.coding_task(&ann(), "uid-1").await.unwrap().unwrap();
        let expected =
            CodingPlan { document_id: format!("document-{sha256}"), sha256: sha256.into() };
        assert_eq!(task.plan, Some(expected));
    }
    let first = store.document("document-aa").await.unwrap().unwrap();
    assert_eq!(first.created_at, at(0));
}

/// An agent that goes astray fills neither the database nor the disk.
#[rstest]
#[tokio::test]
async fn an_agent_stores_so_many_plans_a_day_and_the_next_day_as_many_again(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    const DAY: i64 = 24 * 60 * 60;
    let (store, _folder) = backend.store().await;
    for n in 0..MAX_PLANS_A_DAY {
        store.save_plan(&start(1), &plan(&n.to_string()), at(n)).await.unwrap();
    }
    let one_more = plan("one more");
    let refused = store.check_plan(&start(1), &one_more, at(DAY - 1)).await.unwrap_err();
    assert!(matches!(refused, Error::LimitReached { .. }), "{refused}");
    let refused = store.save_plan(&start(1), &one_more, at(DAY - 1)).await.unwrap_err();
    assert!(matches!(refused, Error::LimitReached { .. }), "{refused}");
    assert_eq!(store.document(&one_more.id).await.unwrap(), None);
    store.save_plan(&start(1), &plan("0"), at(DAY - 1)).await.unwrap();
    store.check_plan(&start(1), &one_more, at(DAY)).await.unwrap();
    store.save_plan(&start(1), &one_more, at(DAY)).await.unwrap();
}

#[rstest]
#[tokio::test]
async fn a_plan_that_comes_too_late_is_known_to_be_before_its_bytes_are_stored(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    store.check_plan(&start(1), &plan("aa"), at(0)).await.unwrap();
    let outcome = CodingResult { outcome: "failed".into(), summary: String::new() };
    let end = CodingProgress { result: Some(outcome), ..CodingProgress::default() };
    store.report_coding(&start(2), end, at(1)).await.unwrap();
    let over = store.check_plan(&start(1), &plan("aa"), at(2)).await.unwrap_err();
    assert!(matches!(over, Error::Superseded { .. }), "{over}");
    let ended = store.check_plan(&start(2), &plan("aa"), at(2)).await.unwrap_err();
    assert!(matches!(ended, Error::TaskEnded { .. }), "{ended}");
    store.check_plan(&start(3), &plan("aa"), at(2)).await.unwrap();
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_replica_finds_the_one_signing_key_of_a_purpose(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let fresh = backend.fresh().await;
    let mut replicas = tokio::task::JoinSet::new();
    for n in 0..6 {
        let store = Store::open(&fresh.url).await.unwrap();
        replicas.spawn(async move {
            store.signing_key("links", &format!("candidate {n}"), at(n)).await.unwrap()
        });
    }
    let keys = replicas.join_all().await;
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    let again = Store::open(&fresh.url).await.unwrap();
    assert_eq!(again.signing_key("links", "late", at(9)).await.unwrap(), keys[0]);
    assert_eq!(again.signing_key("other", "other", at(9)).await.unwrap(), "other");
}
