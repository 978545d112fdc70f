//! Harnesses in pods: the cluster's own controllers and kubelets run them.

use async_trait::async_trait;
use foundry_crds::agent::Lifetime;
use tokio_util::sync::CancellationToken;

use super::{Runtime, Workload, WorkloadKind};
use crate::error::Error;

/// The cluster runtime.
#[derive(Debug)]
pub struct Cluster;

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

    async fn keep(&self, leave: CancellationToken) -> Result<(), Error> {
        leave.cancelled().await;
        Ok(())
    }
}
