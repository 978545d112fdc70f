//! The outbox: what must still reach somewhere else, tried until it does.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::inbox::{MAX_CLAIM, lease_end};
use crate::store::write;
use crate::text::{json, new_id, storable};
use crate::{AgentKey, Error, Store};

/// Wait after the first failure; it doubles with each one more.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
/// The longest wait between two tries.
const MAX_BACKOFF: Duration = Duration::from_mins(5);

/// Something to deliver. A newer one with the same agent, topic and subject takes the
/// place of one that waits.
#[derive(Clone, Debug, PartialEq)]
pub struct NewDelivery {
    /// Who delivers it: `agent-status`, …
    pub topic: String,
    /// What it is about, within the topic.
    pub subject: String,
    /// What to deliver.
    pub payload: Value,
}

/// A delivery that was handed out.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivery {
    /// Its row.
    pub id: String,
    /// Rises when a newer payload takes the place of this one.
    pub version: i64,
    /// Whose it is.
    pub key: AgentKey,
    /// Who delivers it.
    pub topic: String,
    /// What it is about.
    pub subject: String,
    /// What to deliver.
    pub payload: Value,
    /// Tries that failed.
    pub attempts: i64,
}

pub(crate) const PUSH: &str = "\
    INSERT INTO outbox \
    (namespace, agent, id, topic, subject, version, payload, created_at, due_at, attempts) \
    VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $7, 0) \
    ON CONFLICT (namespace, agent, topic, subject) DO UPDATE SET \
    version = outbox.version + 1, payload = excluded.payload";
// The same, due at once even where a delivery failed before or is on its way: for topics
// whose deliveries read what there is, and may overlap.
pub(crate) const PUSH_DUE: &str = "\
    INSERT INTO outbox \
    (namespace, agent, id, topic, subject, version, payload, created_at, due_at, attempts) \
    VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $7, 0) \
    ON CONFLICT (namespace, agent, topic, subject) DO UPDATE SET \
    version = outbox.version + 1, payload = excluded.payload, due_at = excluded.due_at";
const CLAIM_POSTGRES: &str = "\
    WITH due AS MATERIALIZED (SELECT id FROM outbox \
        WHERE topic = $1 AND due_at <= $2 ORDER BY due_at, id LIMIT $4 FOR UPDATE SKIP LOCKED) \
    UPDATE outbox SET due_at = $3 FROM due WHERE outbox.id = due.id \
    RETURNING outbox.id, version, namespace, agent, topic, subject, payload, attempts";
const CLAIM_SQLITE: &str = "\
    UPDATE outbox SET due_at = $3 WHERE id IN (SELECT id FROM outbox \
        WHERE topic = $1 AND due_at <= $2 ORDER BY due_at, id LIMIT $4) \
    RETURNING id, version, namespace, agent, topic, subject, payload, attempts";
const DELETE: &str = "DELETE FROM outbox WHERE id = $1 AND version = $2";
// A newer payload came while this one was on its way: it is due at once.
const MAKE_DUE: &str =
    "UPDATE outbox SET due_at = $2, attempts = 0, last_error = NULL WHERE id = $1";
const FAIL: &str =
    "UPDATE outbox SET due_at = $2, attempts = attempts + 1, last_error = $3 WHERE id = $1";

#[derive(sqlx::FromRow)]
struct DeliveryRow {
    id: String,
    version: i64,
    namespace: String,
    agent: String,
    topic: String,
    subject: String,
    payload: String,
    attempts: i64,
}

impl TryFrom<DeliveryRow> for Delivery {
    type Error = Error;

    fn try_from(row: DeliveryRow) -> Result<Self, Error> {
        Ok(Self {
            id: row.id,
            version: row.version,
            key: AgentKey::new(row.namespace, row.agent),
            topic: row.topic,
            subject: row.subject,
            payload: json(&row.payload)?,
            attempts: row.attempts,
        })
    }
}

impl Store {
    /// Puts a delivery in the outbox.
    pub async fn push_outbox(
        &self,
        key: &AgentKey,
        delivery: &NewDelivery,
        now: Timestamp,
    ) -> Result<(), Error> {
        write!(self, "push to outbox", transaction => {
            sqlx::query(PUSH)
                .bind(&key.namespace)
                .bind(&key.agent)
                .bind(new_id(now))
                .bind(storable(&delivery.topic))
                .bind(storable(&delivery.subject))
                .bind(delivery.payload.to_string())
                .bind(now.as_microsecond())
                .execute(&mut *transaction)
                .await
                .map_err(|source| Error::statement("push to outbox", source))?;
        });
        Ok(())
    }

    /// Hands out due deliveries of a topic; nobody else gets them until `lease` has
    /// passed.
    pub async fn claim_outbox(
        &self,
        topic: &str,
        now: Timestamp,
        lease: Duration,
        limit: u32,
    ) -> Result<Vec<Delivery>, Error> {
        let claim = match self {
            Self::Postgres(_) => CLAIM_POSTGRES,
            Self::Sqlite(_) => CLAIM_SQLITE,
        };
        let rows: Vec<DeliveryRow> = write!(self, "claim outbox", transaction => {
            sqlx::query_as(claim)
                .bind(storable(topic))
                .bind(now.as_microsecond())
                .bind(lease_end(now, lease))
                .bind(i64::from(limit.clamp(1, MAX_CLAIM)))
                .fetch_all(&mut *transaction)
                .await
                .map_err(|source| Error::statement("claim outbox", source))?
        });
        let mut deliveries =
            rows.into_iter().map(Delivery::try_from).collect::<Result<Vec<_>, _>>()?;
        deliveries.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(deliveries)
    }

    /// Takes a delivered one out; if a newer payload came meanwhile, that one is due.
    pub async fn complete_outbox(&self, delivery: &Delivery, now: Timestamp) -> Result<(), Error> {
        let failed = |source| Error::statement("complete outbox", source);
        write!(self, "complete outbox", transaction => {
            let deleted = sqlx::query(DELETE)
                .bind(&delivery.id)
                .bind(delivery.version)
                .execute(&mut *transaction)
                .await
                .map_err(failed)?
                .rows_affected();
            if deleted == 0 {
                sqlx::query(MAKE_DUE)
                    .bind(&delivery.id)
                    .bind(now.as_microsecond())
                    .execute(&mut *transaction)
                    .await
                    .map_err(failed)?;
            }
        });
        Ok(())
    }

    /// Puts one that could not be delivered back, due later with each failure, but never
    /// later than `longest`.
    pub async fn fail_outbox(
        &self,
        delivery: &Delivery,
        error: &str,
        longest: Duration,
        now: Timestamp,
    ) -> Result<(), Error> {
        write!(self, "fail outbox", transaction => {
            sqlx::query(FAIL)
                .bind(&delivery.id)
                .bind(lease_end(now, backoff(delivery.attempts).min(longest)))
                .bind(storable(error))
                .execute(&mut *transaction)
                .await
                .map_err(|source| Error::statement("fail outbox", source))?;
        });
        Ok(())
    }
}

fn backoff(failures: i64) -> Duration {
    let doublings = u32::try_from(failures).unwrap_or(u32::MAX).min(16);
    (FIRST_BACKOFF * 2_u32.pow(doublings)).min(MAX_BACKOFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_five_minutes() {
        let seconds = |failures| backoff(failures).as_secs();
        assert_eq!([0, 1, 2, 8, 9, 1_000_000].map(seconds), [1, 2, 4, 256, 300, 300]);
    }
}
