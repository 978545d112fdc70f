//! SQLite files that are not ours, not whole or not of this version.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rstest::rstest;
use rustix::process::Signal;
use sqlx::{Connection as _, Executor as _};

use super::attempt::{Attempt, Place, assert_says};

const DEADLINE: Duration = Duration::from_secs(30);
const FILE: &str = "data/foundry.db";

/// A database as the API makes and leaves it.
async fn database(place: &Place) -> PathBuf {
    let file = place.path(FILE);
    let mut api = Attempt::api(place).start();
    let made = || async { if file.is_file() { Ok(()) } else { Err("it is not there") } };
    api.wait_for("the database was made", DEADLINE, made).await.unwrap();
    api.signal(Signal::TERM);
    let status = api.finish(DEADLINE).await.unwrap();
    assert!(status.success(), "{status}: {}", api.last_words());
    assert_eq!(place.left(), [FILE], "it closed its database");
    file
}

/// The refusal of a file, which stays as it is.
async fn refusal(place: &Place, file: &Path) -> String {
    let before = fs::read(file).unwrap();
    // SQLite's companions of the file may stay: whoever mends it may need what they hold.
    let harmless = [FILE, "data/foundry.db-shm", "data/foundry.db-wal"];
    let line = Attempt::api(place).refusal_leaving(&harmless).await;
    assert!(fs::read(file).unwrap() == before, "the file is another now: {line}");
    assert_says(&line, &[&file.display().to_string()]);
    line
}

#[rstest]
#[case::garbage("\u{7}garbage ".repeat(2_000), "not a SQLite database")]
#[case::text("dear diary, ".repeat(2_000), "not a SQLite database")]
#[tokio::test]
async fn a_file_that_is_no_database_is_refused(#[case] content: String, #[case] words: &str) {
    let place = Place::new();
    let file = place.path(FILE);
    fs::create_dir(place.path("data")).unwrap();
    fs::write(&file, content).unwrap();
    assert_says(&refusal(&place, &file).await, &[words, "move it away"]);
}

#[rstest]
#[case::garbage_in_its_header(|bytes: &mut Vec<u8>| bytes[..16].fill(0xa5), "not a SQLite")]
#[case::garbage_in_its_pages(|bytes: &mut Vec<u8>| bytes[8_192..65_536].fill(0xa5), "damaged")]
#[case::cut_short(|bytes: &mut Vec<u8>| bytes.truncate(60_000), "damaged")]
#[tokio::test]
async fn a_damaged_database_is_refused(#[case] damage: fn(&mut Vec<u8>), #[case] words: &str) {
    let place = Place::new();
    let file = database(&place).await;
    let mut bytes = fs::read(&file).unwrap();
    damage(&mut bytes);
    fs::write(&file, bytes).unwrap();
    assert_says(&refusal(&place, &file).await, &[words, "move"]);
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused() {
    let place = Place::new();
    let file = database(&place).await;
    let url = format!("sqlite:{}", file.display());
    let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
    let migration = "INSERT INTO _sqlx_migrations \
        (version, description, success, checksum, execution_time) \
        VALUES (9001, 'from the future', TRUE, x'00', 0)";
    connection.execute(migration).await.unwrap();
    connection.close().await.unwrap();
    let words = ["schema version 9001", "run the newer foundry", "restore a backup"];
    assert_says(&refusal(&place, &file).await, &words);
}
