//! Harnesses as processes of this machine (OPS-01).
//!
//! A Pod that no scheduler takes is the record and the identity of a process. The
//! keeper is to these Pods what a kubelet is to others: a Pod without a process gets
//! one, a process without a Pod is ended. Processes outlive the operator: the next
//! one knows them by the lock each of them holds.

mod folder;
mod leftovers;
mod process;
mod secrets;
mod status;
mod supervisor;
mod token;

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use foundry_crds::agent::Lifetime;
use foundry_crds::meta;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::folder::Folder;
use self::supervisor::Supervisor;
use super::{Runtime, Workload, WorkloadKind, workload};
use crate::caches::{self, Cache};
use crate::clock::Clock;
use crate::config::LocalConfig;
use crate::error::Error;
use crate::metrics::Metrics;

/// Watches may miss: Pods and processes are compared at least this often.
const COMPARE_AGAIN: Duration = Duration::from_secs(5);
/// How long supervisors may take to leave their processes alone.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);

/// The harness that every installation has.
const HARNESS: &str = "harness";

/// The local runtime.
pub struct Local {
    parts: Arc<Parts>,
    namespaces: Vec<String>,
    supervised: Arc<Supervised>,
}

/// What every supervisor shares.
struct Parts {
    client: Client,
    config: LocalConfig,
    clock: Clock,
    metrics: Metrics,
}

/// Which Pod, and which agent's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PodId {
    namespace: String,
    name: String,
    uid: String,
    agent: String,
}

impl PodId {
    fn of(pod: &Pod) -> Option<Self> {
        let metadata = &pod.metadata;
        Some(Self {
            namespace: metadata.namespace.clone()?,
            name: metadata.name.clone()?,
            uid: metadata.uid.clone()?,
            agent: workload::controller(metadata)?.name.clone(),
        })
    }
}

/// The supervisors at work, by UID of their Pods.
#[derive(Default)]
struct Supervised {
    by_uid: Mutex<HashMap<String, Watched>>,
    changed: Notify,
}

struct Watched {
    id: PodId,
    gone: CancellationToken,
    /// Its process ended for good, which the cache may not show yet.
    over: bool,
}

/// The Pods there are, by UID.
type Present = HashMap<String, (PodId, Arc<Pod>)>;

impl Supervised {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Watched>> {
        self.by_uid.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, id: &PodId) -> CancellationToken {
        let gone = CancellationToken::new();
        let watched = Watched { id: id.clone(), gone: gone.clone(), over: false };
        self.lock().insert(id.uid.clone(), watched);
        gone
    }

    /// A supervisor is done. One that saw the end for good stays known until the cache
    /// shows that end too, or the process would be begun again.
    fn finish(&self, uid: &str, over: bool) {
        let mut by_uid = self.lock();
        match by_uid.get_mut(uid) {
            Some(watched) if over => watched.over = true,
            _ => drop(by_uid.remove(uid)),
        }
        drop(by_uid);
        self.changed.notify_one();
    }

    /// Tells supervisors whose Pod is gone, and forgets ends that the cache shows.
    fn follow(&self, present: &Present) {
        self.lock().retain(|uid, watched| {
            let pod = present.get(uid).map(|(_, pod)| pod);
            if pod.is_none() {
                watched.gone.cancel();
            }
            !watched.over || pod.is_some_and(|pod| !workload::is_over(pod))
        });
    }

    /// Whether a process of this agent is still looked after.
    fn is_busy(&self, id: &PodId) -> bool {
        self.lock().values().any(|it| it.id.namespace == id.namespace && it.id.agent == id.agent)
    }
}

/// Checks, before anything begins, that there is a harness to run and a place to
/// run it in.
pub fn check(config: &LocalConfig) -> Result<(), Error> {
    folder::make_roots(&config.dir)
        .map_err(|source| Error::Folder { path: config.dir.clone(), source })?;
    let harness = config.bin_dir.join(HARNESS);
    let is_executable = std::fs::metadata(&harness)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0);
    if is_executable { Ok(()) } else { Err(Error::NoHarness { path: harness }) }
}

impl Local {
    /// A runtime whose settings have been [`check`]ed.
    pub fn new(
        client: Client,
        namespaces: Vec<String>,
        config: LocalConfig,
        clock: Clock,
        metrics: Metrics,
    ) -> Self {
        Self {
            parts: Arc::new(Parts { client, config, clock, metrics }),
            namespaces,
            supervised: Arc::default(),
        }
    }

    /// Ends processes of Pods that are gone and starts those of Pods that are there.
    fn compare(&self, pods: &[Cache<Pod>], tasks: &TaskTracker, leave: &CancellationToken) {
        let present = present(pods);
        self.supervised.follow(&present);
        for (id, pod) in present.into_values() {
            // One process an agent: a later Pod waits for the end of an earlier (LIFE-09).
            if !workload::is_over(&pod) && !self.supervised.is_busy(&id) {
                self.supervise(id, Some(pod), tasks, leave);
            }
        }
    }

    /// Ends what an earlier operator left without a Pod, and removes old logs.
    fn sweep(&self, pods: &[Cache<Pod>], tasks: &TaskTracker, leave: &CancellationToken) {
        let present = present(pods);
        for id in folder::left_behind(&self.parts.config.dir) {
            let is_wanted = present.get(&id.uid).is_some_and(|(_, pod)| !workload::is_over(pod));
            if !is_wanted {
                tracing::info!(pod = id.name, "a process without a Pod is ended");
                self.supervise(id, None, tasks, leave);
            }
        }
        let in_use: Vec<_> = present
            .into_values()
            .map(|(id, _)| Folder::new(&self.parts.config.dir, id).log().to_owned())
            .collect();
        folder::remove_old_logs(&self.parts.config.dir, &in_use, self.parts.clock.now());
    }

    fn supervise(
        &self,
        id: PodId,
        pod: Option<Arc<Pod>>,
        tasks: &TaskTracker,
        leave: &CancellationToken,
    ) {
        let gone = self.supervised.begin(&id);
        let supervised = Arc::clone(&self.supervised);
        let uid = id.uid.clone();
        let folder = Folder::new(&self.parts.config.dir, id);
        let parts = Arc::clone(&self.parts);
        let leave = leave.clone();
        tasks.spawn(async move {
            let over = if let Some(pod) = pod {
                Supervisor::new(parts, folder, pod, gone, leave).run().await
            } else {
                supervisor::end_orphan(&folder).await;
                false
            };
            supervised.finish(&uid, over);
        });
    }
}

fn present(pods: &[Cache<Pod>]) -> Present {
    pods.iter()
        .flat_map(Cache::all)
        .filter_map(|pod| {
            let pod = pod.0.as_ref().ok()?;
            let id = PodId::of(pod)?;
            let is_leaving = pod.metadata.deletion_timestamp.is_some();
            (!is_leaving).then(|| (id.uid.clone(), (id, Arc::new(pod.clone()))))
        })
        .collect()
}

#[async_trait]
impl Runtime for Local {
    fn carrier(&self, _lifetime: Lifetime) -> WorkloadKind {
        WorkloadKind::Pod
    }

    fn is_draining(&self, namespace: &str, agent: &str, workloads: &[Workload]) -> bool {
        self.supervised.lock().values().any(|it| {
            !it.over
                && it.id.namespace == namespace
                && it.id.agent == agent
                && !workloads.iter().any(|workload| workload.uid == it.id.uid)
        })
    }

    async fn fence(&self, _namespace: &str) -> Result<(), Error> {
        // A process has the network of its machine; no policy could select it.
        Ok(())
    }

    async fn keep(&self, leave: CancellationToken) -> Result<(), Error> {
        let tasks = TaskTracker::new();
        let (caches, streams): (Vec<_>, Vec<_>) = self
            .namespaces
            .iter()
            .map(|namespace| {
                let settings = caches::settings(None)
                    .fields(&format!("spec.schedulerName={}", meta::LOCAL_SCHEDULER));
                caches::watch_kind(
                    &self.parts.client,
                    namespace,
                    settings,
                    |_| {},
                    |_: &mut Pod| {},
                )
            })
            .unzip();
        let mut changes = futures::stream::select_all(streams);
        let mut swept = false;
        loop {
            tokio::select! {
                () = leave.cancelled() => break,
                change = changes.next() => match change {
                    Some(Ok(_)) => {}
                    Some(Err(error)) => tracing::warn!(%error, "the watch of Pods failed; it is begun again"),
                    None => break,
                },
                () = self.supervised.changed.notified() => {}
                // The end of a first list is no change of an object.
                _ = caches::wait_until_whole(&caches), if !swept => {}
                () = tokio::time::sleep(COMPARE_AGAIN) => {}
            }
            // Nothing is ended because a list is not complete.
            if caches.iter().all(Cache::is_whole) {
                if !swept {
                    self.sweep(&caches, &tasks, &leave);
                    swept = true;
                }
                self.compare(&caches, &tasks, &leave);
            }
        }
        leave.cancel();
        tasks.close();
        if tokio::time::timeout(LEAVE_WITHIN, tasks.wait()).await.is_err() {
            tracing::warn!("failed to leave all processes in time; the next operator finds them");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn present(id: &PodId, phase: &str) -> Present {
        let mut pod = Pod::default();
        pod.status.get_or_insert_default().phase = Some(phase.to_owned());
        HashMap::from([(id.uid.clone(), (id.clone(), Arc::new(pod)))])
    }

    /// OPS-01, LIFE-07: once is once, whatever the cache still says.
    #[test]
    fn a_process_that_ended_for_good_is_known_until_the_cache_shows_it() {
        let supervised = Supervised::default();
        let id = PodId {
            namespace: "team".to_owned(),
            name: "foundry-agent-kid-1-local".to_owned(),
            uid: "uid-1".to_owned(),
            agent: "kid".to_owned(),
        };
        supervised.begin(&id);
        supervised.finish(&id.uid, true);
        supervised.follow(&present(&id, "Running"));
        assert!(supervised.is_busy(&id), "the cache is late");
        supervised.follow(&present(&id, "Succeeded"));
        assert!(!supervised.is_busy(&id));

        supervised.begin(&id);
        supervised.finish(&id.uid, true);
        supervised.follow(&Present::new());
        assert!(!supervised.is_busy(&id), "nothing is kept of a Pod that is gone");
    }
}
