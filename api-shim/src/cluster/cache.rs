//! What was listed and watched: one reflector a namespace, so that no right on the
//! whole cluster is needed.

use std::{collections::BTreeMap, time::Duration};

use futures::{Stream, StreamExt};
use kube::{
    Api, Client, Resource, ResourceExt,
    core::DeserializeGuard,
    runtime::{
        WatchStreamExt,
        reflector::{self, ObjectRef, Store},
        watcher,
    },
};
use tokio::sync::{mpsc, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::Readable;

/// Below kube's own 290 s, so that a dead connection is noticed within a minute.
const WATCH_SECONDS: u32 = 50;

/// Takes namespace and name of each object whose deletion was seen.
pub type Deletions = mpsc::Sender<(String, String)>;

/// The objects of one kind in every workspace.
pub struct Cache<K: Readable> {
    namespaces: BTreeMap<String, Store<DeserializeGuard<K>>>,
    ready: watch::Receiver<bool>,
}

impl<K: Readable> Cache<K> {
    pub(super) fn start(
        client: &Client,
        namespaces: &[String],
        tasks: &TaskTracker,
        shutdown: &CancellationToken,
        deleted: Option<&Deletions>,
    ) -> Self {
        let namespaces = namespaces
            .iter()
            .map(|namespace| {
                let (reader, writer) = reflector::store();
                let events = events(client.clone(), namespace, deleted.cloned());
                let keep = reflector::reflector(writer, events).for_each(|_| async {});
                tasks.spawn(shutdown.clone().run_until_cancelled_owned(keep));
                (namespace.clone(), reader)
            })
            .collect::<BTreeMap<_, _>>();
        let (whole, ready) = watch::channel(false);
        let stores = namespaces.values().cloned().collect::<Vec<_>>();
        tasks.spawn(shutdown.clone().run_until_cancelled_owned(async move {
            for store in stores {
                if store.wait_until_ready().await.is_err() {
                    return;
                }
            }
            whole.send_replace(true);
        }));
        Self { namespaces, ready }
    }

    /// Whether every namespace has been listed once. Until then absence means nothing.
    pub fn is_ready(&self) -> bool {
        *self.ready.borrow()
    }

    /// Waits until the lists are whole, or for ever when the watches have ended.
    pub async fn ready(&self) {
        if self.ready.clone().wait_for(|ready| *ready).await.is_err() {
            futures::future::pending::<()>().await;
        }
    }

    /// A copy of one object, when the cache has it and can read it.
    pub fn get(&self, namespace: &str, name: &str) -> Option<K> {
        self.peek(namespace, name, K::clone)
    }

    /// What `look` makes of one object, when the cache has it and can read it.
    pub fn peek<T>(&self, namespace: &str, name: &str, look: impl FnOnce(&K) -> T) -> Option<T> {
        let store = self.namespaces.get(namespace)?;
        let key = ObjectRef::new(name).within(namespace);
        store.get(&key).and_then(|guarded| guarded.0.as_ref().ok().map(look))
    }

    /// What `pick` makes of each object of a namespace, by name.
    pub fn select<T>(&self, namespace: &str, pick: impl Fn(&K) -> Option<T>) -> Vec<T> {
        let Some(store) = self.namespaces.get(namespace) else { return Vec::new() };
        let mut picked = store
            .state()
            .iter()
            .filter_map(|guarded| guarded.0.as_ref().ok())
            .filter_map(|object| Some((object.name_any(), pick(object)?)))
            .collect::<Vec<_>>();
        picked.sort_by(|(one, _), (other, _)| one.cmp(other));
        picked.into_iter().map(|(_, picked)| picked).collect()
    }

    /// The objects of a namespace that fit, by name, each copied only when it is asked
    /// for: a page of ten thousand agents copies a page.
    pub fn sorted(&self, namespace: &str, fits: impl Fn(&K) -> bool) -> impl Iterator<Item = K> {
        let store = self.namespaces.get(namespace);
        let mut objects = store.map_or_else(Vec::new, Store::state);
        objects.retain(|guarded| guarded.0.as_ref().is_ok_and(&fits));
        objects.sort_by(|one, other| one.meta().name.cmp(&other.meta().name));
        objects.into_iter().filter_map(|guarded| guarded.0.as_ref().ok().cloned())
    }

    /// The first object of any workspace that fits.
    pub fn find(&self, fits: impl Fn(&K) -> bool) -> Option<K> {
        self.namespaces.values().find_map(|store| {
            let found = store.find(|guarded| guarded.0.as_ref().is_ok_and(&fits))?;
            found.0.as_ref().ok().cloned()
        })
    }
}

/// Watches one namespace: says when the watch breaks, and who was deleted.
fn events<K: Readable>(
    client: Client,
    namespace: &str,
    deleted: Option<Deletions>,
) -> impl Stream<Item = watcher::Result<watcher::Event<DeserializeGuard<K>>>> + Send + 'static {
    let api: Api<DeserializeGuard<K>> = Api::namespaced(client, namespace);
    let config = watcher::Config::default().timeout(WATCH_SECONDS);
    let namespace = namespace.to_owned();
    let kind = K::kind(&()).into_owned();
    watcher::watcher(api, config)
        // Half of an object is managedFields; nobody reads them from the cache.
        .modify(|object| object.managed_fields_mut().clear())
        .default_backoff()
        .inspect(move |event| match event {
            Ok(watcher::Event::Delete(object)) => {
                let name = object.name_any();
                let told =
                    deleted.as_ref().map(|deleted| deleted.try_send((namespace.clone(), name)));
                if let Some(Err(error)) = told {
                    tracing::warn!(%kind, %namespace, cause = %error,
                        "too many deletions at once; one is not cleaned up after");
                }
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(%kind, %namespace, cause = %error, "watch interrupted; it goes on");
            }
        })
}

/// Time within which a cache normally sees what was just written; for callers that
/// remember their own writes meanwhile.
pub const CACHE_LAG: Duration = Duration::from_secs(30);
