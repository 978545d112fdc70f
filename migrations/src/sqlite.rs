//! SQLite: one file, one writer, any number of readers.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection, SqlitePool, SqliteTransaction};

use crate::Error;
use crate::error::Problem;
use crate::store::MIGRATIONS;

const MAX_READERS: u32 = 8;
/// How long a writer waits for a writer of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a caller waits for a connection of ours.
const WAIT_FOR_CONNECTION: Duration = Duration::from_secs(15);
/// Files up to this size are checked whole when opened; larger ones show damage when
/// a statement meets it.
const CHECK_UP_TO_BYTES: u64 = 64 << 20;
/// Takes the write lock at once: a transaction that reads first and then writes
/// would otherwise fail when another wrote in between.
const BEGIN_WRITING: &str = "BEGIN IMMEDIATE";

/// Connections to a SQLite file.
#[derive(Clone, Debug)]
pub struct Sqlite {
    writer: SqlitePool,
    readers: SqlitePool,
}

impl Sqlite {
    pub(crate) async fn open(path: &Path) -> Result<Self, Error> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return Err(Error::MissingFolder { folder: folder.display().to_string() });
        }
        let database = path.display().to_string();
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // With WAL, NORMAL may lose the last transactions on a power cut; what a
            // caller was told is stored must be.
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT)
            .disable_statement_logging();
        prepare(path, &database, &options).await?;
        let open = |source| Error::open(database.clone(), source);
        let writer = pool(1).connect_with(options.clone()).await.map_err(open)?;
        let readers =
            pool(MAX_READERS).connect_with(options.read_only(true)).await.map_err(open)?;
        Ok(Self { writer, readers })
    }

    pub(crate) fn reader(&self) -> &SqlitePool {
        &self.readers
    }

    pub(crate) async fn begin(&self) -> Result<SqliteTransaction<'static>, sqlx::Error> {
        self.writer.begin_with(BEGIN_WRITING).await
    }

    pub(crate) async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

fn pool(connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new().max_connections(connections).acquire_timeout(WAIT_FOR_CONNECTION)
}

/// Checks the file and brings its schema up to date.
async fn prepare(path: &Path, database: &str, options: &SqliteConnectOptions) -> Result<(), Error> {
    let open = |source| Error::open(database.to_owned(), source);
    let mut connection = connect(options).await.map_err(open)?;
    let is_small = std::fs::metadata(path).is_ok_and(|file| file.len() <= CHECK_UP_TO_BYTES);
    let mut prepared = if is_small { check(&mut connection, database).await } else { Ok(()) };
    if prepared.is_ok() {
        prepared = migrate(&mut connection, database).await;
    }
    // A file that is refused is closed too: what SQLite keeps beside it goes then.
    let closed = connection.close().await.map_err(open);
    prepared.and(closed)
}

/// Brings the schema up to date, all or nothing: the write lock makes a second opener
/// wait, and then find nothing to do.
async fn migrate(connection: &mut SqliteConnection, database: &str) -> Result<(), Error> {
    let open = |source| Error::open(database.to_owned(), source);
    let mut transaction = connection.begin_with(BEGIN_WRITING).await.map_err(open)?;
    // `run` takes any `Acquire`, which makes the future's type too hard for spawning
    // tasks; this is what it calls.
    MIGRATIONS
        .run_direct(None, &mut *transaction, false)
        .await
        .map_err(|source| Error::migrate(database.to_owned(), source))?;
    transaction.commit().await.map_err(open)
}

/// Connects, and tries again while another opener turns the new file to WAL: that
/// step answers busy at once, without the busy timeout.
async fn connect(options: &SqliteConnectOptions) -> Result<SqliteConnection, sqlx::Error> {
    const PAUSE: Duration = Duration::from_millis(50);
    let attempts = BUSY_TIMEOUT.as_millis() / PAUSE.as_millis();
    for _ in 1..attempts {
        match options.connect().await {
            Err(error) if Problem::of(&error) == Problem::Busy => tokio::time::sleep(PAUSE).await,
            other => return other,
        }
    }
    options.connect().await
}

async fn check(connection: &mut SqliteConnection, database: &str) -> Result<(), Error> {
    let found: String = sqlx::query_scalar("PRAGMA quick_check(1)")
        .fetch_one(connection)
        .await
        .map_err(|source| Error::open(database.to_owned(), source))?;
    if found == "ok" {
        return Ok(());
    }
    Err(Error::Open { database: database.to_owned(), problem: Problem::Corrupt, source: None })
}
