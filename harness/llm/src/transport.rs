//! One exchange with a provider, under its clocks.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, timeout, timeout_at};

use crate::client::{chain, http_client, same_origin};
use crate::delta::Viewer;
use crate::dialect::{Dialect, Field, Learned};
use crate::endpoint::{Auth, BuildError, Endpoint};
use crate::error::{ErrorKind, LlmError, bounded};
use crate::failure::{self, Fields, Form};
use crate::message::{Reply, Request, Wire};
use crate::redact;
use crate::timed::{Bounds, Fault, Head, collect, later, timed};
use crate::wire::{self, Flow, Mode, Reader};

/// Tells the time, for dates in a server's pacing.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How long each part of an exchange may take, and how much may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the call to the response's headers (LOOP-20, KERN-13).
    pub headers: Duration,
    /// Between two arrivals of bytes (KERN-14).
    pub idle: Duration,
    /// From the call to the end of the reply, however lively the stream.
    pub total: Duration,
    /// Most bytes of a reply.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            headers: Duration::from_mins(5),
            idle: Duration::from_secs(90),
            total: Duration::from_mins(10),
            bytes: 64 * 1024 * 1024,
        }
    }
}

/// Most bytes of an error's body that are read.
const ERROR_BODY: usize = 64 * 1024;

/// How long the body of an error may take. The status is known: some servers send no more,
/// or only signs of life, and a refusal must not cost as much as a reply.
const ERROR_WAIT: Duration = Duration::from_secs(10);

/// How long the counts of a reply may trail behind its stop reason. Some servers never
/// say that this was all, and keep the stream open.
const COUNTS: Duration = Duration::from_secs(5);

/// How long the end of a body may trail behind the reply's own end. Reading to it
/// lets the connection serve the next turn.
const TRAILER: Duration = Duration::from_millis(50);

/// Most bytes behind a reply's end that are worth reading for that.
const TRAILER_BYTES: usize = 64 * 1024;

const ANTHROPIC_VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

/// Calls one endpoint. Clones share their connections.
#[derive(Clone)]
pub struct Transport {
    http: reqwest::Client,
    endpoint: Arc<Endpoint>,
    /// What this endpoint's servers have demanded, by model.
    learned: Arc<Learned>,
    limits: Limits,
    clock: Clock,
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport")
            .field("endpoint", &self.endpoint)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Transport {
    /// A transport of its own connections.
    pub fn new(endpoint: Endpoint, limits: Limits, clock: Clock) -> Result<Self, BuildError> {
        let http = http_client(&endpoint.url)?;
        let learned = Arc::default();
        Ok(Self { http, endpoint: Arc::new(endpoint), learned, limits, clock })
    }

    /// A transport to another route of the same server, over the same connections; to
    /// another server, with its own.
    pub fn with_endpoint(&self, endpoint: Endpoint) -> Result<Self, BuildError> {
        if same_origin(&self.endpoint.url, &endpoint.url) {
            let learned = Arc::default();
            Ok(Self { endpoint: Arc::new(endpoint), learned, ..self.clone() })
        } else {
            Self::new(endpoint, self.limits, self.clock.clone())
        }
    }

    /// Where this transport calls.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Calls the model and hands on its reply as it comes (KERN-04).
    ///
    /// Dropping the future ends the call and its connection.
    pub async fn stream(
        &self,
        request: &Request,
        viewer: &mut Viewer<'_>,
    ) -> Result<Reply, LlmError> {
        self.exchange(request, Mode::Stream, viewer).await
    }

    /// Calls the model for a reply in one piece (KERN-04).
    pub async fn complete(&self, request: &Request) -> Result<Reply, LlmError> {
        self.exchange(request, Mode::OneShot, &mut |_| ()).await
    }

    async fn exchange(
        &self,
        request: &Request,
        mode: Mode,
        viewer: &mut Viewer<'_>,
    ) -> Result<Reply, LlmError> {
        let start = Instant::now();
        let secret = self.secret(start).await.map_err(|error| self.named(error, request, None))?;
        let dialect = self.learned.dialect(&request.model, self.endpoint.dialect);
        let exchanged = async {
            let body = wire::write(self.endpoint.wire, dialect, request, mode)?;
            let response = self.send(body, secret.as_ref(), mode, start).await?;
            let form = form(self.endpoint.wire, dialect, request, mode);
            self.read(response, secret.as_ref(), start, Asked { request, form }, viewer).await
        };
        exchanged.await.map_err(|error| self.named(error, request, secret.as_ref()))
    }

    /// The one place where an error gets its name and address, loses the key, and says
    /// what to do.
    fn named(
        &self,
        mut error: LlmError,
        request: &Request,
        secret: Option<&SecretString>,
    ) -> LlmError {
        let words = bounded(&redact::words(&error.message, secret));
        let place = self.endpoint.url.origin().ascii_serialization();
        let model = redact::data(&request.model, secret);
        error.message = format!("{words} ({model} at {place}; {})", failure::remedy(&error));
        error
    }

    async fn secret(&self, start: Instant) -> Result<Option<SecretString>, LlmError> {
        match &self.endpoint.auth {
            Auth::None => Ok(None),
            Auth::ApiKey(key) => Ok(Some(key.clone())),
            Auth::Bearer(source) => {
                self.in_time("token", start, source.token()).await?.map(Some).map_err(|error| {
                    LlmError::new(ErrorKind::Auth, format!("failed to get the token: {error}"))
                })
            }
        }
    }

    async fn send(
        &self,
        body: Vec<u8>,
        secret: Option<&SecretString>,
        mode: Mode,
        start: Instant,
    ) -> Result<reqwest::Response, LlmError> {
        let request = self
            .http
            .post(self.endpoint.url.clone())
            .headers(self.headers(secret, mode)?)
            .body(body);
        self.in_time("response headers", start, request.send()).await?.map_err(unreachable)
    }

    /// What comes before any byte of a reply, all of it within one limit from the call on
    /// (KERN-13), and never longer than the call as a whole.
    async fn in_time<T>(
        &self,
        what: &str,
        start: Instant,
        work: impl Future<Output = T> + Send,
    ) -> Result<T, LlmError> {
        let limit = self.limits.headers.min(self.limits.total);
        timeout_at(later(start, limit), work).await.map_err(|_| {
            let words = format!("no {what} within {} s", limit.as_secs_f32());
            LlmError::new(ErrorKind::Stalled, words)
        })
    }

    fn headers(&self, secret: Option<&SecretString>, mode: Mode) -> Result<HeaderMap, LlmError> {
        let mut headers = self.endpoint.headers.clone();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let accept = match mode {
            Mode::Stream => "text/event-stream",
            Mode::OneShot => "application/json",
        };
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        if self.endpoint.wire == Wire::Anthropic {
            headers.insert("anthropic-version", ANTHROPIC_VERSION);
        }
        if let Some(secret) = secret {
            let (name, value) = match self.endpoint.auth {
                Auth::ApiKey(_) => ("x-api-key", secret.expose_secret().to_owned()),
                Auth::Bearer(_) | Auth::None => {
                    ("authorization", format!("Bearer {}", secret.expose_secret()))
                }
            };
            let mut value = HeaderValue::try_from(value).map_err(|_| {
                let words = "the key holds characters that no header can carry; check its Secret";
                LlmError::new(ErrorKind::Auth, words)
            })?;
            value.set_sensitive(true); // BIND-11
            headers.insert(name, value);
        }
        Ok(headers)
    }

    async fn read(
        &self,
        response: reqwest::Response,
        secret: Option<&SecretString>,
        start: Instant,
        asked: Asked<'_>,
        viewer: &mut Viewer<'_>,
    ) -> Result<Reply, LlmError> {
        let status = response.status();
        let headers = response.headers().clone();
        let head = Head::default();
        let bounds = bounds(&self.limits, start, status);
        let body = timed(response.bytes_stream(), bounds, head.clone());
        if status.is_success() {
            return read_reply(self.endpoint.wire, body, viewer)
                .await
                .map_err(|error| failure::paced(quoting(error, &head), &headers, (self.clock)()));
        }
        // What came of the reason is worth more than why the rest did not come. The key
        // leaves it before anything is cut: half a key is a key too many.
        let (body, _fault) = collect(body).await;
        let body = redact::data(&String::from_utf8_lossy(&body), secret);
        let error = failure::from_response(status.as_u16(), &headers, &body, (self.clock)());
        Err(self.learning(error, &body, asked))
    }

    /// A refusal of the form alone is worth another try in another form.
    fn learning(&self, error: LlmError, body: &str, asked: Asked<'_>) -> LlmError {
        let Asked { request, form } = asked;
        let status = error.status.unwrap_or_default();
        let demand = match error.kind {
            ErrorKind::BadRequest => failure::demand(status, body, form),
            _ => None,
        };
        match demand {
            Some(demand) if self.learned.learn(&request.model, form.dialect, demand) => {
                tracing::debug!(model = %request.model, ?demand, "learned what a server demands");
                LlmError { kind: ErrorKind::Dialect, ..error }
            }
            Some(_) | None => error,
        }
    }
}

/// What was asked, for a server that refuses how it was.
#[derive(Clone, Copy)]
struct Asked<'a> {
    request: &'a Request,
    form: Form,
}

fn form(wire: Wire, dialect: Dialect, request: &Request, mode: Mode) -> Form {
    let fields = Fields {
        temperature: request.temperature.is_some() && dialect.temperature == Field::Sent,
        reasoning_effort: request.reasoning_effort.is_some()
            && dialect.reasoning_effort == Field::Sent,
        stream_options: mode == Mode::Stream && dialect.stream_options == Field::Sent,
    };
    Form { wire, dialect, fields }
}

/// How a body is read, by what its status says it is.
fn bounds(limits: &Limits, start: Instant, status: StatusCode) -> Bounds {
    let Limits { headers: _, idle, total, bytes } = *limits;
    let deadline = later(start, total);
    if status.is_success() {
        return Bounds { idle, deadline, total, bytes };
    }
    let deadline = deadline.min(later(Instant::now(), ERROR_WAIT));
    Bounds { idle: idle.min(ERROR_WAIT), deadline, total, bytes: ERROR_BODY }
}

fn unreachable(error: reqwest::Error) -> LlmError {
    let words = chain(&error.without_url());
    LlmError::new(ErrorKind::Network, format!("failed to reach the server: {words}"))
}

/// Reads a reply that is a stream of events or one document, whatever was asked for and
/// whatever its headers say: some servers never stream, some put errors under status
/// 200, and some name no type or the wrong one.
async fn read_reply(
    wire: Wire,
    body: impl Stream<Item = Result<Bytes, Fault>> + Send,
    viewer: &mut Viewer<'_>,
) -> Result<Reply, LlmError> {
    let mut body = pin!(body);
    let first = loop {
        match body.next().await {
            Some(Ok(chunk)) if chunk.iter().all(u8::is_ascii_whitespace) => {} // says nothing yet
            Some(Ok(chunk)) => break chunk,
            Some(Err(fault)) => return Err(faulted(&fault)),
            None => return Err(LlmError::no_completion()),
        }
    };
    let text = first.trim_ascii_start();
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii_start();
    let is_document = text.starts_with(b"{") || text.starts_with(b"[");
    let body = futures::stream::once(async { Ok(first) }).chain(body);
    if !is_document {
        return read_events(wire, body, viewer).await;
    }
    match collect(body).await {
        (body, None) => read_document(wire, &body, viewer),
        (_, Some(fault)) => Err(faulted(&fault)),
    }
}

/// Reads a stream of events to the reply's end.
async fn read_events(
    wire: Wire,
    body: impl Stream<Item = Result<Bytes, Fault>> + Send,
    viewer: &mut Viewer<'_>,
) -> Result<Reply, LlmError> {
    let mut body = pin!(body);
    let mut reader = Reader::new(wire);
    let mut whole: Option<Instant> = None;
    loop {
        let next = match whole {
            None => body.next().await,
            // What was said stays said: the rest are counts, and may be lost.
            Some(at) => match timeout_at(at + COUNTS, body.next()).await {
                Ok(Some(Ok(chunk))) => Some(Ok(chunk)),
                Ok(Some(Err(_)) | None) | Err(_) => None,
            },
        };
        let Some(chunk) = next else { break };
        let chunk = chunk.map_err(|fault| faulted(&fault))?;
        if reader.take(&chunk, viewer)? == Flow::Done {
            drain(body).await;
            break;
        }
        if whole.is_none() && reader.is_whole() {
            whole = Some(Instant::now());
        }
    }
    reader.finish(viewer)
}

/// Reads what little may stand behind a reply's end, so that the connection can serve
/// the next turn.
async fn drain(mut body: impl Stream<Item = Result<Bytes, Fault>> + Send + Unpin) {
    let rest = async {
        let mut left = TRAILER_BYTES;
        while let Some(Ok(chunk)) = body.next().await {
            left = left.saturating_sub(chunk.len());
            if left == 0 {
                break;
            }
        }
    };
    if timeout(TRAILER, rest).await.is_err() {
        tracing::debug!("the server kept its stream open after the reply's end");
    }
}

/// Reads a reply that came as one document.
fn read_document(wire: Wire, body: &[u8], viewer: &mut Viewer<'_>) -> Result<Reply, LlmError> {
    let body = std::str::from_utf8(body)
        .map_err(|error| LlmError::broken(&format!("the reply is not UTF-8: {error}")))?;
    wire::document(wire, body.trim_start().trim_start_matches('\u{feff}'), viewer)
}

fn faulted(fault: &Fault) -> LlmError {
    let kind = match fault {
        Fault::Idle(_) | Fault::Overdue(_) => ErrorKind::Stalled,
        Fault::TooLarge(_) => ErrorKind::Broken,
        Fault::Network(_) => ErrorKind::Network,
    };
    LlmError { status: Some(200), ..LlmError::new(kind, fault.to_string()) }
}

/// An empty answer is no error of ours: show what came (CODE-44).
fn quoting(error: LlmError, head: &Head) -> LlmError {
    match error.kind {
        ErrorKind::NoCompletion => {
            let quote = head.quote();
            let quote = if quote.is_empty() { "an empty body" } else { quote.as_str() };
            LlmError { message: format!("{}; the provider sent: {quote}", error.message), ..error }
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests;
