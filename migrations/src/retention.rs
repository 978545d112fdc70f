//! What goes: old log lines, and the rows of an agent that is gone.

use jiff::Timestamp;
use serde_json::json;

use crate::document::{DELETED_DOCUMENT, Place};
use crate::outbox::PUSH;
use crate::store::{read, write};
use crate::text::new_id;
use crate::{AgentKey, Error, Store};

/// Lines deleted in one transaction, so that writers never wait long.
const SLICE: i64 = 5_000;

const HEADS: &str =
    "SELECT namespace, agent, last_sequence FROM agent_log_head ORDER BY namespace, agent";
// The lines up to this one go: all but the newest `keep`, and all that are too old.
const CUT: &str = "\
    SELECT COALESCE(MIN(sequence), 0) AS oldest, \
    COALESCE((SELECT MAX(sequence) FROM agent_log \
        WHERE namespace = $1 AND agent = $2 AND recorded_at < $3), 0) AS aged \
    FROM agent_log WHERE namespace = $1 AND agent = $2";
const DELETE_LINES: &str =
    "DELETE FROM agent_log WHERE namespace = $1 AND agent = $2 AND sequence <= $3";
const RETIRE_USAGE: &str = "\
    UPDATE broker_usage_records SET retired_at = $3 \
    WHERE namespace = $1 AND agent = $2 AND retired_at IS NULL AND finished_at < $4";
// The log's head first, as an append takes it first: the other way round the two could
// wait for each other. For the same reason the coding task before its questions.
const DELETE_HEAD: &str = "DELETE FROM agent_log_head WHERE namespace = $1 AND agent = $2";
// Numbers go on where a later agent writes already; the plan of an earlier one goes.
const FORGET_PLAN: &str = "\
    UPDATE agent_log_head SET plan_document_id = NULL WHERE namespace = $1 AND agent = $2 \
    AND NOT EXISTS (SELECT 1 FROM agent_log WHERE namespace = $1 AND agent = $2 \
        AND kind = 'plan' AND recorded_at >= $3)";
const DELETE_ROWS: [&str; 10] = [
    "DELETE FROM agent_log WHERE namespace = $1 AND agent = $2 AND recorded_at < $3",
    "DELETE FROM agent_memory WHERE namespace = $1 AND agent = $2 AND created_at < $3",
    "DELETE FROM agent_inbox WHERE namespace = $1 AND agent = $2 AND created_at < $3",
    "DELETE FROM agent_thread WHERE namespace = $1 AND agent = $2 AND linked_at < $3",
    "DELETE FROM agent_run WHERE namespace = $1 AND agent = $2 AND started_at < $3",
    "DELETE FROM agent_heartbeat WHERE namespace = $1 AND agent = $2 AND at < $3",
    "DELETE FROM coding_task WHERE namespace = $1 AND agent = $2 AND updated_at < $3",
    "DELETE FROM agent_question WHERE namespace = $1 AND agent = $2 AND asked_at < $3",
    "DELETE FROM document WHERE namespace = $1 AND agent = $2 AND created_at < $3",
    // Bytes that are still to be deleted are so whoever has the name.
    "DELETE FROM outbox WHERE namespace = $1 AND agent = $2 AND created_at < $3 \
        AND topic <> 'deleted-document'",
];
const DOCUMENTS: &str = "\
    SELECT container, path FROM document \
    WHERE namespace = $1 AND agent = $2 AND created_at < $3 ORDER BY path";

#[derive(sqlx::FromRow)]
struct HeadRow {
    namespace: String,
    agent: String,
    last_sequence: i64,
}

#[derive(sqlx::FromRow)]
struct Cut {
    oldest: i64,
    aged: i64,
}

impl Store {
    /// Deletes log lines recorded before `before`, and of each agent all but the
    /// newest `keep`. Says how many went. Numbers are never handed out again.
    pub async fn prune_logs(&self, before: Timestamp, keep: u32) -> Result<u64, Error> {
        let heads: Vec<HeadRow> =
            read!(self, "read log heads", pool => sqlx::query_as(HEADS).fetch_all(pool))?;
        let mut deleted = 0;
        for head in heads {
            let key = AgentKey::new(head.namespace, head.agent);
            let cut: Cut = read!(self, "find old log lines", pool => sqlx::query_as(CUT)
                .bind(&key.namespace)
                .bind(&key.agent)
                .bind(before.as_microsecond())
                .fetch_one(pool))?;
            let through = cut.aged.max(head.last_sequence - i64::from(keep));
            let mut from = cut.oldest;
            while from > 0 && from <= through {
                from += SLICE;
                deleted += self.delete_lines(&key, through.min(from - 1)).await?;
            }
        }
        Ok(deleted)
    }

    async fn delete_lines(&self, key: &AgentKey, through: i64) -> Result<u64, Error> {
        Ok(write!(self, "prune log", transaction => {
            sqlx::query(DELETE_LINES)
                .bind(&key.namespace)
                .bind(&key.agent)
                .bind(through)
                .execute(&mut *transaction)
                .await
                .map_err(|source| Error::statement("prune log", source))?
                .rows_affected()
        }))
    }

    /// Deletes every row of an agent whose resource is gone. Its usage records stay,
    /// for the bill does, but no longer count for an agent of the same name. The bytes of
    /// its documents are somewhere else: deliveries of [`DELETED_DOCUMENT`] name them.
    pub async fn delete_agent_rows(&self, key: &AgentKey, now: Timestamp) -> Result<(), Error> {
        self.delete_rows(key, None, now).await
    }

    /// The same for an agent in whose place there is another of its name by now, created
    /// at `created`: what is older than that goes.
    pub async fn delete_earlier_rows(
        &self,
        key: &AgentKey,
        created: Timestamp,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.delete_rows(key, Some(created), now).await
    }

    async fn delete_rows(
        &self,
        key: &AgentKey,
        created: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), Error> {
        let failed = |source| Error::statement("delete agent rows", source);
        let before = created.map_or(i64::MAX, Timestamp::as_microsecond);
        write!(self, "delete agent rows", transaction => {
            let head = sqlx::query(if created.is_some() { FORGET_PLAN } else { DELETE_HEAD })
                .bind(&key.namespace)
                .bind(&key.agent);
            let head = if created.is_some() { head.bind(before) } else { head };
            head.execute(&mut *transaction).await.map_err(failed)?;
            let documents: Vec<Place> = sqlx::query_as(DOCUMENTS)
                .bind(&key.namespace)
                .bind(&key.agent)
                .bind(before)
                .fetch_all(&mut *transaction)
                .await
                .map_err(failed)?;
            for statement in DELETE_ROWS {
                sqlx::query(statement)
                    .bind(&key.namespace)
                    .bind(&key.agent)
                    .bind(before)
                    .execute(&mut *transaction)
                    .await
                    .map_err(failed)?;
            }
            for Place { container, path } in documents {
                sqlx::query(PUSH)
                    .bind(&key.namespace)
                    .bind(&key.agent)
                    .bind(new_id(now))
                    .bind(DELETED_DOCUMENT)
                    .bind(&path)
                    .bind(json!({"container": container, "path": path}).to_string())
                    .bind(now.as_microsecond())
                    .execute(&mut *transaction)
                    .await
                    .map_err(failed)?;
            }
            sqlx::query(RETIRE_USAGE)
                .bind(&key.namespace)
                .bind(&key.agent)
                .bind(now.as_microsecond())
                .bind(before)
                .execute(&mut *transaction)
                .await
                .map_err(failed)?;
        });
        Ok(())
    }
}
