//! Heartbeats: one row an agent, never a log line.

use jiff::Timestamp;
use uuid::Uuid;

use crate::store::{read, write};
use crate::text::instant;
use crate::{AgentKey, Error, Store};

/// A sign of life of an agent's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// When it came.
    pub at: Timestamp,
    /// Which process.
    pub process_id: Uuid,
    /// Start number that the process runs.
    pub generation: i64,
    /// How full its context is.
    pub context_percent: Option<i64>,
}

const LAST: &str = "\
    SELECT namespace, agent, at, process_id, generation, context_percent FROM agent_heartbeat \
    WHERE namespace = $1 AND agent = $2";
const OF_NAMESPACE: &str = "\
    SELECT namespace, agent, at, process_id, generation, context_percent FROM agent_heartbeat \
    WHERE namespace = $1 ORDER BY agent";
const PUT: &str = "\
    INSERT INTO agent_heartbeat (namespace, agent, at, process_id, generation, context_percent) \
    VALUES ($1, $2, $3, $4, $5, $6) \
    ON CONFLICT (namespace, agent) DO UPDATE SET at = excluded.at, \
    process_id = excluded.process_id, generation = excluded.generation, \
    context_percent = COALESCE(excluded.context_percent, agent_heartbeat.context_percent)";

#[derive(sqlx::FromRow)]
struct BeatRow {
    namespace: String,
    agent: String,
    at: i64,
    process_id: String,
    generation: i64,
    context_percent: Option<i64>,
}

impl TryFrom<BeatRow> for (AgentKey, Beat) {
    type Error = Error;

    fn try_from(row: BeatRow) -> Result<Self, Error> {
        let beat = Beat {
            at: instant(row.at)?,
            process_id: row
                .process_id
                .parse()
                .map_err(|_| Error::Unreadable { what: "process id" })?,
            generation: row.generation,
            context_percent: row.context_percent,
        };
        Ok((AgentKey::new(row.namespace, row.agent), beat))
    }
}

impl Store {
    /// Keeps the agent's latest beat and gives the one before. A beat that does not
    /// say how full the context is leaves the last known value.
    pub async fn heartbeat(&self, key: &AgentKey, beat: Beat) -> Result<Option<Beat>, Error> {
        let failed = |source| Error::statement("record heartbeat", source);
        let previous: Option<BeatRow> = write!(self, "record heartbeat", transaction => {
            let previous = sqlx::query_as(LAST)
                .bind(&key.namespace)
                .bind(&key.agent)
                .fetch_optional(&mut *transaction)
                .await
                .map_err(failed)?;
            sqlx::query(PUT)
                .bind(&key.namespace)
                .bind(&key.agent)
                .bind(beat.at.as_microsecond())
                .bind(beat.process_id.to_string())
                .bind(beat.generation)
                .bind(beat.context_percent)
                .execute(&mut *transaction)
                .await
                .map_err(failed)?;
            previous
        });
        Ok(previous.map(<(AgentKey, Beat)>::try_from).transpose()?.map(|(_, beat)| beat))
    }

    /// The agent's latest beat.
    pub async fn last_heartbeat(&self, key: &AgentKey) -> Result<Option<Beat>, Error> {
        let row: Option<BeatRow> = read!(self, "read heartbeat", pool => sqlx::query_as(LAST)
            .bind(&key.namespace)
            .bind(&key.agent)
            .fetch_optional(pool))?;
        Ok(row.map(<(AgentKey, Beat)>::try_from).transpose()?.map(|(_, beat)| beat))
    }

    /// The latest beats of all agents in a namespace.
    pub async fn read_heartbeats(&self, namespace: &str) -> Result<Vec<(AgentKey, Beat)>, Error> {
        let rows: Vec<BeatRow> = read!(self, "read heartbeats", pool => sqlx::query_as(OF_NAMESPACE)
            .bind(namespace)
            .fetch_all(pool))?;
        rows.into_iter().map(TryInto::try_into).collect()
    }
}
