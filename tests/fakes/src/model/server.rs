//! The server that a test holds in its hand.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::cache::Cache;
use super::captured::Captured;
use super::lineage::Thread;
use super::overflow::Window;
use super::prompt::Prompt;
use super::recorder::{Bodies, Recorder};
use super::remembered::Remembered;
use super::reply::Reply;
use super::rule::{Rule, When};
use super::serve;
use super::strict::Strict;

/// A scripted model that listens on a port of its own. Dropping it stops it.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    state: Arc<State>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

#[derive(Debug)]
pub(super) struct State {
    inner: Mutex<Inner>,
    arrived: watch::Sender<usize>,
    pub recorder: Recorder,
}

#[derive(Debug, Default)]
pub(super) struct Inner {
    pub scripts: Vec<Script>,
    pub rules: Vec<Rule>,
    /// How many requests came.
    pub came: usize,
    /// Those that are kept for the test to look at.
    pub requests: Vec<Arc<Captured>>,
    pub keeps: Keeps,
    pub checks: Checks,
    pub prefix: Prefix,
    pub threads: HashMap<String, Thread>,
    /// The newest request's prompt: the next one may begin alike.
    pub newest: Option<Arc<Prompt>>,
    pub cache: Cache,
    pub said: Remembered,
    /// The window, when one is to be enforced.
    pub window: Option<Window>,
    pub strict: Vec<Strict>,
    /// The only key accepted, when one is to be asked for.
    pub key: Option<String>,
    pub connections: usize,
    /// What went wrong beside the requests themselves.
    pub complaints: Vec<String>,
}

/// Whether requests stay in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Keeps {
    #[default]
    All,
    None,
}

/// When requests are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Checks {
    #[default]
    First,
    AtTheEnd,
}

/// Whether a conversation may break with its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Prefix {
    #[default]
    MayBreak,
    Strict,
}

impl Inner {
    /// Violations are what [`ModelServer::finish`] complains of.
    pub fn add_violations(&mut self, request: &Captured, violations: &[String]) {
        let of = |violation: &String| format!("request {}: {violation}", request.number);
        self.complaints.extend(violations.iter().map(of));
    }
}

#[derive(Debug)]
pub(super) struct Script {
    pub when: When,
    /// Whose script this is, once bound: a script for one conversation stays with it.
    pub bound: Bound,
    pub steps: std::collections::VecDeque<Reply>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// Whoever comes next.
    Anyone,
    /// The first conversation that asks.
    FirstToAsk,
    /// This conversation.
    To(String),
}

impl State {
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn announce(&self, requests: usize) {
        self.arrived.send_replace(requests);
    }
}

impl ModelServer {
    /// Listens on a free loopback port.
    ///
    /// # Panics
    /// When no loopback port is to be had; a test can do nothing about it.
    #[expect(clippy::panic, reason = "a test without its model cannot go on")]
    pub async fn start() -> Self {
        match Self::listen(SocketAddr::from(([127, 0, 0, 1], 0))).await {
            Ok(server) => server,
            Err(error) => panic!("failed to listen on a loopback port: {error}"),
        }
    }

    /// Listens on this address.
    pub async fn listen(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State {
            inner: Mutex::default(),
            arrived: watch::Sender::default(),
            recorder: Recorder::start()?,
        });
        state.recorder.serve(&state);
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        tasks.spawn(serve::accept(listener, state.clone(), stop.clone(), tasks.clone()));
        Ok(Self { address, state, stop, tasks })
    }

    /// Base URL for either wire, `http://127.0.0.1:<port>/v1`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers every request that matches, unless a script does.
    pub fn on(&self, rule: impl Into<Rule>) {
        self.state.lock().rules.push(rule.into());
    }

    /// Answers the next requests, whoever makes them, in the order they arrive.
    pub fn script(&self, steps: impl IntoIterator<Item = Reply>) {
        self.script_for(When::any(), steps);
    }

    /// Answers the next requests that match, in the order they arrive.
    pub fn script_for(&self, when: When, steps: impl IntoIterator<Item = Reply>) {
        self.add(when, Bound::Anyone, steps);
    }

    /// Answers one conversation: the first that matches and has no script yet.
    pub fn conversation(&self, when: When, steps: impl IntoIterator<Item = Reply>) {
        self.add(when, Bound::FirstToAsk, steps);
    }

    fn add(&self, when: When, bound: Bound, steps: impl IntoIterator<Item = Reply>) {
        let steps = steps.into_iter().collect();
        self.state.lock().scripts.push(Script { when, bound, steps });
    }

    /// Refuses requests above this many tokens, as a provider does.
    pub fn enforce_window(&self, tokens: u64) {
        self.window(Window::new(tokens));
    }

    /// Enforces this window.
    pub fn window(&self, window: Window) {
        self.state.lock().window = Some(window);
    }

    /// Demands this of each request; given more than once, all of it.
    pub fn strict(&self, strict: Strict) {
        self.state.lock().strict.push(strict);
    }

    /// Has [`Self::finish`] fail when a conversation breaks with its beginning though nothing
    /// was folded or stubbed ([`Captured::prefix_broken`]).
    pub fn demand_prefix(&self) {
        self.state.lock().prefix = Prefix::Strict;
    }

    /// Checks no request before it is answered, but all of them in [`Self::finish`], so that
    /// large ones are answered at once. What is unlawful is then answered, too.
    pub fn check_at_the_end(&self) {
        self.state.lock().checks = Checks::AtTheEnd;
    }

    /// Keeps no request in memory: [`Self::requests`] stays empty. For long runs that are
    /// captured to a file.
    pub fn keep_nothing(&self) {
        self.state.lock().keeps = Keeps::None;
    }

    /// Answers 401 to requests without this key.
    pub fn require_key(&self, key: impl Into<String>) {
        self.state.lock().key = Some(key.into());
    }

    /// Adds each request to this file, as one line of JSON, when its reply has ended.
    /// [`Self::finish`] waits until all is written.
    pub fn capture_to(&self, file: impl Into<PathBuf>, bodies: Bodies) {
        self.state.recorder.write_to(file.into(), bodies);
    }

    /// The requests so far, in order of arrival.
    pub fn requests(&self) -> Vec<Captured> {
        self.state.lock().requests.iter().map(|request| Captured::clone(request)).collect()
    }

    /// How many connections were made so far.
    pub fn connections(&self) -> usize {
        self.state.lock().connections
    }

    /// The request with this number, from 1; waits until it has come. The wait has no
    /// end of its own: give the test a deadline.
    pub async fn request(&self, number: usize) -> Captured {
        let mut arrived = self.state.arrived.subscribe();
        loop {
            if let Some(request) = self.state.lock().requests.get(number.saturating_sub(1)) {
                return Captured::clone(request);
            }
            if arrived.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Whether all went as written: every step of every script was played, every
    /// request was lawful and had an answer.
    pub fn finish(&self) -> Result<(), String> {
        // An error means that the thread is gone, which is a complaint of its own below.
        let flushed = self.state.recorder.flushed().recv();
        let inner = self.state.lock();
        let mut complaints = inner.complaints.clone();
        if flushed.is_err() {
            complaints.push("the thread that records requests has died".to_owned());
        }
        let left: usize = inner.scripts.iter().map(|script| script.steps.len()).sum();
        if left > 0 {
            complaints.push(format!(
                "{left} steps of scripts were never played ({} requests came)",
                inner.came
            ));
        }
        if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n")) }
    }

    /// Stops listening and waits for the replies under way.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
