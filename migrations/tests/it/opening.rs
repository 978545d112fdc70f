//! Opening a database, and every way it can be the wrong one.

use std::path::{Path, PathBuf};
use std::process::Command;

use foundry_store::{Class, Error, LogEvent, Problem, Store};
use pretty_assertions::assert_eq;
use rstest::rstest;
use sqlx::{Connection as _, Executor as _};
use uuid::Uuid;

use crate::backend::{Backend, ann, at};

/// Set for the child that plays a writer on a full disk.
const FULL_DISK_FILE: &str = "FOUNDRY_STORE_TEST_FULL_DISK";

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn several_openers_at_once_migrate_once(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let folder = tempfile::tempdir().unwrap();
    let url = match backend {
        Backend::Sqlite => format!("sqlite:{}", folder.path().join("new.db").display()),
        Backend::Postgres => testenv::postgres().await.database().await,
    };
    let mut openers = tokio::task::JoinSet::new();
    for _ in 0..5 {
        let url = url.clone();
        openers.spawn(async move { Store::open(&url).await });
    }
    let stores = openers.join_all().await;
    for store in stores {
        store.unwrap().ping().await.unwrap();
    }
}

#[rstest]
#[tokio::test]
async fn a_schema_from_a_newer_binary_is_left_alone_and_named(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let fresh = backend.fresh().await;
    fresh.store.close().await;
    let future = "INSERT INTO _sqlx_migrations \
        (version, description, success, checksum, execution_time) VALUES (9001, 'future', TRUE, ";
    match backend {
        Backend::Sqlite => {
            let mut connection = sqlx::SqliteConnection::connect(&fresh.url).await.unwrap();
            let insert = sqlx::AssertSqlSafe(format!("{future} x'00', 0)"));
            connection.execute(sqlx::raw_sql(insert)).await.unwrap();
            connection.close().await.unwrap();
        }
        Backend::Postgres => {
            let mut connection = sqlx::PgConnection::connect(&fresh.url).await.unwrap();
            let insert = sqlx::AssertSqlSafe(format!(r"{future} '\x00', 0)"));
            connection.execute(sqlx::raw_sql(insert)).await.unwrap();
        }
    }
    let error = Store::open(&fresh.url).await.unwrap_err();
    assert!(matches!(error, Error::NewerSchema { version: 9001, .. }), "{error:?}");
    assert!(error.to_string().contains("run the newer foundry"), "{error}");
    assert_eq!((error.class(), error.category()), (Class::Refused, "NewerSchema"));
}

#[tokio::test]
async fn a_missing_folder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("not there").join("foundry.db");
    let error = Store::open_file(&file).await.unwrap_err();
    let expected = format!(
        "folder {} does not exist; create it, or point the database at another path",
        folder.path().join("not there").display()
    );
    assert_eq!(error.to_string(), expected);
    assert!(!folder.path().join("not there").exists(), "nothing half-started is left");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.txt");
    let text = "these are my notes, please keep them\n".repeat(100);
    std::fs::write(&file, &text).unwrap();
    let error = Store::open_file(&file).await.unwrap_err();
    assert!(matches!(error, Error::Open { problem: Problem::NotADatabase, .. }), "{error:?}");
    let expected = format!(
        "failed to open database {}: the file is not a SQLite database; move it away, or name \
         another file",
        file.display()
    );
    assert_eq!(error.to_string(), expected);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

#[tokio::test]
async fn a_folder_in_place_of_the_file_is_denied() {
    let folder = tempfile::tempdir().unwrap();
    let error = Store::open_file(folder.path()).await.unwrap_err();
    assert!(matches!(error, Error::Open { problem: Problem::Denied, .. }), "{error:?}");
}

fn events(count: usize) -> Vec<LogEvent> {
    let event = |_| LogEvent {
        id: Uuid::new_v4(),
        at: at(0),
        kind: "think".into(),
        level: "info".into(),
        message: "x".repeat(1_000),
        data: None,
    };
    (0..count).map(event).collect()
}

/// A closed database file with some pages in it.
async fn filled(folder: &Path) -> PathBuf {
    let file = folder.join("foundry.db");
    let store = Store::open_file(&file).await.unwrap();
    store.append_log_events(&ann(), &events(300), at(0)).await.unwrap();
    store.close().await;
    file
}

#[rstest]
#[case::pages_overwritten(|bytes: &mut Vec<u8>| bytes[20_000..200_000].fill(0xa5))]
#[case::cut_short(|bytes: &mut Vec<u8>| bytes.truncate(60_000))]
#[tokio::test]
async fn a_damaged_file_is_refused_when_opened(#[case] damage: fn(&mut Vec<u8>)) {
    let folder = tempfile::tempdir().unwrap();
    let file = filled(folder.path()).await;
    let mut bytes = std::fs::read(&file).unwrap();
    damage(&mut bytes);
    std::fs::write(&file, bytes).unwrap();
    let error = Store::open_file(&file).await.unwrap_err();
    assert!(matches!(error, Error::Open { problem: Problem::Corrupt, .. }), "{error:?}");
    assert!(error.to_string().contains("restore a backup, or move the file away"), "{error}");
}

/// The child of the test below; does nothing when run by itself.
#[tokio::test]
async fn full_disk_writer() {
    let Some(file) = std::env::var_os(FULL_DISK_FILE) else { return };
    let store = Store::open_file(PathBuf::from(file)).await.unwrap();
    for _ in 0..1_000 {
        if let Err(error) = store.append_log_events(&ann(), &events(100), at(0)).await {
            println!("refused: {error} ({})", error.category());
            assert_eq!(error.class(), Class::Transient);
            return;
        }
    }
    panic!("the disk never filled");
}

#[tokio::test]
async fn a_full_disk_fails_the_write_and_keeps_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("foundry.db");
    // The limit is a process's own, so a child has it; the shell counts in 512 or
    // 1,024 bytes.
    let child = Command::new("sh")
        .args(["-c", r#"trap "" XFSZ; ulimit -f 3000; exec "$0" "$@""#])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "opening::full_disk_writer", "--nocapture"])
        .env(FULL_DISK_FILE, &file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{said}\n{}", String::from_utf8_lossy(&child.stderr));
    let expected = "refused: failed to append log events: the disk is full, or a file-size limit \
                    is reached; free some space (DiskFull)";
    assert!(said.contains(expected), "{said}");

    let store = Store::open_file(&file).await.unwrap();
    let last = store.append_log_events(&ann(), &events(1), at(1)).await.unwrap().last_sequence;
    assert_eq!((last - 1) % 100, 0, "whole appends only");
    assert!(last > 100, "{last}");
}

#[rstest]
#[case::no_scheme("foundry.db", "has no scheme")]
#[case::unknown("mysql://root:sesame@localhost/x", "has an unknown scheme")]
#[case::no_file("sqlite:", "names no file")]
#[case::no_memory("sqlite::memory:", "names no file")]
#[case::options("sqlite://foundry.db?mode=rwc", "has options, which SQLite files do not take")]
#[case::broken("postgres://me:sesame@host:notaport/x", "cannot be read")]
#[tokio::test]
async fn a_bad_url_is_refused_without_repeating_its_password(
    #[case] url: &str,
    #[case] reason: &str,
) {
    let error = Store::open(url).await.unwrap_err();
    let expected = format!("database url {reason}; use sqlite:<path> or postgres://user@host/name");
    assert_eq!(error.to_string(), expected);
    assert!(!format!("{error:?}").contains("sesame"));
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_said_to() {
    let url = format!("postgres://me:sesame@127.0.0.1:{}/x", testenv::free_port().unwrap());
    let error = Store::open(&url).await.unwrap_err();
    assert!(matches!(error, Error::Open { problem: Problem::Unreachable, .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "failed to open database x on 127.0.0.1: the database server does not answer; check that \
         it runs"
    );
    assert_eq!(error.class(), Class::Transient);
    assert!(!format!("{error:?}").contains("sesame"), "{error:?}");
}

#[tokio::test]
async fn a_database_that_the_server_does_not_know_is_said_to() {
    let url = testenv::postgres().await.database().await + "_not";
    let error = Store::open(&url).await.unwrap_err();
    assert!(matches!(error, Error::Open { problem: Problem::Login, .. }), "{error:?}");
}
