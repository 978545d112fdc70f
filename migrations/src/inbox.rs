//! An agent's inbox: a wake is handed out until a run acknowledges it (ROUTE-10).

use std::time::Duration;

use jiff::Timestamp;

use crate::store::{read, write};
use crate::text::{instant, new_id, storable};
use crate::{AgentKey, Error, Store};

/// Most wakes one claim takes.
pub const MAX_CLAIM: u32 = 50;

/// A reason to wake an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewWake {
    /// Where it comes from: `person`, `message`, `schedule`, …
    pub source: String,
    /// What it says.
    pub text: Option<String>,
    /// The message behind it.
    pub message_id: Option<String>,
    /// The thread of that message.
    pub thread_id: Option<String>,
    /// A second wake with the same key is the first one.
    pub idempotency_key: Option<String>,
}

/// A wake in the inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wake {
    /// Its id.
    pub id: String,
    /// Where it comes from.
    pub source: String,
    /// What it says.
    pub text: Option<String>,
    /// The message behind it.
    pub message_id: Option<String>,
    /// The thread of that message.
    pub thread_id: Option<String>,
    /// The ephemeral agent it was for, when that one is over (LIFE-18).
    pub addressed_to: Option<String>,
    /// When it was recorded.
    pub created_at: Timestamp,
}

pub(crate) const INSERT: &str = "\
    INSERT INTO agent_inbox \
    (namespace, agent, id, source, text, message_id, thread_id, idempotency_key, created_at, \
        addressed_to) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
    ON CONFLICT (namespace, agent, idempotency_key) DO UPDATE SET source = agent_inbox.source \
    RETURNING id, source, text, message_id, thread_id, addressed_to, created_at";
const PENDING: &str = "\
    SELECT COUNT(*) FROM (SELECT 1 AS one FROM agent_inbox \
        WHERE namespace = $1 AND agent = $2 AND acknowledged_at IS NULL AND leased_until <= $3 \
        LIMIT 1) AS pending";
// PostgreSQL has many writers: rows that another is claiming are skipped, not waited for.
const CLAIM_POSTGRES: &str = "\
    WITH due AS MATERIALIZED (SELECT id FROM agent_inbox \
        WHERE namespace = $1 AND agent = $2 AND acknowledged_at IS NULL AND leased_until <= $3 \
        ORDER BY created_at, id LIMIT $5 FOR UPDATE SKIP LOCKED) \
    UPDATE agent_inbox SET leased_until = $4 FROM due \
    WHERE agent_inbox.namespace = $1 AND agent_inbox.agent = $2 AND agent_inbox.id = due.id \
    RETURNING agent_inbox.id, source, text, message_id, thread_id, addressed_to, created_at";
// SQLite has one writer, and this is it.
const CLAIM_SQLITE: &str = "\
    UPDATE agent_inbox SET leased_until = $4 \
    WHERE namespace = $1 AND agent = $2 AND id IN (SELECT id FROM agent_inbox \
        WHERE namespace = $1 AND agent = $2 AND acknowledged_at IS NULL AND leased_until <= $3 \
        ORDER BY created_at, id LIMIT $5) \
    RETURNING id, source, text, message_id, thread_id, addressed_to, created_at";

#[derive(sqlx::FromRow)]
pub(crate) struct WakeRow {
    id: String,
    source: String,
    text: Option<String>,
    message_id: Option<String>,
    thread_id: Option<String>,
    addressed_to: Option<String>,
    created_at: i64,
}

impl TryFrom<WakeRow> for Wake {
    type Error = Error;

    fn try_from(row: WakeRow) -> Result<Self, Error> {
        Ok(Self {
            id: row.id,
            source: row.source,
            text: row.text,
            message_id: row.message_id,
            thread_id: row.thread_id,
            addressed_to: row.addressed_to,
            created_at: instant(row.created_at)?,
        })
    }
}

impl Store {
    /// Records a wake, whatever the agent is doing; a repeated idempotency key gives
    /// the wake that is there already.
    pub async fn record_wake(
        &self,
        key: &AgentKey,
        wake: &NewWake,
        now: Timestamp,
    ) -> Result<Wake, Error> {
        let row: WakeRow = write!(self, "record wake", transaction => {
            sqlx::query_as(INSERT)
                .bind(&key.namespace)
                .bind(&key.agent)
                .bind(new_id(now))
                .bind(storable(&wake.source))
                .bind(stored(wake.text.as_ref()))
                .bind(stored(wake.message_id.as_ref()))
                .bind(stored(wake.thread_id.as_ref()))
                .bind(stored(wake.idempotency_key.as_ref()))
                .bind(now.as_microsecond())
                .bind(None::<String>)
                .fetch_one(&mut *transaction)
                .await
                .map_err(|source| Error::statement("record wake", source))?
        });
        row.try_into()
    }

    /// Hands out the agent's oldest pending wakes. Nobody else gets them until
    /// `lease` has passed; after it they are pending again, unless a run has
    /// acknowledged them.
    pub async fn claim_wakes(
        &self,
        key: &AgentKey,
        now: Timestamp,
        lease: Duration,
        limit: u32,
    ) -> Result<Vec<Wake>, Error> {
        if !self.has_pending_wake(key, now).await? {
            return Ok(Vec::new());
        }
        let claim = match self {
            Self::Postgres(_) => CLAIM_POSTGRES,
            Self::Sqlite(_) => CLAIM_SQLITE,
        };
        let rows: Vec<WakeRow> = write!(self, "claim wakes", transaction => {
            sqlx::query_as(claim)
                .bind(&key.namespace)
                .bind(&key.agent)
                .bind(now.as_microsecond())
                .bind(lease_end(now, lease))
                .bind(i64::from(limit.clamp(1, MAX_CLAIM)))
                .fetch_all(&mut *transaction)
                .await
                .map_err(|source| Error::statement("claim wakes", source))?
        });
        let mut wakes = rows.into_iter().map(Wake::try_from).collect::<Result<Vec<_>, _>>()?;
        wakes.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        Ok(wakes)
    }

    /// Whether a claim would find something: a read, so that many who wait for a wake
    /// keep no writer busy.
    async fn has_pending_wake(&self, key: &AgentKey, now: Timestamp) -> Result<bool, Error> {
        let pending: i64 = read!(self, "look for wakes", pool => sqlx::query_scalar(PENDING)
            .bind(&key.namespace)
            .bind(&key.agent)
            .bind(now.as_microsecond())
            .fetch_one(pool))?;
        Ok(pending > 0)
    }
}

/// A field as the databases hold it.
pub(crate) fn stored(field: Option<&String>) -> Option<String> {
    field.map(|text| storable(text).into_owned())
}

/// Microseconds at which a lease taken now ends.
pub(crate) fn lease_end(now: Timestamp, lease: Duration) -> i64 {
    let lease = i64::try_from(lease.as_micros()).unwrap_or(i64::MAX);
    now.as_microsecond().saturating_add(lease)
}
