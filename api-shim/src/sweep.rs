//! What goes: rows of agents that are gone, and log lines that are old.

use std::{sync::Arc, time::Duration};

use foundry_crds::Agent;
use foundry_store::{AgentKey, Store};
use jiff::SignedDuration;
use kube::ResourceExt;
use tokio::{
    sync::mpsc,
    time::{MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;

use crate::{app::Clock, cluster::Cluster, problem::Problem};

/// Deletions that wait to be cleaned up after.
pub const MAX_WAITING: usize = 10_000;
/// How often old log lines are looked for.
const PRUNE: Duration = Duration::from_hours(1);
/// How long a log line is kept.
const LOG_AGE: SignedDuration = SignedDuration::from_hours(30 * 24);
/// How many lines an agent keeps.
const LOG_LINES: u32 = 100_000;

/// Cleans up.
pub struct Sweeper {
    store: Store,
    cluster: Arc<Cluster>,
    clock: Clock,
}

impl Sweeper {
    /// A sweeper; [`Sweeper::run`] does the work.
    pub fn new(store: Store, cluster: Arc<Cluster>, clock: Clock) -> Self {
        Self { store, cluster, clock }
    }

    /// Cleans up until shutdown. Replicas may do it at once: each deletion is of rows
    /// that nobody may see again.
    pub async fn run(
        self,
        mut deleted: mpsc::Receiver<(String, String)>,
        shutdown: CancellationToken,
    ) {
        let mut prune = interval(PRUNE);
        prune.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                Some((namespace, agent)) = deleted.recv() => {
                    let key = AgentKey::new(namespace, agent);
                    if let Err(problem) = self.forget(&key).await {
                        tracing::warn!(agent.name = key.agent, cause = problem.detail(),
                            "failed to delete the rows of a deleted agent");
                    }
                }
                _ = prune.tick() => self.prune().await,
            }
        }
    }

    async fn forget(&self, key: &AgentKey) -> Result<(), Problem> {
        // An agent of the same name may be there again by now; its rows are its own.
        let again: Option<Agent> = self.cluster.read(&key.namespace, &key.agent).await?;
        let now = self.clock.now();
        match again.map(|again| again.creation_timestamp()) {
            None => self.store.delete_agent_rows(key, now).await?,
            Some(Some(created)) => self.store.delete_earlier_rows(key, created.0, now).await?,
            // An object that was read was created.
            Some(None) => return Ok(()),
        }
        tracing::info!(agent.name = key.agent, "deleted the rows of a deleted agent");
        Ok(())
    }

    async fn prune(&self) {
        match self.store.prune_logs(self.clock.now() - LOG_AGE, LOG_LINES).await {
            Ok(0) => {}
            Ok(lines) => tracing::info!(lines, "deleted old log lines"),
            Err(error) => tracing::warn!(cause = %error, "failed to delete old log lines"),
        }
    }
}
