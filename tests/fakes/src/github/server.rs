//! The server: what it was asked, and what came of it.

use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::pulls::PullRequest;
use super::refusal::{Faults, Refusal};
use super::routes::Api;
use crate::http::{accept, now_micros};
use crate::switch::Switch;

/// How a stand-in is started.
#[derive(Clone)]
pub struct Options {
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Folder with the bare repositories; `acme/greeting.git` is `acme/greeting`.
    pub repositories: PathBuf,
    /// The one token that is let in.
    pub token: String,
    /// File that gets a line of JSON for each pull request made or changed.
    pub record: Option<PathBuf>,
    /// File with [`Faults`] as JSON, read anew at each request. No file, or an empty
    /// one: no faults.
    pub faults: Option<PathBuf>,
}

impl Options {
    /// A free loopback port, no record.
    pub fn new(repositories: impl Into<PathBuf>, token: impl Into<String>) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            repositories: repositories.into(),
            token: token.into(),
            record: None,
            faults: None,
        }
    }
}

/// A request that came. Tokens are left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recorded {
    /// When, in microseconds since 1970.
    pub at: u64,
    /// Its method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Whether it had the right token.
    pub authorised: bool,
    /// Its body; null when there was none, or no JSON.
    pub body: Value,
    /// The answer's status.
    pub status: u16,
}

/// A running stand-in. Dropping it stops it.
pub struct GitHub {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl fmt::Debug for GitHub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitHub").field("address", &self.address).finish_non_exhaustive()
    }
}

/// What all connections share.
pub(super) struct Shared {
    pub repositories: PathBuf,
    pub token: String,
    /// `http://` and where it listens.
    pub origin: String,
    pub faults: Switch<Faults>,
    pub pulls: Mutex<Vec<PullRequest>>,
    requests: Mutex<Vec<Recorded>>,
    record: Option<PathBuf>,
}

impl GitHub {
    /// Serves the repositories of this folder on a free loopback port to who has this
    /// token.
    pub async fn start(repositories: &Path, token: &str) -> Result<Self> {
        Self::listen(Options::new(repositories, token)).await
    }

    /// Serves as these options say.
    pub async fn listen(options: Options) -> Result<Self> {
        let Options { listen, repositories, token, record, faults } = options;
        anyhow::ensure!(!token.is_empty(), "the token is empty; give one");
        anyhow::ensure!(
            repositories.is_dir(),
            "{} is no folder; make it first",
            repositories.display()
        );
        if let Some(record) = &record {
            // Now, not at the first request: whoever started it still listens.
            let opened = File::options().create(true).append(true).open(record);
            opened.with_context(|| format!("failed to write to {}", record.display()))?;
        }
        let listener = TcpListener::bind(listen)
            .await
            .with_context(|| format!("failed to listen on {listen}"))?;
        let address = listener.local_addr().context("failed to read the port")?;
        let shared = Arc::new(Shared {
            repositories,
            token,
            origin: format!("http://{address}"),
            faults: Switch::new(faults),
            pulls: Mutex::default(),
            requests: Mutex::default(),
            record,
        });
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let api = Api(shared.clone());
        tasks.spawn(accept(listener, api, stop.clone(), tasks.clone()));
        Ok(Self { shared, address, stop, tasks })
    }

    /// Base URL of the API.
    pub fn api_url(&self) -> String {
        self.shared.origin.clone()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The pull requests of a repository such as `acme/greeting`, oldest first.
    pub fn pull_requests(&self, repository: &str) -> Vec<PullRequest> {
        let pulls = self.shared.pulls.lock().unwrap_or_else(PoisonError::into_inner);
        pulls.iter().filter(|pull| pull.repository == repository).cloned().collect()
    }

    /// The requests so far, in order of their answers.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Refuses what this names, from the next request on.
    pub fn refuse(&self, refusal: Refusal) {
        self.shared.faults.change(|faults| faults.refuse.push(refusal));
    }

    /// Refuses nothing any more.
    pub fn accept(&self) {
        self.shared.faults.change(|faults| faults.refuse.clear());
    }

    /// Stops listening and waits for the answers under way.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for GitHub {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Shared {
    pub(super) fn note(&self, recorded: Recorded) {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(recorded);
    }

    /// Adds a line to the record.
    pub(super) fn record(&self, kind: &str, pull: &PullRequest) -> Result<()> {
        let Some(file) = &self.record else { return Ok(()) };
        let mut line = json!({"at": now_micros(), "kind": kind});
        if let (Some(line), Value::Object(pull)) = (line.as_object_mut(), json!(pull)) {
            line.extend(pull);
        }
        let opened = File::options().create(true).append(true).open(file);
        opened
            .and_then(|mut file| writeln!(file, "{line}"))
            .with_context(|| format!("failed to write to {}", file.display()))
    }
}
