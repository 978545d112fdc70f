//! Threads of ephemeral agents that are over: whom their messages reach now (LIFE-18).

use jiff::Timestamp;

use crate::inbox::{INSERT, WakeRow, stored};
use crate::store::{read, write};
use crate::text::{new_id, storable};
use crate::{AgentKey, Error, NewWake, Store, Wake};

/// Stands between an agent's name and a key: in no name, and in no sender's key.
const SEPARATOR: char = '\u{1f}';

const EARLIER: &str = "\
    SELECT id, source, text, message_id, thread_id, addressed_to, created_at FROM agent_inbox \
    WHERE namespace = $1 AND agent = $2 AND idempotency_key = $3";
// Not only the thread of this wake: every thread in which the agent was spoken to.
const LINK_ALL: &str = "\
    INSERT INTO agent_thread (namespace, agent, of_agent, thread_id, linked_at) \
    SELECT DISTINCT namespace, $3, agent, thread_id, CAST($4 AS BIGINT) FROM agent_inbox \
    WHERE namespace = $1 AND agent = $2 AND thread_id IS NOT NULL \
    ON CONFLICT (namespace, of_agent, thread_id) DO NOTHING";
const LINK: &str = "\
    INSERT INTO agent_thread (namespace, agent, of_agent, thread_id, linked_at) \
    VALUES ($1, $3, $2, $5, $4) \
    ON CONFLICT (namespace, of_agent, thread_id) DO UPDATE SET agent = excluded.agent, \
    linked_at = excluded.linked_at";
const HOLDER: &str = "\
    SELECT agent FROM agent_thread WHERE namespace = $1 AND of_agent = $2 AND thread_id = $3";

impl Store {
    /// Records a wake for an agent that is over, in the inbox of `above`, and links its
    /// threads to that agent, all or nothing. A wake that the agent got under the same
    /// idempotency key while it lived is the wake that is there already.
    pub async fn hand_on_wake(
        &self,
        over: &AgentKey,
        above: &str,
        wake: &NewWake,
        now: Timestamp,
    ) -> Result<Wake, Error> {
        let failed = |source| Error::statement("hand on wake", source);
        let own_key = stored(wake.idempotency_key.as_ref());
        // Keys of one sender's to one agent: another's of the same words is another wake.
        let key = own_key.as_ref().map(|key| format!("{}{SEPARATOR}{key}", over.agent));
        let row: WakeRow = write!(self, "hand on wake", transaction => {
            let earlier = sqlx::query_as(EARLIER)
                .bind(&over.namespace)
                .bind(&over.agent)
                .bind(&own_key)
                .fetch_optional(&mut *transaction)
                .await
                .map_err(failed)?;
            let row = match earlier {
                Some(row) => row,
                None => sqlx::query_as(INSERT)
                    .bind(&over.namespace)
                    .bind(above)
                    .bind(new_id(now))
                    .bind(storable(&wake.source))
                    .bind(stored(wake.text.as_ref()))
                    .bind(stored(wake.message_id.as_ref()))
                    .bind(stored(wake.thread_id.as_ref()))
                    .bind(key)
                    .bind(now.as_microsecond())
                    .bind(&over.agent)
                    .fetch_one(&mut *transaction)
                    .await
                    .map_err(failed)?,
            };
            let link_all = sqlx::query(LINK_ALL)
                .bind(&over.namespace)
                .bind(&over.agent)
                .bind(above)
                .bind(now.as_microsecond());
            link_all.execute(&mut *transaction).await.map_err(failed)?;
            if let Some(thread) = &wake.thread_id {
                let link = sqlx::query(LINK)
                    .bind(&over.namespace)
                    .bind(&over.agent)
                    .bind(above)
                    .bind(now.as_microsecond())
                    .bind(storable(thread));
                link.execute(&mut *transaction).await.map_err(failed)?;
            }
            row
        });
        row.try_into()
    }

    /// The agent that a thread of an agent which is over was linked to.
    pub async fn thread_holder(
        &self,
        over: &AgentKey,
        thread: &str,
    ) -> Result<Option<String>, Error> {
        read!(self, "find the agent of a thread", pool => sqlx::query_scalar(HOLDER)
            .bind(&over.namespace)
            .bind(&over.agent)
            .bind(storable(thread))
            .fetch_optional(pool))
    }
}
