//! Questions leave the status of their run when nobody waits for the answer any more.
//!
//! An answer, another plan or a result say so themselves. That a process is gone, or that
//! somebody stopped its agent by kubectl, only the agent's resource says.

use std::{sync::Arc, time::Duration};

use foundry_crds::CodingRun;
use foundry_store::AgentKey;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::{owns, reported::RunStatuses, start};
use crate::{cluster::Cluster, outbox::Courier};

/// How often runs with a question are looked at. It costs no call: caches are read.
const LOOK: Duration = Duration::from_secs(2);

/// Has the status of runs follow when their agents stop waiting.
pub struct Closer {
    cluster: Arc<Cluster>,
    reporter: Courier<RunStatuses>,
}

impl Closer {
    /// A closer; [`Closer::run`] does the work.
    pub fn new(cluster: Arc<Cluster>, reporter: Courier<RunStatuses>) -> Self {
        Self { cluster, reporter }
    }

    /// Looks until shutdown. Replicas may do it at once: a delivery more is harmless.
    pub async fn run(self, shutdown: CancellationToken) {
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while shutdown.run_until_cancelled(look.tick()).await.is_some() {
            for key in self.not_waiting() {
                if let Err(problem) = self.reporter.request(&key).await {
                    tracing::warn!(
                        agent.name = key.agent,
                        cause = problem.detail(),
                        "failed to ask for a status without its question; it is asked again"
                    );
                }
            }
        }
    }

    /// The runs whose status shows a question that their agent does not wait on.
    fn not_waiting(&self) -> Vec<AgentKey> {
        let mut keys = Vec::new();
        for workspace in self.cluster.workspaces() {
            let asking = self.cluster.coding_runs.select(workspace, |run| {
                let waits = self.waits(workspace, run)?;
                (!waits).then(|| run.metadata.name.clone())?
            });
            keys.extend(asking.into_iter().map(|name| AgentKey::new(workspace, name)));
        }
        keys
    }

    /// Whether the agent of a run waits for the answer that the status asks for; nothing
    /// to say when it asks for none.
    fn waits(&self, workspace: &str, run: &CodingRun) -> Option<bool> {
        run.status.as_ref()?.reported.as_ref()?.question.as_ref()?;
        let name = run.metadata.name.as_deref()?;
        let look = |agent: &_| owns(run, agent).then(|| start::waits(agent).is_ok());
        self.cluster.agents.peek(workspace, name, look).flatten()
    }
}
