//! One session with a server, from its handshake to its end.

use std::time::Duration;

use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientRequest, ErrorCode, ProtocolVersion,
    RequestId, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, PeerRequestOptions, RequestHandle, RunningService,
    serve_client_with_lifecycle_and_ct,
};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{Peer, RoleClient, ServiceError};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::{Reach, Server};
use crate::ears::Ears;
use crate::fault::Fault;
use crate::http::{self, Heard};
use crate::options::Options;
use crate::redact::Redactor;
use crate::stdio::{self, Process};
use crate::unasked::{Bounded, Unasked};

/// How long a server is told that a call is given up.
const FAREWELL: Duration = Duration::from_secs(5);

/// How long a session may take to end in good order.
const CLOSE: Duration = Duration::from_secs(6);

/// Later than anything that is waited for.
const FAR: Duration = Duration::from_hours(24 * 365);

/// How long an answer is waited for, on however many sessions it is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Without a word of progress.
    pub quiet: Duration,
    /// In all.
    whole: Duration,
    /// When that is over.
    pub until: Instant,
}

impl Patience {
    /// Begins now.
    pub(crate) fn new(quiet: Duration, whole: Duration) -> Self {
        Self { quiet, whole, until: Instant::now() + whole.min(FAR) }
    }

    /// Words for when it is over.
    pub(crate) fn late(self) -> String {
        late(self.whole)
    }
}

/// A session that was opened. A drop ends it at once, with its child.
pub(crate) struct Session {
    peer: Peer<RoleClient>,
    service: Mutex<Option<RunningService<RoleClient, Ears>>>,
    ears: Ears,
    link: Link,
    unasked: Unasked,
    redactor: Redactor,
    hello: Hello,
    end: CancellationToken,
    tracker: TaskTracker,
    runtime: Handle,
}

enum Link {
    Http(Heard),
    Stdio(Process),
}

impl Link {
    async fn refusal(&self, words: String) -> Refusal {
        Refusal::Words(match self {
            Self::Http(_) => words,
            Self::Stdio(process) => with_last_words(words, process).await,
        })
    }
}

/// How a session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hello {
    /// By the handshake that nearly every server knows.
    Initialize,
    /// Without one, as the revision of 2026-07-28 has it.
    Discover,
}

impl Hello {
    async fn say<T: Transport<RoleClient> + 'static>(
        self,
        ears: Ears,
        transport: Bounded<T>,
        end: CancellationToken,
    ) -> Result<RunningService<RoleClient, Ears>, ClientInitializeError> {
        let lifecycle = match self {
            Self::Initialize => ClientLifecycleMode::Initialize,
            Self::Discover => {
                ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] }
            }
        };
        serve_client_with_lifecycle_and_ct(ears, transport, lifecycle, end).await
    }
}

/// Why no session began.
enum Refusal {
    /// The server knows no handshake any more.
    Modern,
    Words(String),
}

impl Refusal {
    fn into_words(self) -> String {
        match self {
            Self::Modern => "it knows no handshake".to_owned(),
            Self::Words(words) => words,
        }
    }
}

fn is_modern(error: &ClientInitializeError) -> bool {
    matches!(error, ClientInitializeError::JsonRpcError(data)
        if [ErrorCode::UNSUPPORTED_PROTOCOL_VERSION, ErrorCode::METHOD_NOT_FOUND].contains(&data.code))
}

impl Session {
    /// Connects and shakes hands; else the words why not.
    pub(crate) async fn open(
        server: &Server,
        redactor: &Redactor,
        options: &Options,
    ) -> Result<Self, String> {
        let greet = async |hello| Self::greet(server, redactor, options, hello).await;
        match greet(Hello::Initialize).await {
            Err(Refusal::Modern) => greet(Hello::Discover).await.map_err(Refusal::into_words),
            other => other.map_err(Refusal::into_words),
        }
    }

    async fn greet(
        server: &Server,
        redactor: &Redactor,
        options: &Options,
        hello: Hello,
    ) -> Result<Self, Refusal> {
        let ears = Ears::default();
        let end = CancellationToken::new();
        let tracker = TaskTracker::new();
        let unasked = Unasked::default();
        let (greeted, link) = match &server.reach {
            Reach::Http(http) => {
                let (transport, heard) = http::transport(http, redactor).map_err(Refusal::Words)?;
                let transport = Bounded::new(transport, unasked.clone(), end.clone());
                let greeting = hello.say(ears.clone(), transport, end.clone());
                (timeout(options.connect, greeting).await, Link::Http(heard))
            }
            Reach::Stdio(command) => {
                let children = options.children.as_ref();
                let ((read, write), process) =
                    stdio::start(command, children, &tracker, end.clone())
                        .map_err(Refusal::Words)?;
                let transport = AsyncRwTransport::new_client(read, write);
                let transport = Bounded::new(transport, unasked.clone(), end.clone());
                let greeting = hello.say(ears.clone(), transport, end.clone());
                (timeout(options.connect, greeting).await, Link::Stdio(process))
            }
        };
        let service = match greeted {
            Ok(Ok(service)) => service,
            Ok(Err(error)) if hello == Hello::Initialize && is_modern(&error) => {
                return Err(Refusal::Modern);
            }
            Ok(Err(error)) => {
                return Err(link.refusal(Fault::of_handshake(&error, redactor)).await);
            }
            Err(_) => return Err(link.refusal(late(options.connect)).await),
        };
        Ok(Self {
            peer: service.peer().clone(),
            service: Mutex::new(Some(service)),
            ears,
            link,
            unasked,
            redactor: redactor.clone(),
            hello,
            end,
            tracker,
            runtime: Handle::current(),
        })
    }

    /// Whether nothing can be asked any more.
    pub(crate) fn is_dead(&self) -> bool {
        self.end.is_cancelled() || self.peer.is_transport_closed()
    }

    /// Whether the server's tools may be others than those last listed: it said so, or
    /// could not have, for without a handshake nothing is said unasked.
    pub(crate) fn take_changed(&self) -> bool {
        let deaf = match &self.link {
            _ if self.hello == Hello::Discover => true,
            Link::Http(heard) => heard.is_deaf(),
            Link::Stdio(_) => false,
        };
        self.ears.take_changed() || deaf
    }

    /// Asks and waits for the answer. Where it does not come in time, or is no longer
    /// waited for, the server is told to stop.
    pub(crate) async fn request(
        &self,
        request: ClientRequest,
        patience: Patience,
    ) -> Result<ServerResult, Fault> {
        let handle = self.send(request, patience).await?;
        let asked = handle.id.clone();
        match self.answer(handle, patience).await {
            Err(Fault::Lost(words)) => Err(self.explain(words, &asked).await),
            other => other,
        }
    }

    async fn send(
        &self,
        request: ClientRequest,
        patience: Patience,
    ) -> Result<RequestHandle<RoleClient>, Fault> {
        let sending = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        tokio::select! {
            sent = sending => sent.map_err(|_closed| Fault::Unsent("the connection is closed".to_owned())),
            () = sleep_until(patience.until) => Err(Fault::Unsent(patience.late())),
            () = sleep(patience.quiet) => Err(Fault::Unsent(late(patience.quiet))),
        }
    }

    async fn answer(
        &self,
        mut handle: RequestHandle<RoleClient>,
        patience: Patience,
    ) -> Result<ServerResult, Fault> {
        let mut whole = std::pin::pin!(sleep_until(patience.until));
        let mut quiet = std::pin::pin!(sleep(patience.quiet));
        let progress = self.ears.listen(handle.progress_token.clone());
        let mut farewell = Farewell { session: self, id: Some(handle.id.clone()) };
        loop {
            tokio::select! {
                biased;
                answer = &mut handle.rx => {
                    farewell.id = None;
                    return answer
                        .unwrap_or(Err(ServiceError::TransportClosed))
                        .map_err(|error| Fault::of_request(error, &self.redactor));
                }
                // Without waiting until what is under way in it is given up one by one.
                () = self.end.cancelled() => return Err(Fault::of_closed()),
                () = &mut whole => return Err(Fault::Doubtful(patience.late())),
                () = &mut quiet => return Err(Fault::Doubtful(late(patience.quiet))),
                () = progress.heard() => quiet.as_mut().reset(Instant::now() + patience.quiet),
            }
        }
    }

    /// Says of a lost request what is known of the reason.
    async fn explain(&self, words: String, asked: &RequestId) -> Fault {
        if let Some(why) = self.unasked.words() {
            return Fault::Lost(format!("{words}: {why}"));
        }
        match &self.link {
            // The stream of one answer broke off because that answer is too large: its
            // session is well, and to ask again would be answered alike.
            Link::Http(heard) if !self.is_dead() => match heard.take_trouble(asked) {
                Some(trouble) if trouble.is_size => Fault::Doubtful(trouble.words),
                Some(trouble) => {
                    Fault::Lost(format!("{words}: {}", self.redactor.short(&trouble.words)))
                }
                None => Fault::Lost(words),
            },
            Link::Http(_) => Fault::Lost(words),
            Link::Stdio(process) => Fault::Lost(with_last_words(words, process).await),
        }
    }

    /// Ends it at once: what waits for an answer fails.
    pub(crate) fn end(&self) {
        self.end.cancel();
        match &self.link {
            Link::Http(_) => {}
            Link::Stdio(process) => process.kill(),
        }
    }

    /// Ends it in good order: the server hears of it, and a child has time to end.
    pub(crate) async fn close(&self) {
        let service = self.service.lock().await.take();
        if let Some(mut service) = service
            && let Err(error) = service.close_with_timeout(CLOSE).await
        {
            tracing::warn!(%error, "an MCP session broke off as it was closed");
        }
        match &self.link {
            Link::Http(_) => {}
            Link::Stdio(process) => process.end().await,
        }
        self.end.cancel();
        self.tracker.close();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}

fn late(limit: Duration) -> String {
    format!("it did not answer within {limit:?}")
}

async fn with_last_words(words: String, process: &Process) -> String {
    match process.last_words().await {
        Some(last) => format!("{words}; {last}"),
        None => words,
    }
}

/// Tells the server that an answer is no longer waited for, unless it came.
struct Farewell<'a> {
    session: &'a Session,
    id: Option<RequestId>,
}

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let peer = self.session.peer.clone();
        let reason = Some("given up by the caller".to_owned());
        let notice = CancelledNotification::new(CancelledNotificationParam::new(Some(id), reason));
        let telling = async move {
            // Who cannot be told is gone, or will be.
            let _told = timeout(FAREWELL, peer.send_notification(notice.into())).await;
        };
        self.session.tracker.spawn_on(telling, &self.session.runtime);
    }
}
