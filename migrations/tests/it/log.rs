//! The log: numbered without gaps, read by cursor.

use foundry_store::{
    AgentKey, Appended, Error, LogEvent, LogPage, MAX_APPEND, MAX_LOG_PAGE_BYTES, Store,
};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;
use uuid::Uuid;

use crate::backend::{Backend, ann, at, bob};

fn event(kind: &str, message: &str) -> LogEvent {
    LogEvent {
        id: Uuid::new_v4(),
        at: at(0),
        kind: kind.into(),
        level: "info".into(),
        message: message.into(),
        data: None,
    }
}

async fn append(store: &Store, key: &AgentKey, events: &[LogEvent]) -> Appended {
    store.append_log_events(key, events, at(10)).await.unwrap()
}

fn messages(page: &LogPage) -> Vec<&str> {
    page.lines.iter().map(|line| line.event.message.as_str()).collect()
}

/// ROUTE-11
#[rstest]
#[tokio::test]
async fn events_come_back_as_they_were_in_pages(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let mut events = vec![event("think", "one"), event("tool", "two\0"), event("error", "three")];
    events[0].data = Some(json!({"z": 1, "a": [null, true, "\0\u{1F600}"], "n": 12}));
    events[2].data = Some(json!(7));
    let appended = append(&store, &ann(), &events).await;
    assert_eq!(appended, Appended { accepted: 3, last_sequence: 3 });

    let first = store.read_log(&ann(), 0, 2, None).await.unwrap();
    let second = store.read_log(&ann(), first.next_after, 2, None).await.unwrap();
    let read: Vec<LogEvent> =
        first.lines.iter().chain(&second.lines).map(|line| line.event.clone()).collect();
    events[1].message = "two\u{fffd}".into();
    assert_eq!(read, events);
    assert_eq!((first.next_after, second.next_after), (2, 3));
    assert_eq!((first.oldest, first.reset), (1, false));
}

/// ROUTE-11
#[rstest]
#[tokio::test]
async fn a_repeated_event_is_stored_once_and_takes_no_number(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let (one, two, three) = (event("think", "1"), event("think", "2"), event("think", "3"));
    append(&store, &ann(), &[one.clone(), two.clone()]).await;
    let again = append(&store, &ann(), &[one.clone(), three.clone(), two, three]).await;
    assert_eq!(again, Appended { accepted: 1, last_sequence: 3 });
    let other = append(&store, &bob(), &[one]).await;
    assert_eq!(other, Appended { accepted: 1, last_sequence: 1 }, "ids are one agent's");
    let page = store.read_log(&ann(), 0, 10, None).await.unwrap();
    assert_eq!(messages(&page), ["1", "2", "3"]);
}

/// ROUTE-11
#[rstest]
#[tokio::test]
async fn a_page_of_long_lines_ends_early_and_loses_none(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let long = "x".repeat(MAX_LOG_PAGE_BYTES / 2);
    let mut longest = event("tool", "");
    longest.data = Some(json!(format!("{long}{long}")));
    let events = [event("tool", &long), event("tool", &long), longest, event("tool", "last")];
    append(&store, &ann(), &events).await;
    let (mut after, mut pages) = (0, Vec::new());
    loop {
        let page = store.read_log(&ann(), after, 500, None).await.unwrap();
        if page.lines.is_empty() {
            break;
        }
        assert!(!page.reset);
        after = page.next_after;
        pages.push(page.lines.iter().map(|line| line.sequence).collect::<Vec<_>>());
    }
    assert_eq!(pages, [vec![1, 2], vec![3], vec![4]]);
}

#[tokio::test]
async fn more_events_than_the_limit_are_refused_whole() {
    let (store, _folder) = Backend::Sqlite.store().await;
    let events: Vec<LogEvent> = (0..=MAX_APPEND).map(|n| event("think", &n.to_string())).collect();
    let refused = store.append_log_events(&ann(), &events, at(0)).await.unwrap_err();
    assert!(matches!(refused, Error::TooMany { given: 501, limit: 500, .. }), "{refused:?}");
    assert_eq!(refused.to_string(), "501 events in one call; the limit is 500");
    assert_eq!(store.read_log(&ann(), 0, 1, None).await.unwrap().lines, []);
    let most = append(&store, &ann(), &events[1..]).await;
    assert_eq!(most, Appended { accepted: 500, last_sequence: 500 });
}

/// ROUTE-03
#[rstest]
#[tokio::test]
async fn the_newest_plan_is_known_when_later_lines_have_pushed_it_away(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    assert_eq!(store.newest_plan_document(&ann()).await.unwrap(), None);
    append(&store, &ann(), &[event("plan", "documents:first"), event("plan", "documents:second")])
        .await;
    for _ in 0..3 {
        let chatter: Vec<_> = (0..400).map(|n| event("think", &n.to_string())).collect();
        append(&store, &ann(), &chatter).await;
    }
    append(&store, &ann(), &[event("plan", "no document here")]).await;
    assert_eq!(store.newest_plan_document(&ann()).await.unwrap().as_deref(), Some("second"));

    store.prune_logs(at(1_000), 10).await.unwrap();
    let plan = store.newest_plan_document(&ann()).await.unwrap();
    assert_eq!(plan.as_deref(), Some("second"), "outlives its line");
    assert_eq!(store.newest_plan_document(&bob()).await.unwrap(), None);
}

#[rstest]
#[tokio::test]
async fn reading_one_kind_skips_the_others_for_good(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let events: Vec<_> = (0..10)
        .map(|n| event(if n % 3 == 0 { "error" } else { "think" }, &n.to_string()))
        .collect();
    append(&store, &ann(), &events).await;
    let first = store.read_log(&ann(), 0, 3, Some("error")).await.unwrap();
    assert_eq!((messages(&first), first.next_after), (vec!["0", "3", "6"], 7));
    let second = store.read_log(&ann(), 7, 3, Some("error")).await.unwrap();
    assert_eq!((messages(&second), second.next_after), (vec!["9"], 10));
    let none = store.read_log(&ann(), 0, 3, Some("nothing")).await.unwrap();
    assert_eq!((messages(&none), none.next_after), (vec![], 10));
}

#[rstest]
#[tokio::test]
async fn a_cursor_whose_lines_are_gone_answers_reset_with_the_oldest(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let events: Vec<_> = (1..=20).map(|n| event("think", &n.to_string())).collect();
    append(&store, &ann(), &events).await;
    assert_eq!(store.prune_logs(at(0), 5).await.unwrap(), 15);

    let lost = store.read_log(&ann(), 4, 100, None).await.unwrap();
    assert_eq!((lost.reset, lost.oldest), (true, 16));
    assert_eq!(messages(&lost), ["16", "17", "18", "19", "20"]);
    let kept = store.read_log(&ann(), 15, 2, None).await.unwrap();
    assert_eq!((kept.reset, messages(&kept)), (false, vec!["16", "17"]));
    let new = store.read_log(&ann(), 0, 2, None).await.unwrap();
    assert!(!new.reset, "who starts from nothing has lost nothing");
    let ahead = store.read_log(&ann(), 99, 2, None).await.unwrap();
    assert_eq!((ahead.reset, messages(&ahead)), (true, vec!["16", "17"]));

    assert_eq!(store.prune_logs(at(11), 100).await.unwrap(), 5, "all are older");
    let empty = store.read_log(&ann(), 20, 2, None).await.unwrap();
    assert_eq!((empty.reset, empty.oldest, empty.next_after), (false, 21, 20));
    let next = append(&store, &ann(), &[event("think", "21")]).await;
    assert_eq!(next.last_sequence, 21, "numbers are never handed out again");
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_writers_and_a_reader_see_each_number_once(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    const WRITERS: usize = 6;
    const APPENDS: usize = 10;
    let fresh = backend.fresh().await;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        // Half of them as another replica would: over connections of their own.
        let store = if writer % 2 == 0 {
            fresh.store.clone()
        } else {
            Store::open(&fresh.url).await.unwrap()
        };
        writers.spawn(async move {
            for n in 0..APPENDS {
                let events = [
                    event("think", &format!("{writer}-{n}-a")),
                    event("think", &format!("{writer}-{n}-b")),
                ];
                append(&store, &ann(), &events).await;
            }
        });
    }
    // The reader follows by cursor while they write, and must meet every number.
    let follow = async {
        let (mut seen, mut after) = (Vec::new(), 0);
        while seen.len() < WRITERS * APPENDS * 2 {
            let page = fresh.store.read_log(&ann(), after, 7, None).await.unwrap();
            assert!(!page.reset);
            seen.extend(page.lines.iter().map(|line| line.sequence));
            after = page.next_after;
        }
        seen
    };
    let deadline = std::time::Duration::from_mins(1);
    let seen = tokio::time::timeout(deadline, follow).await.expect("every line within a minute");
    writers.join_all().await;
    let all: Vec<i64> = (1..=i64::try_from(WRITERS * APPENDS * 2).unwrap()).collect();
    assert_eq!(seen, all);
}

/// Reading with any page sizes, and pruning in between, never skips or repeats a kept
/// line.
fn paging_is_whole(backend: Backend) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (store, _folder) = runtime.block_on(backend.store());
    let config = ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() };
    let strategy = (
        proptest::collection::vec(1_usize..40, 1..5),
        proptest::collection::vec(1_u32..30, 1..8),
        proptest::option::of(0_u32..60),
    );
    proptest!(config, |((batches, limits, keep) in strategy)| {
        let key = AgentKey::new("paging", Uuid::new_v4().to_string());
        runtime.block_on(async {
            for batch in &batches {
                let events: Vec<_> = (0..*batch).map(|n| event("think", &n.to_string())).collect();
                append(&store, &key, &events).await;
            }
            let total = i64::try_from(batches.iter().sum::<usize>()).unwrap();
            let mut oldest = 1;
            if let Some(keep) = keep {
                store.prune_logs(at(0), keep).await.unwrap();
                oldest = (total - i64::from(keep)).max(0) + 1;
            }
            let (mut seen, mut after) = (Vec::new(), 0);
            for limit in limits.iter().cycle() {
                let page = store.read_log(&key, after, *limit, None).await.unwrap();
                seen.extend(page.lines.iter().map(|line| line.sequence));
                prop_assert!(page.next_after >= after && !page.reset);
                prop_assert_eq!(page.oldest, oldest);
                after = page.next_after;
                if page.lines.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(seen, (oldest..=total).collect::<Vec<_>>());
            prop_assert_eq!(after, total);
            Ok(())
        })?;
    });
}

/// ROUTE-11
#[test]
fn any_page_sizes_read_the_whole_log_on_sqlite() {
    paging_is_whole(Backend::Sqlite);
}

/// ROUTE-11
#[test]
fn any_page_sizes_read_the_whole_log_on_postgres() {
    paging_is_whole(Backend::Postgres);
}
