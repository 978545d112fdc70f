//! Which versions of which agent are stored, each as a ControllerRevision: its number and
//! digest, never its content.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use foundry_crds::meta;
use futures::{Stream, TryStreamExt as _, future};
use k8s_openapi::api::apps::v1::ControllerRevision;
use kube::core::PartialObjectMeta;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use tokio::sync::watch::Sender;
use tokio::time::Instant;

use crate::caches;
use crate::runtime::workload;

/// What a watch shows of a ControllerRevision.
pub type Mark = PartialObjectMeta<ControllerRevision>;

/// A version that is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The start number it began with.
    pub number: i64,
    /// UID of its ControllerRevision; empty while only the request to make it is known.
    pub uid: String,
    /// UID of the agent that it is of: one of an earlier agent of this name is about to go.
    pub agent_uid: String,
    /// Digest of what it tells the agent.
    pub digest: String,
}

/// A stream of versions that were deleted, which fills [`Versions`] as it is read.
pub type Lost = Pin<Box<dyn Stream<Item = Result<Mark, watcher::Error>> + Send>>;

/// Begins to watch the versions of a namespace, by their metadata alone: what they hold is
/// never in memory. Of those that come nobody need hear; one that goes is made again.
pub fn watch(client: &Client, namespace: &str, labels: &str) -> (Arc<Versions>, Lost) {
    let versions = Arc::new(Versions::default());
    let noted = Arc::clone(&versions);
    let api = Api::<Mark>::namespaced(client.clone(), namespace);
    let lost = watcher(api, caches::settings(Some(labels)))
        .default_backoff()
        .inspect_ok(move |event| noted.note(event))
        .try_filter_map(|event| {
            future::ok(match event {
                Event::Delete(mark) => Some(mark),
                _ => None,
            })
        });
    (versions, Box::pin(lost))
}

type ByAgent = HashMap<String, Vec<Stored>>;

/// The versions of one namespace, by agent.
#[derive(Debug)]
pub struct Versions {
    stored: Mutex<ByAgent>,
    // A list that is not complete shows nothing yet.
    listed: Mutex<ByAgent>,
    is_whole: Sender<bool>,
    soon: Instant,
}

impl Default for Versions {
    fn default() -> Self {
        Self {
            stored: Mutex::default(),
            listed: Mutex::default(),
            is_whole: Sender::new(false),
            soon: Instant::now() + caches::SOON,
        }
    }
}

impl Versions {
    /// Takes note of a watch event.
    pub fn note(&self, event: &Event<Mark>) {
        match event {
            Event::Init => lock(&self.listed).clear(),
            Event::InitApply(mark) => put(&mut lock(&self.listed), mark),
            Event::InitDone => {
                *lock(&self.stored) = std::mem::take(&mut *lock(&self.listed));
                self.is_whole.send_replace(true);
            }
            Event::Apply(mark) => put(&mut lock(&self.stored), mark),
            Event::Delete(mark) => {
                if let Some((agent, stored)) = read(mark) {
                    self.forget(&agent, stored.number);
                }
            }
        }
    }

    /// The versions of an agent, oldest first.
    pub fn of(&self, agent: &str) -> Vec<Stored> {
        let mut stored = lock(&self.stored).get(agent).cloned().unwrap_or_default();
        stored.sort_unstable_by_key(|version| version.number);
        stored
    }

    /// Takes note of a version before it is asked for: the watch may be late, and must not
    /// be early.
    pub fn expect(&self, agent: &str, version: Stored) {
        insert(&mut lock(&self.stored), agent.to_owned(), version);
    }

    /// Forgets a version: it was deleted, or never came to be.
    pub fn forget(&self, agent: &str, number: i64) {
        let mut by_agent = lock(&self.stored);
        let Some(stored) = by_agent.get_mut(agent) else { return };
        stored.retain(|version| version.number != number);
        if stored.is_empty() {
            by_agent.remove(agent);
        }
    }

    /// Whether the first list is complete, or is a moment after the watch began: until then,
    /// what is not there may be there. One that never comes holds nobody up after that.
    pub async fn is_whole_soon(&self) -> bool {
        let mut whole = self.is_whole.subscribe();
        let whole = tokio::time::timeout_at(self.soon, whole.wait_for(|whole| *whole)).await;
        *self.is_whole.borrow() || whole.is_ok_and(|whole| whole.is_ok())
    }
}

fn lock(by_agent: &Mutex<ByAgent>) -> std::sync::MutexGuard<'_, ByAgent> {
    by_agent.lock().unwrap_or_else(PoisonError::into_inner)
}

fn put(by_agent: &mut ByAgent, mark: &Mark) {
    if let Some((agent, stored)) = read(mark) {
        insert(by_agent, agent, stored);
    }
}

fn insert(by_agent: &mut ByAgent, agent: String, version: Stored) {
    let stored = by_agent.entry(agent).or_default();
    stored.retain(|known| known.number != version.number);
    // Most agents have one or two, and there are many agents.
    stored.reserve_exact(1);
    stored.push(version);
}

/// Whose version it is, and which; none for what is not of ours.
fn read(mark: &Mark) -> Option<(String, Stored)> {
    let metadata = &mark.metadata;
    let labels = metadata.labels.as_ref()?;
    let stored = Stored {
        number: labels.get(meta::label::START)?.parse().ok()?,
        uid: metadata.uid.clone()?,
        agent_uid: workload::controller(metadata)?.uid.clone(),
        digest: metadata.annotations.as_ref()?.get(meta::annotation::CONFIG_DIGEST)?.clone(),
    };
    Some((labels.get(meta::label::AGENT)?.clone(), stored))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn mark(agent: &str, number: i64) -> Mark {
        serde_json::from_value(json!({ "metadata": {
            "name": format!("foundry-agent-{agent}-{number}"), "namespace": "team",
            "uid": format!("uid-{number}"),
            "labels": { "foundry.flow.life/agent": agent,
                        "foundry.flow.life/start": number.to_string() },
            "annotations": { "foundry.flow.life/config-digest": "d1" },
            "ownerReferences": [{ "apiVersion": "foundry.flow.life/v1alpha1", "kind": "Agent",
                                  "name": agent, "uid": "uid-ann", "controller": true }],
        } }))
        .unwrap()
    }

    fn numbers(versions: &Versions, agent: &str) -> Vec<i64> {
        versions.of(agent).iter().map(|version| version.number).collect()
    }

    #[tokio::test]
    async fn a_list_shows_when_it_is_complete_and_events_after_it_at_once() {
        let versions = Versions::default();
        versions.note(&Event::Init);
        versions.note(&Event::InitApply(mark("ann", 2)));
        versions.note(&Event::InitApply(mark("ann", 1)));
        assert_eq!(numbers(&versions, "ann"), [0; 0]);
        versions.note(&Event::InitDone);
        assert!(versions.is_whole_soon().await);
        assert_eq!(numbers(&versions, "ann"), [1, 2]);
        versions.note(&Event::Apply(mark("ann", 3)));
        versions.note(&Event::Apply(mark("ann", 3)));
        versions.note(&Event::Delete(mark("ann", 1)));
        assert_eq!(numbers(&versions, "ann"), [2, 3]);
        versions.note(&Event::Init);
        versions.note(&Event::InitApply(mark("ben", 1)));
        assert_eq!(numbers(&versions, "ann"), [2, 3], "the old list, until the new one is whole");
        versions.note(&Event::InitDone);
        assert_eq!((numbers(&versions, "ann"), numbers(&versions, "ben")), (vec![], vec![1]));
    }

    #[test]
    fn what_is_expected_is_there_until_it_fails_or_the_watch_says_more() {
        let versions = Versions::default();
        let expected = |number| Stored {
            number,
            uid: String::new(),
            agent_uid: "uid-ann".to_owned(),
            digest: "d1".to_owned(),
        };
        versions.expect("ann", expected(1));
        assert_eq!(numbers(&versions, "ann"), [1]);
        versions.note(&Event::Apply(mark("ann", 1)));
        assert_eq!(versions.of("ann")[0].uid, "uid-1");
        versions.expect("ann", expected(2));
        versions.forget("ann", 2);
        assert_eq!(numbers(&versions, "ann"), [1]);
    }

    #[test]
    fn what_lacks_our_marks_is_no_version() {
        let mut odd = mark("ann", 1);
        odd.metadata.annotations = None;
        let versions = Versions::default();
        versions.note(&Event::Apply(odd));
        assert_eq!(numbers(&versions, "ann"), [0; 0]);
    }
}
