//! Memories: kept, found, shown and deleted alike on both databases.

use foundry_store::{
    AgentKey, Author, Error, Memory, NewMemory, PageRequest, RECENT_WINDOW, Store, Tier,
};
use pretty_assertions::assert_eq;
use rstest::rstest;

use crate::backend::{Backend, ann, at, bob, other_ann};

async fn remember(store: &Store, key: &AgentKey, text: &str, second: i64) -> Memory {
    let memory = NewMemory {
        text: text.into(),
        tier: Tier::Archive,
        author: Author::Agent(key.agent.clone()),
    };
    store.remember(key, memory, at(second)).await.unwrap()
}

async fn correct(store: &Store, key: &AgentKey, text: &str, second: i64) -> Memory {
    let memory = NewMemory {
        text: text.into(),
        tier: Tier::Core,
        author: Author::Person("ines@example.org".into()),
    };
    store.remember(key, memory, at(second)).await.unwrap()
}

fn texts(memories: &[Memory]) -> Vec<&str> {
    memories.iter().map(|memory| memory.text.as_str()).collect()
}

async fn recalled(store: &Store, query: &str) -> Vec<String> {
    let found = store.recall(&ann(), query, 10).await.unwrap();
    found.into_iter().map(|memory| memory.text).collect()
}

/// MEM-01
#[rstest]
#[tokio::test]
async fn memories_are_the_same_rows_after_a_restart(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let fresh = backend.fresh().await;
    let first = remember(&fresh.store, &ann(), "the invoice number is 4711", 0).await;
    let second = correct(&fresh.store, &ann(), "never write to Bob", 1).await;
    fresh.store.close().await;

    let store = Store::open(&fresh.url).await.unwrap();
    let page =
        store.list_memories(&ann(), None, &PageRequest { limit: 10, cursor: None }).await.unwrap();
    assert_eq!(page.items, [second, first]);
    assert_eq!(page.next_cursor, None);
}

/// MEM-02
#[rstest]
#[tokio::test]
async fn thoughts_are_the_core_and_the_newest_unreviewed_rows(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let window = i64::from(RECENT_WINDOW);
    for second in 0..window + 2 {
        remember(&store, &ann(), &format!("fact {second}"), second).await;
    }
    correct(&store, &ann(), "core one", 100).await;
    correct(&store, &ann(), "core two", 101).await;

    let thoughts = store.thoughts_rows(&ann()).await.unwrap();
    assert_eq!(texts(&thoughts.core), ["core one", "core two"]);
    let newest: Vec<String> = (2..window + 2).map(|n| format!("fact {n}")).collect();
    assert_eq!(texts(&thoughts.recent), newest, "oldest first, the two oldest left out");
    assert_eq!(recalled(&store, "fact 0").await, ["fact 0"], "the rest is found by recall");
}

/// MEM-04
#[rstest]
#[tokio::test]
async fn a_memory_stays_in_the_tier_it_was_written_to(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let by_agent = remember(&store, &ann(), "from the agent", 0).await;
    let by_person = correct(&store, &ann(), "from a person", 1).await;
    let request = PageRequest { limit: 10, cursor: None };
    let core = store.list_memories(&ann(), Some(Tier::Core), &request).await.unwrap();
    let archive = store.list_memories(&ann(), Some(Tier::Archive), &request).await.unwrap();
    assert_eq!(core.items, [by_person]);
    assert_eq!(archive.items, [by_agent]);
}

/// MEM-02
#[rstest]
#[tokio::test]
async fn recall_finds_every_word_in_any_case_newest_first(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    remember(&store, &ann(), "Die Straße nach Łódź ist gesperrt", 0).await;
    remember(&store, &ann(), "Ο ΔΡΟΜΟΣ is closed", 1).await;
    remember(&store, &ann(), "growth was 50% in Q1_2026", 2).await;
    remember(&store, &ann(), r"path C:\temp is closed", 3).await;
    remember(&store, &bob(), "closed, says Bob", 4).await;
    remember(&store, &other_ann(), "closed, elsewhere", 5).await;

    assert_eq!(recalled(&store, "łódź STRASSE").await, ["Die Straße nach Łódź ist gesperrt"]);
    assert_eq!(recalled(&store, "δρόμος").await, [""; 0], "an accent is another letter");
    assert_eq!(recalled(&store, "δρομοσ CLOSED").await, ["Ο ΔΡΟΜΟΣ is closed"]);
    assert_eq!(recalled(&store, "closed").await, [r"path C:\temp is closed", "Ο ΔΡΟΜΟΣ is closed"]);
    assert_eq!(recalled(&store, "50% 2026").await, ["growth was 50% in Q1_2026"]);
    assert_eq!(recalled(&store, "5_%").await, [""; 0], "wildcards stand for themselves");
    assert_eq!(recalled(&store, r"c:\TEMP").await, [r"path C:\temp is closed"]);
    assert_eq!(recalled(&store, "closed never").await, [""; 0]);
    assert_eq!(store.recall(&ann(), " ", 2).await.unwrap().len(), 2, "no words: the newest");
}

#[rstest]
#[tokio::test]
async fn pages_of_memories_lose_none_even_of_one_instant(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    for n in 0..7 {
        remember(&store, &ann(), &format!("memory {n}"), n / 4).await;
    }
    let whole = PageRequest { limit: 200, cursor: None };
    let all = store.list_memories(&ann(), None, &whole).await.unwrap().items;
    let mut paged = Vec::new();
    let mut request = PageRequest { limit: 2, cursor: None };
    loop {
        let page = store.list_memories(&ann(), None, &request).await.unwrap();
        assert!(page.items.len() <= 2);
        paged.extend(page.items);
        match page.next_cursor {
            Some(cursor) => request.cursor = Some(cursor),
            None => break,
        }
    }
    assert_eq!(paged, all);
    assert_eq!(paged.len(), 7);
}

#[rstest]
#[case::no_dot("nonsense")]
#[case::no_number("x.y")]
#[case::an_impossible_instant("9223372036854775807.y")]
#[case::empty("")]
#[tokio::test]
async fn a_cursor_of_somebody_else_is_refused(#[case] cursor: &str) {
    let (store, _folder) = Backend::Sqlite.store().await;
    let request = PageRequest { limit: 2, cursor: Some(cursor.into()) };
    let refused = store.list_memories(&ann(), None, &request).await.unwrap_err();
    assert!(matches!(refused, Error::Cursor), "{refused:?}");
    assert_eq!(refused.to_string(), "cursor is not one of this list; start again without a cursor");
}

#[rstest]
#[tokio::test]
async fn deleting_and_purging_touch_one_agent_only(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let first = remember(&store, &ann(), "one", 0).await;
    remember(&store, &ann(), "two", 1).await;
    let kept = remember(&store, &bob(), "three", 2).await;

    assert!(!store.delete_memory(&bob(), &first.id).await.unwrap(), "not Bob's");
    assert!(store.delete_memory(&ann(), &first.id).await.unwrap());
    assert!(!store.delete_memory(&ann(), &first.id).await.unwrap());
    assert_eq!(store.purge_memories(&ann()).await.unwrap(), 1);
    assert_eq!(recalled(&store, "").await, [""; 0]);
    assert_eq!(store.recall(&bob(), "", 10).await.unwrap(), [kept]);
}

#[rstest]
#[tokio::test]
async fn a_nul_in_a_text_is_replaced_alike(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let memory = remember(&store, &ann(), "a\0b", 0).await;
    assert_eq!(memory.text, "a\u{fffd}b");
    assert_eq!(recalled(&store, "a\0B").await, ["a\u{fffd}b"]);
    assert!(!store.delete_memory(&ann(), "no\0id").await.unwrap());
}
