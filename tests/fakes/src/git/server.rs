//! Connections: who is served, by which backend, and where one is cut.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::backend::{Backend, Serving};
use super::command::Program;
use super::faults::{Faults, Hang, RefusedPush};
use super::keys::Keys;
use super::openssh::Sshd;
use super::pump;
use crate::switch::Switch;

/// How a server is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Folder with the bare repositories; `acme/greeting.git` is `acme/greeting`.
    pub repositories: PathBuf,
    /// Folder that keeps the keys; absent: a temporary one.
    pub keys: Option<PathBuf>,
    /// File with [`Faults`] as JSON, read anew at each connection. No file, or an
    /// empty one: no faults.
    pub faults: Option<PathBuf>,
    /// Serves by this sshd; absent: by the server in this crate.
    pub openssh: Option<Sshd>,
}

impl Options {
    /// A free loopback port, keys in a temporary folder.
    pub fn new(repositories: impl Into<PathBuf>) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            repositories: repositories.into(),
            keys: None,
            faults: None,
            openssh: None,
        }
    }
}

/// A command that a client was let in to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The number of its connection, from 1.
    pub connection: usize,
    /// Fetch or push.
    pub program: Program,
    /// The repository, such as `acme/greeting`.
    pub repository: String,
}

/// A running server. Dropping it stops it.
pub struct GitServer {
    state: Arc<State>,
    address: SocketAddr,
    known_hosts: String,
    stop: CancellationToken,
    tasks: TaskTracker,
    _temporary: Option<tempfile::TempDir>,
}

impl fmt::Debug for GitServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitServer").field("address", &self.address).finish_non_exhaustive()
    }
}

/// What all connections share.
pub(super) struct State {
    pub repositories: PathBuf,
    pub keys: Keys,
    backend: Backend,
    faults: Switch<Faults>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    connections: usize,
    sessions: Vec<Session>,
    complaints: Vec<String>,
}

impl GitServer {
    /// Serves the repositories of this folder on a free loopback port, with keys of its
    /// own.
    pub async fn start(repositories: &Path) -> Result<Self> {
        Self::listen(Options::new(repositories)).await
    }

    /// Serves as these options say.
    pub async fn listen(options: Options) -> Result<Self> {
        let Options { listen, repositories, keys, faults, openssh } = options;
        anyhow::ensure!(
            repositories.is_dir(),
            "{} is no folder; make it first",
            repositories.display()
        );
        let temporary = match &keys {
            Some(_) => None,
            None => Some(tempfile::tempdir().context("failed to make a temporary folder")?),
        };
        let folder = match (&keys, &temporary) {
            (Some(folder), _) => folder.clone(),
            (None, Some(temporary)) => temporary.path().to_owned(),
            (None, None) => anyhow::bail!("there is no folder for the keys"),
        };
        let keys = Keys::kept_in(&folder)?;
        let backend = Backend::new(&keys, openssh)?;
        let listener = TcpListener::bind(listen)
            .await
            .with_context(|| format!("failed to listen on {listen}"))?;
        let address = listener.local_addr().context("failed to read the port")?;
        keys.write_known_hosts(address.port())?;
        let known_hosts = keys.known_hosts_line(address.port())?;
        let state = Arc::new(State {
            repositories,
            keys,
            backend,
            faults: Switch::new(faults),
            seen: Mutex::default(),
        });
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        tasks.spawn(accept(listener, state.clone(), stop.clone(), tasks.clone()));
        Ok(Self { state, address, known_hosts, stop, tasks, _temporary: temporary })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Host and port, as remotes name them.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// The remote of a repository such as `acme/greeting`.
    pub fn remote(&self, repository: &str) -> String {
        format!("ssh://{}@{}/{repository}.git", self.state.backend.user(), self.address)
    }

    /// The line of `known_hosts` for its own key, whatever key it shows.
    pub fn host_key_line(&self) -> &str {
        &self.known_hosts
    }

    /// The one private key that is let in, as a file has it.
    pub fn client_key(&self) -> &str {
        self.state.keys.client_text()
    }

    /// The folder with `host_key`, `client_key`, `client_key.pub` and `known_hosts`.
    pub fn keys(&self) -> &Path {
        self.state.keys.folder()
    }

    /// Shows another host key than the one clients know, or its own again.
    pub fn change_host_key(&self, other: bool) {
        self.state.faults.change(|faults| faults.other_host_key = other);
    }

    /// Lets no key in, or the client's again.
    pub fn refuse_auth(&self, refuse: bool) {
        self.state.faults.change(|faults| faults.refuse_authentication = refuse);
    }

    /// Refuses pushes to a repository, or to any; to a branch of it, or to any; with
    /// these words of a hook. Without words, pushes are taken again.
    pub fn refuse_pushes(
        &self,
        repository: Option<&str>,
        branch: Option<&str>,
        message: Option<&str>,
    ) {
        let (repository, branch) = (repository.map(str::to_owned), branch.map(str::to_owned));
        self.state.faults.change(|faults| {
            let same = |push: &RefusedPush| push.repository == repository && push.branch == branch;
            faults.refuse_pushes.retain(|push| !same(push));
            if let Some(message) = message {
                let message = message.to_owned();
                faults.refuse_pushes.push(RefusedPush { repository, branch, message });
            }
        });
    }

    /// From the next connection on, exactly this goes wrong.
    pub fn set_faults(&self, faults: Faults) {
        self.state.faults.change(|held| *held = faults);
    }

    /// What goes wrong now.
    pub fn faults(&self) -> Faults {
        self.state.faults.change(|held| held.clone())
    }

    /// How many connections were made so far.
    pub fn connections(&self) -> usize {
        self.state.seen(|seen| seen.connections)
    }

    /// The commands that were run so far.
    pub fn sessions(&self) -> Vec<Session> {
        let own = self.state.seen(|seen| seen.sessions.clone());
        if own.is_empty() { self.state.backend.sessions() } else { own }
    }

    /// How often a push to this repository began, refused ones included.
    pub fn pushes(&self, repository: &str) -> usize {
        let push = |session: &Session| {
            session.program == Program::ReceivePack && session.repository == repository
        };
        self.sessions().iter().filter(|session| push(session)).count()
    }

    /// What the server itself could not do.
    pub fn complaints(&self) -> Vec<String> {
        self.state.seen(|seen| seen.complaints.clone())
    }

    /// Stops listening, drops the connections and waits for their end.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl State {
    fn seen<R>(&self, look: impl FnOnce(&mut Seen) -> R) -> R {
        look(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes a command that is run.
    pub(super) fn note(&self, session: Session) {
        self.seen(|seen| seen.sessions.push(session));
    }

    /// Notes what the server itself could not do.
    pub(super) fn complain(&self, error: &anyhow::Error) {
        self.seen(|seen| seen.complaints.push(format!("{error:#}")));
    }

    /// The number of a new connection, and what goes wrong with it.
    fn admit(&self) -> (usize, Result<Faults>) {
        let number = self.seen(|seen| {
            seen.connections += 1;
            seen.connections
        });
        let faults = self.faults.take(|faults| {
            match &mut faults.connections {
                Some(0) => return Faults::default(),
                Some(left) => *left -= 1,
                None => {}
            }
            faults.clone()
        });
        (number, faults)
    }
}

async fn accept(
    listener: TcpListener,
    state: Arc<State>,
    stop: CancellationToken,
    tasks: TaskTracker,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, _)) => {
                let (state, stop, inner) = (state.clone(), stop.clone(), tasks.clone());
                tasks.spawn(async move {
                    tokio::select! {
                        () = connection(stream, &state, inner) => {}
                        () = stop.cancelled() => {}
                    }
                });
            }
            // Out of file handles, say: others may end and free some.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

async fn connection(stream: TcpStream, state: &Arc<State>, tasks: TaskTracker) {
    let (number, faults) = state.admit();
    let faults = match faults.and_then(|faults| {
        stream.set_nodelay(true).context("failed to set TCP_NODELAY")?;
        Ok(faults)
    }) {
        Ok(faults) => faults,
        Err(error) => return state.complain(&error),
    };
    if faults.hang == Some(Hang::Connection) {
        return pump::swallow(stream).await;
    }
    let limits = pump::Limits { sent: faults.cut_after_sent, received: faults.cut_after_received };
    let serving = Serving { state: state.clone(), number, faults: Arc::new(faults), tasks };
    if let Err(error) = state.backend.serve(stream, limits, serving).await {
        state.complain(&error);
    }
}
