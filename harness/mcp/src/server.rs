//! One server and its one session, reopened once for all calls that wait (KERN-41).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, WeakShared};
use rmcp::model::ClientRequest;
use tokio::time::{Instant, timeout_at};

use crate::config;
use crate::fault::Fault;
use crate::options::Options;
use crate::redact::Redactor;
use crate::session::{Patience, Session};

/// After a failed attempt the next is made no sooner; doubled with each that fails.
const BACKOFF_FIRST: Duration = Duration::from_millis(500);

/// The longest such wait.
const BACKOFF_LAST: Duration = Duration::from_secs(30);

/// An attempt to open a session, which all that need one wait for together. It goes on
/// while at least one of them waits.
type Opening = WeakShared<BoxFuture<'static, Result<Arc<Session>, Arc<str>>>>;

/// A server that was configured.
pub(crate) struct Server {
    config: config::Server,
    options: Options,
    redactor: Redactor,
    state: Mutex<State>,
}

enum State {
    Live(Arc<Session>),
    Opening(Opening),
    Down(Down),
    Closed,
}

/// No session, and when the next may be opened.
struct Down {
    words: Arc<str>,
    failures: u32,
    until: Instant,
}

impl Server {
    pub(crate) fn new(config: config::Server, options: Options) -> Arc<Self> {
        let down = Down { words: Arc::from("not opened yet"), failures: 0, until: Instant::now() };
        Arc::new(Self {
            redactor: config.redactor(),
            config,
            options,
            state: Mutex::new(State::Down(down)),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// Whether the server is believed when it says that a tool only reads.
    pub(crate) fn trusts_read_only(&self) -> bool {
        self.options.trust_read_only || self.config.trust_read_only
    }

    /// Words that may be said of this server: without secrets, and with its name.
    pub(crate) fn says(&self, words: &str) -> String {
        format!("MCP server {}: {}", self.name(), self.redactor.clean(words))
    }

    /// The same without the name.
    pub(crate) fn clean(&self, words: &str) -> String {
        self.redactor.clean(words)
    }

    /// The same, shortly.
    pub(crate) fn short(&self, words: &str) -> String {
        self.redactor.short(words)
    }

    /// What one of its tools returned, without credentials.
    pub(crate) fn clean_result(&self, text: String) -> String {
        self.redactor.clean_result(text)
    }

    /// The session, opened where there is none; else the words why not. Everybody who
    /// asks while one is being opened gets that one, or that one's failure.
    pub(crate) async fn session(self: &Arc<Self>) -> Result<Arc<Session>, Arc<str>> {
        let opening = {
            let mut state = self.state();
            let failures = match &*state {
                State::Live(session) if !session.is_dead() => return Ok(session.clone()),
                State::Closed => return Err(Arc::from("it is closed")),
                State::Down(down) if Instant::now() < down.until => {
                    let wait = down.until.duration_since(Instant::now());
                    let wait =
                        format!("{}; tried again in {:.1} s", down.words, wait.as_secs_f64());
                    return Err(Arc::from(wait));
                }
                State::Opening(opening) => match opening.upgrade() {
                    Some(opening) => Err(opening),
                    None => Ok(0),
                },
                State::Down(down) => Ok(down.failures),
                State::Live(_) => Ok(0),
            };
            match failures {
                Err(under_way) => under_way,
                Ok(failures) => {
                    let opening = self.clone().open(failures).boxed().shared();
                    if let Some(weak) = opening.downgrade() {
                        *state = State::Opening(weak);
                    }
                    opening
                }
            }
        };
        opening.await
    }

    async fn open(self: Arc<Self>, failures: u32) -> Result<Arc<Session>, Arc<str>> {
        let opened = Session::open(&self.config, &self.redactor, &self.options).await;
        let mut state = self.state();
        if matches!(*state, State::Closed) {
            return Err(Arc::from("it is closed"));
        }
        match opened {
            Ok(session) => {
                let session = Arc::new(session);
                *state = State::Live(session.clone());
                Ok(session)
            }
            Err(words) => {
                let words: Arc<str> = Arc::from(words);
                let wait = BACKOFF_FIRST.saturating_mul(1 << failures.min(10)).min(BACKOFF_LAST);
                *state = State::Down(Down {
                    words: words.clone(),
                    failures: failures.saturating_add(1),
                    until: Instant::now() + wait,
                });
                Err(words)
            }
        }
    }

    /// Notes that a session is dead, so that the next who needs one opens one. Of calls
    /// that all saw the same session die, the first is heard.
    fn died(&self, session: &Arc<Session>) {
        let mut state = self.state();
        if matches!(&*state, State::Live(live) if Arc::ptr_eq(live, session)) {
            let words = Arc::from("its session died");
            *state = State::Down(Down { words, failures: 0, until: Instant::now() });
        }
    }

    /// The session, where there is one before the patience is over.
    async fn session_for(self: &Arc<Self>, patience: Patience) -> Result<Arc<Session>, Fault> {
        let session = timeout_at(patience.until, self.session()).await;
        let session = session.unwrap_or_else(|_| Err(Arc::from(patience.late())));
        session.map_err(|words| Fault::Unsent(words.to_string()))
    }

    /// Asks in whatever session there is. A request that never left is made on a new
    /// session; one that was lost is repeated there once if that is `safe`. All of it,
    /// sessions that are opened for it too, takes no longer than the patience lasts.
    pub(crate) async fn request(
        self: &Arc<Self>,
        request: impl Fn() -> ClientRequest,
        patience: Patience,
        repeat: Repeat,
    ) -> Result<rmcp::model::ServerResult, Fault> {
        let session = self.session_for(patience).await?;
        let first = session.request(request(), patience).await;
        if matches!(first, Err(Fault::Unsent(_) | Fault::Lost(_))) {
            self.died(&session);
        }
        let again = match (&first, repeat) {
            (Err(Fault::Unsent(_)), _) | (Err(Fault::Lost(_)), Repeat::Safe) => true,
            (Err(Fault::Lost(_)), Repeat::Never)
            | (Ok(_) | Err(Fault::Doubtful(_) | Fault::Refused(_)), _) => false,
        };
        if !again || Instant::now() >= patience.until {
            return first;
        }
        drop(session);
        let session = self.session_for(patience).await.map_err(|fault| {
            fault
                .map(|words| format!("its session died, and it could not be opened again: {words}"))
        })?;
        let second = session.request(request(), patience).await;
        if matches!(second, Err(Fault::Unsent(_) | Fault::Lost(_))) {
            self.died(&session);
        }
        second.map_err(|fault| fault.map(|words| format!("{words} (tried on two sessions)")))
    }

    /// Opens no session any more and ends the one there is, in good order.
    pub(crate) async fn close(&self) {
        let last = std::mem::replace(&mut *self.state(), State::Closed);
        if let State::Live(session) = last {
            session.close().await;
        }
    }

    /// The same at once.
    pub(crate) fn kill(&self) {
        let last = std::mem::replace(&mut *self.state(), State::Closed);
        if let State::Live(session) = last {
            session.end();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a request may be made a second time when its session died under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It changes nothing.
    Safe,
    /// It may have been carried out.
    Never,
}
