//! Where harnesses run: what differs between a cluster and this machine.
//!
//! Both runtimes write only Kubernetes objects; the reconcile is the same for both.
//! They differ in which object carries a harness and in who runs its process.

pub mod cluster;
pub mod local;
pub mod workload;

use async_trait::async_trait;
use foundry_crds::agent::Lifetime;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
pub use workload::{Belongs, Health, Limit, Workload, WorkloadKind};

/// Where harnesses run (OPS-01).
#[async_trait]
pub trait Runtime: Send + Sync {
    /// Which object carries the harness of an agent of this lifetime.
    fn carrier(&self, lifetime: Lifetime) -> WorkloadKind;

    /// Whether a process of this agent lives that none of these workloads carries.
    fn is_draining(&self, namespace: &str, agent: &str, workloads: &[Workload]) -> bool;

    /// Returns when a harness that is begun in this namespace reaches only what it may.
    async fn fence(&self, namespace: &str) -> Result<(), Error>;

    /// Runs whatever this runtime needs beside the reconciles, until told to leave.
    async fn keep(&self, leave: CancellationToken) -> Result<(), Error>;
}
