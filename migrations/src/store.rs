//! The store: one of two databases, and how a statement runs on either.

use std::path::Path;

use crate::Error;
use crate::postgres::Postgres;
use crate::sqlite::Sqlite;

/// Runs one reading statement on whichever database `$store` is. The same statement
/// serves both; the macro only lets the compiler see it once for each driver.
macro_rules! read {
    ($store:expr, $doing:literal, $pool:ident => $statement:expr) => {
        match $store {
            $crate::Store::Postgres(backend) => {
                let $pool = backend.reader();
                $statement.await.map_err(|source| $crate::Error::statement($doing, source))
            }
            $crate::Store::Sqlite(backend) => {
                let $pool = backend.reader();
                $statement.await.map_err(|source| $crate::Error::statement($doing, source))
            }
        }
    };
}

/// Runs `$body` in one writing transaction of whichever database `$store` is, and
/// commits. A `?` inside leaves the function, and with it the transaction is undone.
macro_rules! write {
    ($store:expr, $doing:literal, $transaction:ident => $body:block) => {
        match $store {
            $crate::Store::Postgres(backend) => {
                let mut $transaction = backend
                    .begin()
                    .await
                    .map_err(|source| $crate::Error::statement($doing, source))?;
                let outcome = $body;
                $transaction
                    .commit()
                    .await
                    .map_err(|source| $crate::Error::statement($doing, source))?;
                outcome
            }
            $crate::Store::Sqlite(backend) => {
                let mut $transaction = backend
                    .begin()
                    .await
                    .map_err(|source| $crate::Error::statement($doing, source))?;
                let outcome = $body;
                $transaction
                    .commit()
                    .await
                    .map_err(|source| $crate::Error::statement($doing, source))?;
                outcome
            }
        }
    };
}

pub(crate) use {read, write};

/// Which agent a row belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentKey {
    /// Namespace of the Agent; its workspace.
    pub namespace: String,
    /// `metadata.name` of the Agent.
    pub agent: String,
}

impl AgentKey {
    /// The key of agent `agent` in `namespace`.
    pub fn new(namespace: impl Into<String>, agent: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), agent: agent.into() }
    }
}

/// Everything Foundry remembers. Clones share their connections.
#[derive(Clone, Debug)]
pub enum Store {
    /// A PostgreSQL database, for any number of replicas.
    Postgres(Postgres),
    /// A SQLite file, for one replica.
    Sqlite(Sqlite),
}

/// The migrations: every dialect difference is kept out of them.
pub(crate) static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("./sql");

impl Store {
    /// Opens the database that `url` names (`sqlite:<path>` or `postgres://…`) and
    /// brings its schema up to date. Several openers at once are safe.
    pub async fn open(url: &str) -> Result<Self, Error> {
        match url.split_once(':') {
            Some(("sqlite", rest)) => {
                let path = rest.strip_prefix("//").unwrap_or(rest);
                match path {
                    // Each connection would see a memory of its own.
                    "" | ":memory:" => Err(Error::Url { reason: "names no file" }),
                    _ if path.contains('?') => {
                        Err(Error::Url { reason: "has options, which SQLite files do not take" })
                    }
                    _ => Self::open_file(path).await,
                }
            }
            Some(("postgres" | "postgresql", _)) => Ok(Self::Postgres(Postgres::open(url).await?)),
            Some(_) => Err(Error::Url { reason: "has an unknown scheme" }),
            None => Err(Error::Url { reason: "has no scheme" }),
        }
    }

    /// Opens, or creates, the SQLite file at `path` and brings its schema up to date.
    pub async fn open_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self::Sqlite(Sqlite::open(path.as_ref()).await?))
    }

    /// Asks the database for a sign of life, for a readiness check.
    pub async fn ping(&self) -> Result<(), Error> {
        let _one: i64 = read!(self, "reach the database", pool => {
            sqlx::query_scalar("SELECT CAST(1 AS BIGINT)").fetch_one(pool)
        })?;
        Ok(())
    }

    /// Finishes what runs and closes all connections.
    pub async fn close(&self) {
        match self {
            Self::Postgres(postgres) => postgres.close().await,
            Self::Sqlite(sqlite) => sqlite.close().await,
        }
    }
}
