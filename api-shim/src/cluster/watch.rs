//! Waiting for one agent to become something.

use std::time::Duration;

use foundry_crds::Agent;
use futures::StreamExt;
use kube::{
    Api,
    runtime::{WatchStreamExt, watcher},
};

use super::Cluster;

impl Cluster {
    /// Watches the agent until it fits, for at most `deadline`; gives what it was when
    /// it did, or nothing when time ran out.
    pub async fn await_agent(
        &self,
        workspace: &str,
        id: &str,
        deadline: Duration,
        fits: impl Fn(&Agent) -> bool,
    ) -> Option<Agent> {
        let api: Api<Agent> = Api::namespaced(self.client.clone(), workspace);
        let stream = watcher::watch_object(api, id).default_backoff();
        let fitting = stream.filter_map(|event| {
            // A broken watch is tried again until the deadline; a deleted agent never fits.
            let seen = event.ok().flatten().filter(|agent| fits(agent));
            futures::future::ready(seen)
        });
        let mut fitting = std::pin::pin!(fitting);
        tokio::time::timeout(deadline, fitting.next()).await.ok().flatten()
    }
}
