//! What tool servers can do: each ToolServer is asked for its tools outside any request,
//! and what it answers is shown in its status.
//!
//! A server that hangs or fails holds up no other and no request: it is asked with a
//! deadline, beside a few others, and ever more seldom while it fails. Its status is written
//! only when it would say something else, and once a minute at most.

mod ask;
mod pace;
mod report;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use foundry_crds::{ToolServer, tool_server::ToolServerReport};
use futures::{StreamExt, stream::FuturesUnordered};
use kube::ResourceExt;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use self::{
    pace::Memory,
    report::{must_write, report},
};
use crate::{
    app::Clock,
    cluster::{Cluster, apply::ApplyError},
};

/// How often it is looked whom to ask. It costs no call: caches are read.
const LOOK: Duration = Duration::from_secs(2);
/// Servers asked beside each other. One that hangs keeps its place for a few seconds, and
/// then rests; meanwhile the others are asked.
const AT_ONCE: usize = 16;

/// UID of a ToolServer: another one of its name has not been asked yet.
type Uid = String;

/// Asks tool servers for their tools.
pub struct Discovery {
    cluster: Arc<Cluster>,
    clock: Clock,
    known: Mutex<HashMap<Uid, Memory>>,
}

impl Discovery {
    /// A discovery; [`Discovery::run`] does the work.
    pub fn new(cluster: Arc<Cluster>, clock: Clock) -> Self {
        Self { cluster, clock, known: Mutex::default() }
    }

    /// Asks until shutdown. Replicas may do it at once: what they find is the same, and of
    /// two writes the later one finds nothing to change.
    pub async fn run(self, shutdown: CancellationToken) {
        shutdown.run_until_cancelled(self.cluster.tool_servers.ready()).await;
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut under_way = HashSet::new();
        let mut errands = FuturesUnordered::new();
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                _ = look.tick() => {
                    let servers = self.servers();
                    self.forget_all_but(&servers);
                    let waiting = servers.into_iter().filter(|server| self.has_work(server));
                    for server in waiting {
                        if errands.len() < AT_ONCE && under_way.insert(uid_of(&server)) {
                            errands.push(self.look_after(server));
                        }
                    }
                }
                Some(done) = errands.next() => {
                    under_way.remove(&done);
                }
            }
        }
    }

    fn forget_all_but(&self, servers: &[ToolServer]) {
        let there = servers.iter().map(uid_of).collect::<HashSet<_>>();
        self.known().retain(|uid, _| there.contains(uid));
    }

    /// Whether a server is to be asked, or its status to be written.
    fn has_work(&self, server: &ToolServer) -> bool {
        let (generation, now) = (generation_of(server), self.clock.now());
        let memory = self.memory(server);
        memory.is_due(generation, now) || self.news(server, &memory).is_some()
    }

    fn servers(&self) -> Vec<ToolServer> {
        let workspaces = self.cluster.workspaces().iter();
        let all = |server: &ToolServer| Some(server.clone());
        workspaces.flat_map(|name| self.cluster.tool_servers.select(name, all)).collect()
    }

    async fn look_after(&self, server: ToolServer) -> Uid {
        let generation = generation_of(&server);
        let due = self.memory(&server).is_due(generation, self.clock.now());
        if due {
            let answer = ask::ask(&self.cluster, &server).await;
            let now = self.clock.now();
            self.remember(&server, |memory| memory.heard(generation, answer, now));
        }
        if let Some(told) = self.news(&server, &self.memory(&server)) {
            self.show(&server, &told).await;
        }
        uid_of(&server)
    }

    /// What was last heard, when the status must be made to say it.
    fn news(&self, server: &ToolServer, memory: &Memory) -> Option<ToolServerReport> {
        let (generation, now) = (generation_of(server), self.clock.now());
        let told = report(generation, memory.answer_to(generation)?, now);
        let shown = server.status.as_ref().and_then(|status| status.reported.as_ref());
        must_write(shown, &told, memory.written_at(), now).then_some(told)
    }

    async fn show(&self, server: &ToolServer, told: &ToolServerReport) {
        match self.cluster.report_tool_server(server, told).await {
            Ok(()) => {
                let now = self.clock.now();
                self.remember(server, |memory| memory.wrote(now));
            }
            // What changed meanwhile the next look sees.
            Err(ApplyError::Stale) => {}
            Err(error) => tracing::warn!(
                tool_server = server.name_any(),
                namespace = server.namespace(),
                cause = error.into_words(),
                "failed to show what a tool server answered; it is tried again"
            ),
        }
    }

    fn memory(&self, server: &ToolServer) -> Memory {
        self.known().get(&uid_of(server)).cloned().unwrap_or_default()
    }

    fn remember(&self, server: &ToolServer, change: impl FnOnce(&mut Memory)) {
        change(self.known().entry(uid_of(server)).or_default());
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Uid, Memory>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn generation_of(server: &ToolServer) -> i64 {
    server.metadata.generation.unwrap_or_default()
}

fn uid_of(server: &ToolServer) -> Uid {
    server.uid().unwrap_or_default()
}
