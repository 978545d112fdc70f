//! What harnesses report, carried to the resource's status: rows first, status
//! second, by an outbox row that is tried until it is done.
//!
//! A status write for each beat would be hundreds of writes a second at ten thousand
//! agents. So `lastHeartbeat` moves only when liveness flips or every five minutes,
//! and `contextPercent` in tens.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use foundry_crds::{Agent, AgentStatus};
use foundry_store::{AgentKey, Beat, Delivery, Store};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::{
    cluster::{
        Cluster,
        apply::{ApplyError, Reported},
    },
    outbox::Destination,
};

/// Three missed beats: an agent that beats again after so long was not alive.
const ALIVE_FOR: SignedDuration = SignedDuration::from_secs(90);
/// How far `lastHeartbeat` may lag behind.
const STATUS_LAG: SignedDuration = SignedDuration::from_mins(5);

/// The status of agents.
pub struct AgentStatuses {
    /// The rows.
    pub store: Store,
    /// The resources.
    pub cluster: Arc<Cluster>,
}

#[async_trait]
impl Destination for AgentStatuses {
    const TOPIC: &'static str = "agent-status";
    const LONGEST_WAIT: Duration = Duration::from_mins(5);

    async fn deliver(&self, delivery: &Delivery) -> Result<(), String> {
        let key = &delivery.key;
        let Some(agent) = self.read(key).await? else { return Ok(()) };
        let words = |error: foundry_store::Error| error.to_string();
        let beat = self.store.last_heartbeat(key).await.map_err(words)?;
        let plan = self.store.newest_plan_document(key).await.map_err(words)?;
        let status = agent.status.unwrap_or_default();
        let reported = report(&status, beat, plan);
        if reported == reported_already(&status) {
            return Ok(());
        }
        let applied = self.cluster.report_status(&key.namespace, &key.agent, &reported).await;
        applied.map(drop).map_err(ApplyError::into_words)
    }
}

impl AgentStatuses {
    /// The agent, or nothing when it is gone: then there is no status to write.
    async fn read(&self, key: &AgentKey) -> Result<Option<Agent>, String> {
        self.cluster
            .read(&key.namespace, &key.agent)
            .await
            .map_err(|problem| problem.detail().to_owned())
    }
}

/// Whether this beat, after that earlier one, must show in the status.
pub fn must_show(status: &AgentStatus, before: Option<Beat>, beat: &Beat) -> bool {
    let revived = before.is_none_or(|before| beat.at.duration_since(before.at) >= ALIVE_FOR);
    let lags = status
        .last_heartbeat
        .as_ref()
        .is_none_or(|shown| beat.at.duration_since(shown.0) >= STATUS_LAG);
    let context_moved =
        beat.context_percent.is_some_and(|percent| Some(tens(percent)) != status.context_percent);
    revived || lags || context_moved
}

/// What the status shall say. A row that says nothing leaves what is there.
fn report(status: &AgentStatus, beat: Option<Beat>, plan: Option<String>) -> Reported {
    Reported {
        last_heartbeat: beat
            .map(|beat| Time(whole_second(beat.at)))
            .or_else(|| status.last_heartbeat.clone()),
        context_percent: beat
            .and_then(|beat| beat.context_percent)
            .map(tens)
            .or(status.context_percent),
        plan_document_id: plan.or_else(|| status.plan_document_id.clone()),
    }
}

fn reported_already(status: &AgentStatus) -> Reported {
    Reported {
        last_heartbeat: status.last_heartbeat.clone(),
        context_percent: status.context_percent,
        plan_document_id: status.plan_document_id.clone(),
    }
}

fn tens(percent: i64) -> i64 {
    percent / 10 * 10
}

/// A Kubernetes time has whole seconds; more would differ on every comparison.
fn whole_second(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use uuid::Uuid;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn beat(second: i64, percent: i64) -> Beat {
        Beat {
            at: at(second),
            process_id: Uuid::nil(),
            generation: 1,
            context_percent: Some(percent),
        }
    }

    #[rstest]
    #[case::the_first_beat(None, 0, (10, 0), true)]
    #[case::the_next_beat(Some(1_000), 1_000, (1_030, 0), false)]
    #[case::back_after_a_silence(Some(1_000), 1_000, (1_100, 0), true)]
    #[case::five_minutes_after_the_last_write(Some(1_290), 1_000, (1_300, 0), true)]
    #[case::context_within_the_tens(Some(1_000), 1_000, (1_030, 9), false)]
    #[case::context_into_the_next_tens(Some(1_000), 1_000, (1_030, 11), true)]
    fn a_beat_is_written_to_status_only_when_it_tells_something(
        #[case] before: Option<i64>,
        #[case] shown: i64,
        #[case] (second, percent): (i64, i64),
        #[case] expected: bool,
    ) {
        let status = AgentStatus {
            last_heartbeat: before.map(|_| Time(at(shown))),
            context_percent: Some(0),
            ..AgentStatus::default()
        };
        let before = before.map(|second| beat(second, 0));
        assert_eq!(must_show(&status, before, &beat(second, percent)), expected);
    }

    #[test]
    fn a_report_leaves_what_no_row_speaks_of() {
        let status = AgentStatus {
            plan_document_id: Some("plan".to_owned()),
            context_percent: Some(30),
            ..AgentStatus::default()
        };
        let silent = Beat { context_percent: None, ..beat(7, 0) };
        let reported = report(&status, Some(silent), None);
        assert_eq!(reported.plan_document_id.as_deref(), Some("plan"));
        assert_eq!(reported.context_percent, Some(30));
        assert_eq!(reported.last_heartbeat, Some(Time(at(7))));
    }
}
