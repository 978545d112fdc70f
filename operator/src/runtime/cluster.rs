//! Harnesses in pods: the cluster's own controllers and kubelets run them.

use std::collections::BTreeMap;

use async_trait::async_trait;
use foundry_crds::agent::Lifetime;
use futures::future::join_all;
use kube::Client;
use tokio_util::sync::CancellationToken;

use super::{Runtime, Workload, WorkloadKind};
use crate::caches::Caches;
use crate::config::NetworkConfig;
use crate::error::Error;
use crate::metrics::Metrics;
use crate::network::fence::Fence;

/// The cluster runtime.
pub struct Cluster {
    fences: BTreeMap<String, Fence>,
}

impl Cluster {
    /// A runtime over the namespaces of these caches; `network` is none where the
    /// installation wants no network policies.
    pub fn new(
        client: &Client,
        network: Option<&NetworkConfig>,
        caches: &BTreeMap<String, Caches>,
        metrics: &Metrics,
    ) -> Self {
        let fence = |(namespace, caches): (&String, &Caches)| {
            (namespace.clone(), Fence::new(client, namespace, network, caches, metrics))
        };
        Self { fences: caches.iter().map(fence).collect() }
    }
}

#[async_trait]
impl Runtime for Cluster {
    fn carrier(&self, lifetime: Lifetime) -> WorkloadKind {
        match lifetime {
            Lifetime::Persistent => WorkloadKind::Deployment,
            Lifetime::Ephemeral => WorkloadKind::Job,
        }
    }

    fn is_draining(&self, _namespace: &str, _agent: &str, _workloads: &[Workload]) -> bool {
        // Every process is in a pod, and every pod is seen.
        false
    }

    async fn fence(&self, namespace: &str) -> Result<(), Error> {
        self.fences.get(namespace).ok_or(Error::CachesNotReady)?.close().await
    }

    async fn keep(&self, leave: CancellationToken) -> Result<(), Error> {
        join_all(self.fences.values().map(|fence| fence.keep(&leave))).await;
        leave.cancelled().await;
        Ok(())
    }
}
