//! Streamable HTTP: one client a server, and what of its answers says that a session is
//! dead.

mod addresses;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::http::{HeaderName, HeaderValue, StatusCode};
use futures::StreamExt as _;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::{BoxedSseResponse, SseRetryPolicy};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, StreamableHttpClient, StreamableHttpClientTransportConfig,
    StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use tokio::time::Instant;

use crate::config::{Addresses, Http};
use crate::redact::Redactor;

/// A host that does not accept a connection by then is down.
const CONNECT: Duration = Duration::from_secs(10);

/// Connections kept: calls of one turn may run beside each other.
const IDLE_CONNECTIONS: usize = 2;

/// Kept shorter than servers keep theirs.
const IDLE: Duration = Duration::from_secs(30);

/// A stream that cannot be fetched again after so many tries is given up; that its
/// session is dead then shows at the next call.
const RESUMES: usize = 4;

/// First wait before a stream is fetched again; doubled each time.
const RESUME_FIRST: Duration = Duration::from_millis(500);

/// Longest wait before a stream is fetched again.
const RESUME_LAST: Duration = Duration::from_secs(30);

/// A stream that lasted so long begins anew with the first wait.
const RESUME_FORGIVEN: Duration = Duration::from_mins(5);

/// In the long run streams are fetched no faster than this, whatever their server wishes.
const FETCH_APART: Duration = Duration::from_millis(250);

/// So many may be fetched at once: the calls of a turn lose theirs together.
const FETCH_BURST: u32 = 64;

/// Notes kept of streams that broke off.
const TROUBLES: usize = 64;

/// What calls over HTTP fail with.
pub(crate) type HttpFault = StreamableHttpError<reqwest::Error>;

/// Whether a header is the protocol's own.
pub(crate) fn is_reserved(name: &HeaderName) -> bool {
    const RESERVED: &[&str] = &[
        "accept",
        "content-type",
        "content-length",
        "host",
        "mcp-session-id",
        "mcp-protocol-version",
        "last-event-id",
    ];
    RESERVED.contains(&name.as_str())
}

/// A transport to one server, and what is known of its streams.
pub(crate) fn transport(
    http: &Http,
    redactor: &Redactor,
) -> Result<(StreamableHttpClientTransport<Client>, Heard), String> {
    let headers = http
        .header_map()
        .map_err(|name| format!("header {name} has a value that no header may have: change it"))?;
    let mut builder = reqwest::Client::builder()
        // A redirect could lead the secret elsewhere; a retry could call a tool twice.
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .default_headers(headers)
        .connect_timeout(CONNECT)
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        .pool_idle_timeout(IDLE)
        .tcp_nodelay(true)
        .user_agent(concat!("foundry/", env!("CARGO_PKG_VERSION")));
    if foundry_llm::is_loopback(&http.url) {
        // A proxy from the environment cannot reach what runs beside us.
        builder = builder.no_proxy();
    }
    if http.url.scheme() == "http" {
        // Redirects are off, so this client never speaks TLS: the system's roots stay unread.
        builder = builder.tls_certs_only(std::iter::empty());
    }
    if http.addresses == Addresses::NotTheMachines {
        addresses::check(&http.url)?;
        // A proxy would look the name up itself.
        builder = builder.dns_resolver(Arc::new(addresses::Checked)).no_proxy();
    }
    let inner = builder
        .build()
        .map_err(|error| format!("no HTTP client: {}", foundry_llm::chain(&error)))?;
    let heard = Heard::default();
    let client =
        Client { inner, redactor: redactor.clone(), heard: heard.clone(), fetched: Arc::default() };
    let mut config = StreamableHttpClientTransportConfig::with_uri(http.url.as_str());
    // Reopening is ours: this one would fire what was under way a second time (KERN-41).
    config.reinit_on_expired_session = false;
    config.retry_config = Arc::new(Resuming::default());
    Ok((StreamableHttpClientTransport::with_client(client, config), heard))
}

/// What is known of a session's streams beyond their messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    /// The stream of the server's notices ended for good.
    deaf: Arc<AtomicBool>,
    troubles: Troubles,
}

/// By the request whose answer it was.
type Troubles = Arc<Mutex<HashMap<RequestId, Trouble>>>;

/// Why the stream of an answer broke off.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    /// Whether the answer is larger than an answer may be.
    pub is_size: bool,
    /// The reason.
    pub words: String,
}

impl Heard {
    /// Whether the server's notices can no longer be heard.
    pub(crate) fn is_deaf(&self) -> bool {
        self.deaf.load(Ordering::Acquire)
    }

    /// Why the stream of the answer to a request broke off.
    pub(crate) fn take_trouble(&self, asked: &RequestId) -> Option<Trouble> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner).remove(asked)
    }

    /// The same answer; a stream that breaks off leaves a note.
    fn watching(
        &self,
        response: StreamableHttpPostResponse,
        asked: RequestId,
    ) -> StreamableHttpPostResponse {
        match response {
            StreamableHttpPostResponse::Sse(events, session) => {
                let troubles = self.troubles.clone();
                let watched = events.inspect(move |event| {
                    if let Err(error) = event {
                        let words = foundry_llm::chain(error);
                        let is_size = words.contains("exceeded the maximum size");
                        let words = if is_size {
                            format!("its answer is too large: {words}")
                        } else {
                            words
                        };
                        let mut troubles = troubles.lock().unwrap_or_else(PoisonError::into_inner);
                        // Nobody takes the notes of calls that were given up.
                        if troubles.len() >= TROUBLES {
                            troubles.clear();
                        }
                        troubles.insert(asked.clone(), Trouble { is_size, words });
                    }
                });
                StreamableHttpPostResponse::Sse(watched.boxed(), session)
            }
            other => other,
        }
    }
}

/// reqwest's client, with answers read as what they mean for the session.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    inner: reqwest::Client,
    redactor: Redactor,
    heard: Heard,
    /// Until when the streams fetched so far have used up their rate.
    fetched: Arc<Mutex<Option<Instant>>>,
}

impl StreamableHttpClient for Client {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpFault> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(
            uri,
            message,
            session_id,
            auth_header,
            custom_headers,
            limits,
        )
        .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, HttpFault> {
        let asked = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            ClientJsonRpcMessage::Response(_)
            | ClientJsonRpcMessage::Notification(_)
            | ClientJsonRpcMessage::Error(_) => None,
        };
        let in_session = session_id.is_some();
        let response = self
            .inner
            .post_message_with_response_limits(
                uri,
                message,
                session_id,
                auth_header,
                custom_headers,
                limits,
            )
            .await
            .map_err(|fault| self.unsaid(fault))?;
        match asked {
            Some(id) => Ok(self.heard.watching(answered(response, id.clone(), in_session)?, id)),
            None => Ok(response),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpFault> {
        let deleted = self.inner.delete_session(uri, session_id, auth_header, custom_headers);
        deleted.await.map_err(|fault| self.unsaid(fault))
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxedSseResponse, HttpFault> {
        let limit = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            auth_header,
            custom_headers,
            limit,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        max_sse_event_size: usize,
    ) -> Result<BoxedSseResponse, HttpFault> {
        self.keep_apart().await;
        let stream = self
            .inner
            .get_stream_with_max_sse_event_size(
                uri,
                session_id,
                last_event_id,
                auth_header,
                custom_headers,
                max_sse_event_size,
            )
            .await;
        match stream {
            Err(fault) if is_gone(&fault) => {
                self.heard.deaf.store(true, Ordering::Release);
                // The one answer after which the stream is not asked for again: whoever
                // waits on it learns at once that its session is dead.
                Err(HttpFault::ServerDoesNotSupportSse)
            }
            other => other.map_err(|fault| self.unsaid(fault)),
        }
    }
}

impl Client {
    /// The fault without secrets: rmcp logs it before anybody here sees it.
    fn unsaid(&self, fault: HttpFault) -> HttpFault {
        match fault {
            HttpFault::Client(error) => HttpFault::Client(error.without_url()),
            HttpFault::UnexpectedServerResponse(words) => {
                HttpFault::UnexpectedServerResponse(self.redactor.clean(&words).into())
            }
            HttpFault::UnexpectedContentType(kind) => {
                HttpFault::UnexpectedContentType(kind.map(|kind| self.redactor.clean(&kind)))
            }
            HttpFault::AuthRequired(_) => {
                HttpFault::AuthRequired(AuthRequiredError::new(String::new()))
            }
            HttpFault::InsufficientScope(mut error) => {
                error.www_authenticate_header = String::new();
                error.required_scope = None;
                HttpFault::InsufficientScope(error)
            }
            other => other,
        }
    }

    async fn keep_apart(&self) {
        let wait = {
            let mut paid = self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            let until = paid.map_or(now, |paid| now.max(paid)) + FETCH_APART;
            *paid = Some(until);
            until.duration_since(now).saturating_sub(FETCH_APART * FETCH_BURST)
        };
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }
}

/// Whether who held a session is not there, or no longer knows it.
fn is_gone(fault: &HttpFault) -> bool {
    match fault {
        HttpFault::SessionExpired => true,
        HttpFault::Client(error) => {
            error.is_connect() || error.status() == Some(StatusCode::NOT_FOUND)
        }
        _ => false,
    }
}

/// An error in answer to a request is that request's, whichever id it bears: servers that
/// cannot place a session answer without one, and the call would wait for ever.
fn answered(
    response: StreamableHttpPostResponse,
    asked: RequestId,
    in_session: bool,
) -> Result<StreamableHttpPostResponse, HttpFault> {
    match response {
        StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(mut error), session) => {
            if error.id.as_ref() != Some(&asked) {
                if in_session && means_no_session(&error.error.message) {
                    return Err(HttpFault::SessionExpired);
                }
                error.id = Some(asked);
            }
            Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), session))
        }
        other => Ok(other),
    }
}

/// Servers that answer 400 where the protocol asks for 404 say it in words.
fn means_no_session(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    words.contains("not initialized")
        || (words.contains("session")
            && ["valid", "not found", "expired", "terminated", "unknown", "missing", "no "]
                .iter()
                .any(|sign| words.contains(sign)))
}

/// When a stream is fetched again: few times in a row, ever slower while it keeps breaking.
#[derive(Debug, Default)]
struct Resuming {
    recent: Mutex<Recent>,
}

#[derive(Debug, Default)]
struct Recent {
    times: u32,
    last: Option<Instant>,
}

impl SseRetryPolicy for Resuming {
    fn retry(&self, failed: usize) -> Option<Duration> {
        if failed >= RESUMES {
            return None;
        }
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if recent.last.is_some_and(|last| now.duration_since(last) > RESUME_FORGIVEN) {
            recent.times = 0;
        }
        let wait = RESUME_FIRST.saturating_mul(1 << recent.times.min(10)).min(RESUME_LAST);
        recent.times = recent.times.saturating_add(1);
        recent.last = Some(now);
        Some(wait)
    }
}

#[cfg(test)]
mod tests;
