//! An agent's log: numbered without gaps, read by cursor (ROUTE-11).

use futures::{Stream, TryStreamExt as _};
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use crate::store::{read, write};
use crate::text::{instant, json, storable};
use crate::{AgentKey, Error, Store};

/// Most events in one append.
pub const MAX_APPEND: usize = 500;
/// Most lines in one page.
pub const MAX_LOG_PAGE: u32 = 500;
/// Bytes after which a page ends, at the line that reaches them: what a harness writes
/// is its own affair, what a reader must hold is not.
pub const MAX_LOG_PAGE_BYTES: usize = 4 << 20;
/// Kind of the lines that announce a plan document.
const PLAN: &str = "plan";
/// What stands before the document's id in a plan line.
const PLAN_DOCUMENT: &str = "documents:";
/// Longest id of a document; an Agent's status holds no longer one.
const MAX_DOCUMENT_ID: usize = 255;

/// Something a harness reports.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEvent {
    /// Made by the harness; a repeated id is stored once.
    pub id: Uuid,
    /// When it happened, by the harness's clock.
    pub at: Timestamp,
    /// What it is: `think`, `tool`, `plan`, `question`, `error`, …
    pub kind: String,
    /// How bad it is: `info`, `warn`, `error`, …
    pub level: String,
    /// A line for a person.
    pub message: String,
    /// More of it, for programs.
    pub data: Option<Value>,
}

/// An event in its place.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    /// Its number in this agent's log, from 1, without gaps.
    pub sequence: i64,
    /// The event.
    pub event: LogEvent,
}

/// What came of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Events that were new.
    pub accepted: u64,
    /// Number of the newest line.
    pub last_sequence: i64,
}

/// Lines after a cursor.
#[derive(Clone, Debug, PartialEq)]
pub struct LogPage {
    /// The lines, oldest first.
    pub lines: Vec<LogLine>,
    /// The cursor for the next read.
    pub next_after: i64,
    /// Number of the oldest line still kept, or of the next to come if none is.
    pub oldest: i64,
    /// The cursor pointed at lines that are gone, or that this log never had: the
    /// page starts at `oldest`, and the reader should drop what it holds.
    pub reset: bool,
}

const LOCK_HEAD: &str = "\
    INSERT INTO agent_log_head (namespace, agent, last_sequence) VALUES ($1, $2, 0) \
    ON CONFLICT (namespace, agent) DO UPDATE SET last_sequence = agent_log_head.last_sequence \
    RETURNING last_sequence";
const INSERT: &str = "\
    INSERT INTO agent_log (namespace, agent, sequence, event_id, at, recorded_at, kind, level, message, data) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
    ON CONFLICT (namespace, agent, event_id) DO NOTHING";
const MOVE_HEAD: &str = "\
    UPDATE agent_log_head SET last_sequence = $3, plan_document_id = COALESCE($4, plan_document_id) \
    WHERE namespace = $1 AND agent = $2";
const HEAD: &str = "\
    SELECT last_sequence, plan_document_id, COALESCE( \
        (SELECT MIN(sequence) FROM agent_log WHERE namespace = $1 AND agent = $2), \
        last_sequence + 1) AS oldest \
    FROM agent_log_head WHERE namespace = $1 AND agent = $2";
const LINES: &str = "\
    SELECT sequence, event_id, at, kind, level, message, data FROM agent_log \
    WHERE namespace = $1 AND agent = $2 AND sequence > $3 AND sequence <= $4 \
    ORDER BY sequence LIMIT $5";
const LINES_OF_KIND: &str = "\
    SELECT sequence, event_id, at, kind, level, message, data FROM agent_log \
    WHERE namespace = $1 AND agent = $2 AND sequence > $3 AND sequence <= $4 AND kind = $6 \
    ORDER BY sequence LIMIT $5";

#[derive(sqlx::FromRow)]
struct Head {
    last_sequence: i64,
    plan_document_id: Option<String>,
    oldest: i64,
}

#[derive(sqlx::FromRow)]
struct LineRow {
    sequence: i64,
    event_id: String,
    at: i64,
    kind: String,
    level: String,
    message: String,
    data: Option<String>,
}

impl TryFrom<LineRow> for LogLine {
    type Error = Error;

    fn try_from(row: LineRow) -> Result<Self, Error> {
        Ok(Self {
            sequence: row.sequence,
            event: LogEvent {
                id: row.event_id.parse().map_err(|_| Error::Unreadable { what: "event id" })?,
                at: instant(row.at)?,
                kind: row.kind,
                level: row.level,
                message: row.message,
                data: row.data.as_deref().map(json).transpose()?,
            },
        })
    }
}

impl Store {
    /// Adds `events` to the agent's log in their order; those already there are left
    /// out. All of them are stored, or none.
    pub async fn append_log_events(
        &self,
        key: &AgentKey,
        events: &[LogEvent],
        now: Timestamp,
    ) -> Result<Appended, Error> {
        if events.len() > MAX_APPEND {
            return Err(Error::TooMany { what: "events", given: events.len(), limit: MAX_APPEND });
        }
        let failed = |source| Error::statement("append log events", source);
        Ok(write!(self, "append log events", transaction => {
            let first: i64 = sqlx::query_scalar(LOCK_HEAD)
                .bind(&key.namespace)
                .bind(&key.agent)
                .fetch_one(&mut *transaction)
                .await
                .map_err(failed)?;
            let mut last = first;
            let mut plan = None;
            for event in events {
                let stored = sqlx::query(INSERT)
                    .bind(&key.namespace)
                    .bind(&key.agent)
                    .bind(last + 1)
                    .bind(event.id.to_string())
                    .bind(event.at.as_microsecond())
                    .bind(now.as_microsecond())
                    .bind(storable(&event.kind))
                    .bind(storable(&event.level))
                    .bind(storable(&event.message))
                    .bind(event.data.as_ref().map(Value::to_string))
                    .execute(&mut *transaction)
                    .await
                    .map_err(failed)?
                    .rows_affected();
                if stored == 1 {
                    last += 1;
                    plan = plan_document(event).or(plan);
                }
            }
            sqlx::query(MOVE_HEAD)
                .bind(&key.namespace)
                .bind(&key.agent)
                .bind(last)
                .bind(plan)
                .execute(&mut *transaction)
                .await
                .map_err(failed)?;
            Appended { accepted: (last - first).unsigned_abs(), last_sequence: last }
        }))
    }

    /// Reads the agent's lines after cursor `after` (0: from the oldest), of one
    /// `kind` or of all.
    pub async fn read_log(
        &self,
        key: &AgentKey,
        after: i64,
        limit: u32,
        kind: Option<&str>,
    ) -> Result<LogPage, Error> {
        let limit = limit.clamp(1, MAX_LOG_PAGE);
        let head = self.log_head(key).await?;
        let gone = after > head.last_sequence || (after > 0 && after < head.oldest - 1);
        let start = if gone { head.oldest - 1 } else { after.max(head.oldest - 1) };
        let (rows, more) = read!(self, "read log", pool => {
            let query = sqlx::query_as(if kind.is_some() { LINES_OF_KIND } else { LINES })
                .bind(&key.namespace)
                .bind(&key.agent)
                .bind(start)
                // Lines that came since the head was read wait for the next page, so
                // that `next_after` never steps over one.
                .bind(head.last_sequence)
                .bind(i64::from(limit));
            let query = match kind {
                Some(kind) => query.bind(storable(kind)),
                None => query,
            };
            fill_page(query.fetch(pool), limit as usize)
        })?;
        let lines = rows.into_iter().map(LogLine::try_from).collect::<Result<Vec<_>, _>>()?;
        let next_after = match lines.last() {
            Some(last) if more => last.sequence,
            _ => head.last_sequence.max(start),
        };
        // Numbers have no gaps: one here means that lines went while we read.
        let pruned = kind.is_none() && lines.first().is_some_and(|line| line.sequence > start + 1);
        Ok(LogPage { lines, next_after, oldest: head.oldest, reset: gone || pruned })
    }

    /// The document of the agent's newest plan line, wherever that line is (ROUTE-03).
    pub async fn newest_plan_document(&self, key: &AgentKey) -> Result<Option<String>, Error> {
        Ok(self.log_head(key).await?.plan_document_id)
    }

    async fn log_head(&self, key: &AgentKey) -> Result<Head, Error> {
        let head = read!(self, "read log", pool => sqlx::query_as(HEAD)
            .bind(&key.namespace)
            .bind(&key.agent)
            .fetch_optional(pool))?;
        Ok(head.unwrap_or(Head { last_sequence: 0, plan_document_id: None, oldest: 1 }))
    }
}

/// The rows of one page, and whether it ends before the lines do.
async fn fill_page(
    mut rows: impl Stream<Item = Result<LineRow, sqlx::Error>> + Unpin,
    limit: usize,
) -> Result<(Vec<LineRow>, bool), sqlx::Error> {
    let (mut page, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.try_next().await? {
        bytes += row.message.len() + row.data.as_ref().map_or(0, String::len);
        page.push(row);
        if page.len() == limit || bytes >= MAX_LOG_PAGE_BYTES {
            return Ok((page, true));
        }
    }
    Ok((page, false))
}

/// The id in `documents:<id>`, from a plan line's message or its data.
fn plan_document(event: &LogEvent) -> Option<String> {
    if event.kind != PLAN {
        return None;
    }
    let in_data = || event.data.as_ref().and_then(document_in_json);
    document_in_text(&event.message).or_else(in_data)
}

fn document_in_json(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => document_in_text(text),
        Value::Array(items) => items.iter().find_map(document_in_json),
        Value::Object(fields) => fields.values().find_map(document_in_json),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn document_in_text(text: &str) -> Option<String> {
    let (_, rest) = text.split_once(PLAN_DOCUMENT)?;
    let id: String =
        rest.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
    (1..=MAX_DOCUMENT_ID).contains(&id.len()).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, message: &str, data: Option<Value>) -> LogEvent {
        LogEvent {
            id: Uuid::nil(),
            at: Timestamp::UNIX_EPOCH,
            kind: kind.into(),
            level: "info".into(),
            message: message.into(),
            data,
        }
    }

    #[test]
    fn a_plan_line_names_its_document_in_message_or_data() {
        let cases = [
            (event("plan", "plan saved: documents:0b6f-1 (v2)", None), Some("0b6f-1")),
            (
                event("plan", "saved", Some(serde_json::json!({"location": "documents:ab"}))),
                Some("ab"),
            ),
            (event("plan", "documents: nothing", None), None),
            // No status can hold it, and with it no later heartbeat would show.
            (event("plan", &format!("documents:{}", "a".repeat(256)), None), None),
            (event("think", "documents:ab", None), None),
        ];
        for (event, expected) in cases {
            assert_eq!(plan_document(&event).as_deref(), expected, "{}", event.message);
        }
    }
}
