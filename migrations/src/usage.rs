//! What model calls used and cost (BIND-04, BIND-05).

use jiff::Timestamp;
use uuid::Uuid;

use crate::store::{read, write};
use crate::text::{instant, storable};
use crate::{AgentKey, Error, Page, PageRequest, Store};

/// One model call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Made by the relay; a repeated id is stored once.
    pub id: Uuid,
    /// The usage person the call is attributed to: the agent's mailbox (BIND-04).
    pub mailbox: Option<String>,
    /// Our id of the request.
    pub request_id: String,
    /// Wire id of the model.
    pub model: String,
    /// The provider's name of the model.
    pub upstream_model: String,
    /// `anthropic` or `openai`: the protocol that was spoken.
    pub wire: String,
    /// The provider's HTTP status; 0 when it gave none.
    pub status: i64,
    /// How it ended: `completed`, `failed`, `disconnected`, …
    pub outcome: String,
    /// When it was sent.
    pub started_at: Timestamp,
    /// When it ended.
    pub finished_at: Timestamp,
    /// Fresh input tokens.
    pub input_tokens: i64,
    /// Output tokens.
    pub output_tokens: i64,
    /// Input tokens read from the provider's cache.
    pub cache_read_tokens: i64,
    /// Input tokens written to the provider's cache.
    pub cache_write_tokens: i64,
    /// What the cache saved, in micros.
    pub cache_savings_micros: i64,
    /// What the call cost, in micros.
    pub cost_micros: i64,
    /// The tokens are our guess: the provider gave none.
    pub estimated: bool,
}

/// Sums over an agent's model calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct UsageTotals {
    /// Calls.
    pub calls: i64,
    /// Fresh input tokens.
    pub input_tokens: i64,
    /// Output tokens.
    pub output_tokens: i64,
    /// Input tokens read from caches.
    pub cache_read_tokens: i64,
    /// Input tokens written to caches.
    pub cache_write_tokens: i64,
    /// What caches saved, in micros.
    pub cache_savings_micros: i64,
    /// Cost in micros.
    pub cost_micros: i64,
}

const INSERT: &str = "\
    INSERT INTO broker_usage_records (namespace, agent, id, mailbox, request_id, model, \
    upstream_model, wire, status, outcome, started_at, finished_at, input_tokens, output_tokens, \
    cache_read_tokens, cache_write_tokens, cache_savings_micros, cost_micros, estimated) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19) \
    ON CONFLICT (id) DO NOTHING";
const TOTALS: &str = "\
    SELECT COUNT(*) AS calls, \
    CAST(COALESCE(SUM(input_tokens), 0) AS BIGINT) AS input_tokens, \
    CAST(COALESCE(SUM(output_tokens), 0) AS BIGINT) AS output_tokens, \
    CAST(COALESCE(SUM(cache_read_tokens), 0) AS BIGINT) AS cache_read_tokens, \
    CAST(COALESCE(SUM(cache_write_tokens), 0) AS BIGINT) AS cache_write_tokens, \
    CAST(COALESCE(SUM(cache_savings_micros), 0) AS BIGINT) AS cache_savings_micros, \
    CAST(COALESCE(SUM(cost_micros), 0) AS BIGINT) AS cost_micros \
    FROM broker_usage_records WHERE namespace = $1 AND agent = $2 AND retired_at IS NULL";
const TOTALS_OF_MAILBOX: &str = "\
    SELECT COUNT(*) AS calls, \
    CAST(COALESCE(SUM(input_tokens), 0) AS BIGINT) AS input_tokens, \
    CAST(COALESCE(SUM(output_tokens), 0) AS BIGINT) AS output_tokens, \
    CAST(COALESCE(SUM(cache_read_tokens), 0) AS BIGINT) AS cache_read_tokens, \
    CAST(COALESCE(SUM(cache_write_tokens), 0) AS BIGINT) AS cache_write_tokens, \
    CAST(COALESCE(SUM(cache_savings_micros), 0) AS BIGINT) AS cache_savings_micros, \
    CAST(COALESCE(SUM(cost_micros), 0) AS BIGINT) AS cost_micros \
    FROM broker_usage_records WHERE mailbox = $1";

const LIST: &str = "\
    SELECT id, mailbox, request_id, model, upstream_model, wire, status, outcome, started_at, \
    finished_at, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, \
    cache_savings_micros, cost_micros, estimated \
    FROM broker_usage_records \
    WHERE namespace = $1 AND agent = $2 AND retired_at IS NULL AND (finished_at, id) < ($3, $4) \
    ORDER BY finished_at DESC, id DESC LIMIT $5";

#[derive(sqlx::FromRow)]
struct UsageRow {
    id: String,
    mailbox: Option<String>,
    request_id: String,
    model: String,
    upstream_model: String,
    wire: String,
    status: i64,
    outcome: String,
    started_at: i64,
    finished_at: i64,
    input_tokens: i64,
    output_tokens: i64,
    cache_read_tokens: i64,
    cache_write_tokens: i64,
    cache_savings_micros: i64,
    cost_micros: i64,
    estimated: bool,
}

impl TryFrom<UsageRow> for (String, Usage) {
    type Error = Error;

    fn try_from(row: UsageRow) -> Result<Self, Error> {
        let usage = Usage {
            id: row.id.parse().map_err(|_| Error::Unreadable { what: "usage id" })?,
            mailbox: row.mailbox,
            request_id: row.request_id,
            model: row.model,
            upstream_model: row.upstream_model,
            wire: row.wire,
            status: row.status,
            outcome: row.outcome,
            started_at: instant(row.started_at)?,
            finished_at: instant(row.finished_at)?,
            input_tokens: row.input_tokens,
            output_tokens: row.output_tokens,
            cache_read_tokens: row.cache_read_tokens,
            cache_write_tokens: row.cache_write_tokens,
            cache_savings_micros: row.cache_savings_micros,
            cost_micros: row.cost_micros,
            estimated: row.estimated,
        };
        Ok((row.id, usage))
    }
}

impl Store {
    /// Keeps what one model call used.
    pub async fn record_usage(&self, key: &AgentKey, usage: &Usage) -> Result<(), Error> {
        write!(self, "record usage", transaction => {
            sqlx::query(INSERT)
                .bind(&key.namespace)
                .bind(&key.agent)
                .bind(usage.id.to_string())
                .bind(usage.mailbox.as_deref().map(storable))
                .bind(storable(&usage.request_id))
                .bind(storable(&usage.model))
                .bind(storable(&usage.upstream_model))
                .bind(&usage.wire)
                .bind(usage.status)
                .bind(&usage.outcome)
                .bind(usage.started_at.as_microsecond())
                .bind(usage.finished_at.as_microsecond())
                .bind(usage.input_tokens)
                .bind(usage.output_tokens)
                .bind(usage.cache_read_tokens)
                .bind(usage.cache_write_tokens)
                .bind(usage.cache_savings_micros)
                .bind(usage.cost_micros)
                .bind(usage.estimated)
                .execute(&mut *transaction)
                .await
                .map_err(|source| Error::statement("record usage", source))?;
        });
        Ok(())
    }

    /// Lists the agent's model calls, the one that ended last first.
    pub async fn list_usage(
        &self,
        key: &AgentKey,
        request: &PageRequest,
    ) -> Result<Page<Usage>, Error> {
        let place = request.place()?;
        let rows: Vec<UsageRow> = read!(self, "list usage", pool => sqlx::query_as(LIST)
            .bind(&key.namespace)
            .bind(&key.agent)
            .bind(place.micros)
            .bind(&place.id)
            .bind(request.rows_to_read())
            .fetch_all(pool))?;
        let calls = rows.into_iter().map(TryInto::try_into).collect::<Result<Vec<_>, _>>()?;
        let page = request.page(calls, |(id, usage): &(String, Usage)| (usage.finished_at, id));
        Ok(page.map(|(_, usage)| usage))
    }

    /// What the agent's model calls used; an earlier agent of the same name is not
    /// counted in.
    pub async fn usage_totals(&self, key: &AgentKey) -> Result<UsageTotals, Error> {
        read!(self, "sum usage", pool => sqlx::query_as(TOTALS)
            .bind(&key.namespace)
            .bind(&key.agent)
            .fetch_one(pool))
    }

    /// What was attributed to a mailbox (BIND-04), by deleted agents too.
    pub async fn usage_totals_of_mailbox(&self, mailbox: &str) -> Result<UsageTotals, Error> {
        read!(self, "sum usage", pool => sqlx::query_as(TOTALS_OF_MAILBOX)
            .bind(storable(mailbox))
            .fetch_one(pool))
    }
}
