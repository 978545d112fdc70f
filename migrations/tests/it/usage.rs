//! What model calls used.

use foundry_store::{PageRequest, Usage, UsageTotals};
use pretty_assertions::assert_eq;
use rstest::rstest;
use uuid::Uuid;

use crate::backend::{Backend, ann, at, bob};

fn usage(mailbox: &str) -> Usage {
    Usage {
        id: Uuid::new_v4(),
        mailbox: Some(mailbox.into()),
        request_id: "r-1".into(),
        model: "gpt-5-mini".into(),
        upstream_model: "gpt-5-mini-2025".into(),
        wire: "openai".into(),
        status: 200,
        outcome: "completed".into(),
        started_at: at(0),
        finished_at: at(2),
        input_tokens: 100,
        output_tokens: 20,
        cache_read_tokens: 30,
        cache_write_tokens: 4,
        cache_savings_micros: 5,
        cost_micros: 60,
        estimated: false,
    }
}

fn totals(calls: i64) -> UsageTotals {
    UsageTotals {
        calls,
        input_tokens: 100 * calls,
        output_tokens: 20 * calls,
        cache_read_tokens: 30 * calls,
        cache_write_tokens: 4 * calls,
        cache_savings_micros: 5 * calls,
        cost_micros: 60 * calls,
    }
}

/// BIND-04
#[rstest]
#[tokio::test]
async fn usage_is_summed_by_agent_and_by_mailbox(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    assert_eq!(store.usage_totals(&ann()).await.unwrap(), totals(0));
    let repeated = usage("ann@ai.example");
    for record in [&repeated, &repeated, &usage("ann@ai.example")] {
        store.record_usage(&ann(), record).await.unwrap();
    }
    store.record_usage(&bob(), &usage("bob@ai.example")).await.unwrap();
    let first = PageRequest { limit: 1, cursor: None };
    let page = store.list_usage(&ann(), &first).await.unwrap();
    let rest = PageRequest { limit: 5, cursor: page.next_cursor };
    let mut listed = page.items;
    listed.extend(store.list_usage(&ann(), &rest).await.unwrap().items);
    assert_eq!(listed.len(), 2);
    assert!(listed.contains(&repeated), "as it was recorded");
    assert_eq!(store.usage_totals(&ann()).await.unwrap(), totals(2));
    assert_eq!(store.usage_totals(&bob()).await.unwrap(), totals(1));

    store.delete_earlier_rows(&ann(), at(2), at(8)).await.unwrap();
    assert_eq!(store.usage_totals(&ann()).await.unwrap(), totals(2), "it is this Ann's own");
    store.delete_earlier_rows(&ann(), at(3), at(8)).await.unwrap();
    assert_eq!(store.usage_totals(&ann()).await.unwrap(), totals(0), "it was an earlier Ann's");
    store.record_usage(&ann(), &usage("ann@ai.example")).await.unwrap();
    store.delete_agent_rows(&ann(), at(9)).await.unwrap();
    assert_eq!(store.usage_totals(&ann()).await.unwrap(), totals(0), "a new Ann starts at zero");
    let billed = store.usage_totals_of_mailbox("ann@ai.example").await.unwrap();
    assert_eq!(billed, totals(3), "the bill stays");
}
