//! Events: transitions only, through one recorder; a failed event fails nothing.

use std::time::Duration;

use foundry_crds::condition::kind;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};

use crate::conditions::{clip, ready_reason};

/// Longest note the API takes, with room to spare.
const MAX_NOTE: usize = 1_000;
/// How long an event may take.
const DEADLINE: Duration = Duration::from_secs(5);

/// The one recorder of this operator.
pub struct Events {
    recorder: Recorder,
}

impl Events {
    /// A recorder that reports as this operator.
    pub fn new(client: Client, identity: &str) -> Self {
        let reporter = Reporter {
            controller: "foundry-operator".to_owned(),
            instance: Some(clip(identity, 128).to_owned()),
        };
        Self { recorder: Recorder::new(client, reporter) }
    }

    /// Tells of something that went as it should.
    pub async fn normal(&self, about: &ObjectReference, reason: &str, note: &str) {
        self.publish(about, EventType::Normal, reason, note).await;
    }

    /// Tells of something a person should look at.
    pub async fn warning(&self, about: &ObjectReference, reason: &str, note: &str) {
        self.publish(about, EventType::Warning, reason, note).await;
    }

    /// Tells of a change of the reason of `Ready`.
    pub async fn readiness(
        &self,
        about: &ObjectReference,
        before: &[Condition],
        after: &[Condition],
    ) {
        let Some(ready) = after.iter().find(|it| it.type_ == kind::READY) else { return };
        if ready_reason(before) == Some(&ready.reason) {
            return;
        }
        if ready.status == "True" {
            self.normal(about, &ready.reason, &ready.message).await;
        } else {
            self.warning(about, &ready.reason, &ready.message).await;
        }
    }

    async fn publish(&self, about: &ObjectReference, type_: EventType, reason: &str, note: &str) {
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(clip(note, MAX_NOTE).to_owned()),
            action: "Reconcile".to_owned(),
            secondary: None,
        };
        match tokio::time::timeout(DEADLINE, self.recorder.publish(&event, about)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, reason, "failed to publish an event"),
            Err(_) => tracing::debug!(reason, "failed to publish an event in time"),
        }
    }
}
