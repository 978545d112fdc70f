//! PostgreSQL: for more than one replica.

use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgPool, PgTransaction};

use crate::Error;
use crate::error::Problem;
use crate::store::MIGRATIONS;

const MAX_CONNECTIONS: u32 = 16;
const WAIT_FOR_CONNECTION: Duration = Duration::from_secs(10);

/// Connections to a PostgreSQL database.
#[derive(Clone, Debug)]
pub struct Postgres {
    pool: PgPool,
}

impl Postgres {
    pub(crate) async fn open(url: &str) -> Result<Self, Error> {
        // The parser's own words may quote the URL, and with it a password.
        let options = PgConnectOptions::from_str(url)
            .map_err(|_| Error::Url { reason: "cannot be read" })?
            .application_name("foundry");
        let database = format!(
            "{} on {}",
            options.get_database().unwrap_or_else(|| options.get_username()),
            options.get_host()
        );
        let pool = PgPoolOptions::new()
            .max_connections(MAX_CONNECTIONS)
            .acquire_timeout(WAIT_FOR_CONNECTION)
            .connect_with(options)
            .await
            .map_err(|source| Error::Open {
                database: database.clone(),
                // No connection within the wait, when none is in use yet.
                problem: match Problem::of(&source) {
                    Problem::Busy => Problem::Unreachable,
                    problem => problem,
                },
                source: Some(source),
            })?;
        // Holds an advisory lock, so that two openers migrate one after the other.
        MIGRATIONS.run(&pool).await.map_err(|source| Error::migrate(database, source))?;
        Ok(Self { pool })
    }

    pub(crate) fn reader(&self) -> &PgPool {
        &self.pool
    }

    pub(crate) async fn begin(&self) -> Result<PgTransaction<'static>, sqlx::Error> {
        self.pool.begin().await
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}
