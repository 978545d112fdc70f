//! Run records: what an evaluation cost and why it ran; never the text of a prompt.

use jiff::Timestamp;
use uuid::Uuid;

use crate::store::{read, write};
use crate::text::{instant, storable};
use crate::{AgentKey, Error, Page, PageRequest, Store};

/// One finished run of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Made by the harness; a repeated id is stored once.
    pub id: Uuid,
    /// The wake it answered.
    pub wake_id: Option<String>,
    /// Why it ran.
    pub reason: String,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Timestamp,
    /// Model calls it made.
    pub turns: i64,
    /// Input tokens, caches included.
    pub input_tokens: i64,
    /// Output tokens.
    pub output_tokens: i64,
    /// What came of it, in a word.
    pub outcome: String,
}

const INSERT: &str = "\
    INSERT INTO agent_run (namespace, agent, id, wake_id, reason, started_at, finished_at, \
    turns, input_tokens, output_tokens, outcome) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
    ON CONFLICT (namespace, agent, id) DO NOTHING";
// A second delivery's run leaves the first acknowledgement as it is.
const ACKNOWLEDGE: &str = "\
    UPDATE agent_inbox \
    SET run_id = COALESCE(run_id, $4), acknowledged_at = COALESCE(acknowledged_at, $5) \
    WHERE namespace = $1 AND agent = $2 AND id = $3";
const LIST: &str = "\
    SELECT id, wake_id, reason, started_at, finished_at, turns, input_tokens, output_tokens, outcome \
    FROM agent_run \
    WHERE namespace = $1 AND agent = $2 AND (started_at, id) < ($3, $4) \
    ORDER BY started_at DESC, id DESC LIMIT $5";

#[derive(sqlx::FromRow)]
struct RunRow {
    id: String,
    wake_id: Option<String>,
    reason: String,
    started_at: i64,
    finished_at: i64,
    turns: i64,
    input_tokens: i64,
    output_tokens: i64,
    outcome: String,
}

impl TryFrom<RunRow> for (String, Run) {
    type Error = Error;

    fn try_from(row: RunRow) -> Result<Self, Error> {
        let run = Run {
            id: row.id.parse().map_err(|_| Error::Unreadable { what: "run id" })?,
            wake_id: row.wake_id,
            reason: row.reason,
            started_at: instant(row.started_at)?,
            finished_at: instant(row.finished_at)?,
            turns: row.turns,
            input_tokens: row.input_tokens,
            output_tokens: row.output_tokens,
            outcome: row.outcome,
        };
        Ok((row.id, run))
    }
}

impl Store {
    /// Keeps a run record and acknowledges its wake, both or neither. Says whether
    /// the record is new: a harness that got no answer sends it again.
    pub async fn record_run(
        &self,
        key: &AgentKey,
        run: &Run,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let failed = |source| Error::statement("record run", source);
        Ok(write!(self, "record run", transaction => {
            let stored = sqlx::query(INSERT)
                .bind(&key.namespace)
                .bind(&key.agent)
                .bind(run.id.to_string())
                .bind(run.wake_id.as_deref().map(storable))
                .bind(storable(&run.reason))
                .bind(run.started_at.as_microsecond())
                .bind(run.finished_at.as_microsecond())
                .bind(run.turns)
                .bind(run.input_tokens)
                .bind(run.output_tokens)
                .bind(storable(&run.outcome))
                .execute(&mut *transaction)
                .await
                .map_err(failed)?
                .rows_affected();
            if let Some(wake) = run.wake_id.as_deref().filter(|_| stored > 0) {
                let acknowledged = sqlx::query(ACKNOWLEDGE)
                    .bind(&key.namespace)
                    .bind(&key.agent)
                    .bind(storable(wake))
                    .bind(run.id.to_string())
                    .bind(now.as_microsecond())
                    .execute(&mut *transaction)
                    .await
                    .map_err(failed)?
                    .rows_affected();
                if acknowledged == 0 {
                    return Err(Error::UnknownWake {
                        id: wake.to_owned(),
                        agent: key.agent.clone(),
                    });
                }
            }
            stored > 0
        }))
    }

    /// Lists the agent's runs, newest first.
    pub async fn list_runs(
        &self,
        key: &AgentKey,
        request: &PageRequest,
    ) -> Result<Page<Run>, Error> {
        let place = request.place()?;
        let rows: Vec<RunRow> = read!(self, "list runs", pool => sqlx::query_as(LIST)
            .bind(&key.namespace)
            .bind(&key.agent)
            .bind(place.micros)
            .bind(&place.id)
            .bind(request.rows_to_read())
            .fetch_all(pool))?;
        let runs = rows.into_iter().map(TryInto::try_into).collect::<Result<Vec<_>, _>>()?;
        let page = request.page(runs, |(id, run): &(String, Run)| (run.started_at, id));
        Ok(page.map(|(_, run)| run))
    }
}
