//! All servers of a host.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use foundry_kernel::Tool;
use futures::future::join_all;
use tokio::time::timeout;

use crate::catalog;
use crate::config::Servers;
use crate::options::{Options, Problem};
use crate::server::Server;
use crate::session::Session;

/// Servers that are open. A drop ends their sessions and children at once; tools of
/// theirs that are still about fail from then on.
pub struct Connections {
    entries: Vec<Entry>,
}

struct Entry {
    server: Arc<Server>,
    listed: Mutex<Listed>,
}

/// What a server last said it can do, and in which session.
#[derive(Default)]
struct Listed {
    session: Weak<Session>,
    tools: Vec<Arc<Tool>>,
}

impl Connections {
    /// Connects to all servers beside each other and lists their tools. A server that
    /// fails is a problem that names itself; the others serve.
    pub async fn open(servers: Servers, options: Options) -> (Self, Vec<Problem>) {
        let entries = servers
            .into_servers()
            .map(|server| Entry {
                server: Server::new(server, options.clone()),
                listed: Mutex::default(),
            })
            .collect();
        let connections = Self { entries };
        let problems = connections.refresh().await;
        (connections, problems)
    }

    /// Lists anew where a server said that its tools changed, was opened again, or has
    /// never been listed. For between two runs; costs nothing where nothing changed.
    pub async fn refresh(&self) -> Vec<Problem> {
        join_all(self.entries.iter().map(Entry::refresh)).await.into_iter().flatten().collect()
    }

    /// The tools of all servers, by server name and in each server's order. Each is
    /// deferred (KERN-08).
    pub fn tools(&self) -> Vec<Arc<Tool>> {
        self.entries.iter().flat_map(|entry| entry.listed().tools.clone()).collect()
    }

    /// Ends all sessions in good order: servers hear of it, children have time to end.
    pub async fn close(self) {
        join_all(self.entries.iter().map(|entry| entry.server.close())).await;
    }
}

impl Drop for Connections {
    fn drop(&mut self) {
        for entry in &self.entries {
            entry.server.kill();
        }
    }
}

impl Entry {
    fn listed(&self) -> MutexGuard<'_, Listed> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn refresh(&self) -> Vec<Problem> {
        let session_now = match self.server.session().await {
            Ok(session) => session,
            Err(words) => return vec![self.problem(&words)],
        };
        let session = Arc::downgrade(&session_now);
        // Asked in any case: a notice from before this listing is answered by it.
        let has_changed = session_now.take_changed();
        drop(session_now);
        if !has_changed && self.listed().session.ptr_eq(&session) {
            return Vec::new();
        }
        let limit = self.server.options().connect;
        let why = match timeout(limit, catalog::list(&self.server)).await {
            Ok(Ok(catalog)) => {
                *self.listed() = Listed { session, tools: catalog.tools };
                return catalog.problems;
            }
            Ok(Err(fault)) => fault.into_words(),
            Err(_) => format!("it did not list its tools within {limit:?}"),
        };
        // The tools known so far stay; they are asked for again next time.
        self.listed().session = Weak::new();
        vec![self.problem(&why)]
    }

    fn problem(&self, words: &str) -> Problem {
        Problem::of_server(self.server.name(), self.server.clean(words))
    }
}
