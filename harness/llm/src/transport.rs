//! One exchange with a provider, under its clocks.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use http::{HeaderMap, HeaderValue, header};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use sse_stream::SseByteStream;
use tokio::time::{Instant, timeout};

use crate::client::{chain, http_client, same_origin};
use crate::delta::Delta;
use crate::endpoint::{Auth, BuildError, Endpoint};
use crate::error::{ErrorKind, LlmError, bounded};
use crate::failure;
use crate::message::{Reply, Request, Wire};
use crate::timed::{Bounds, Fault, Head, collect, timed};
use crate::wire::{self, Flow, Mode, StreamParser};

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

/// How long the end of a body may trail behind the reply's own end. Reading to it
/// lets the connection serve the next turn.
const TRAILER: Duration = Duration::from_millis(50);

const ANTHROPIC_VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

/// Calls one endpoint. Clones share their connections.
#[derive(Clone)]
pub struct Transport {
    http: reqwest::Client,
    endpoint: Arc<Endpoint>,
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
        Ok(Self { http, endpoint: Arc::new(endpoint), limits, clock })
    }

    /// A transport to another route of the same server, over the same connections; to
    /// another server, with its own.
    pub fn with_endpoint(&self, endpoint: Endpoint) -> Result<Self, BuildError> {
        if same_origin(&self.endpoint.url, &endpoint.url) {
            Ok(Self { endpoint: Arc::new(endpoint), ..self.clone() })
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
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Reply, LlmError> {
        self.exchange(request, Mode::Stream, on_delta).await
    }

    /// Calls the model for a reply in one piece (KERN-04).
    pub async fn complete(&self, request: &Request) -> Result<Reply, LlmError> {
        self.exchange(request, Mode::OneShot, &mut |_| ()).await
    }

    async fn exchange(
        &self,
        request: &Request,
        mode: Mode,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Reply, LlmError> {
        let body = wire::body(&self.endpoint, request, mode)?;
        let secret = self.secret().await?;
        let start = Instant::now();
        let exchanged = async {
            let response = self.send(body, secret.as_ref(), mode).await?;
            self.read(response, secret.as_ref(), start, on_delta).await
        };
        exchanged.await.map_err(|error| LlmError {
            message: without_key(&error.message, secret.as_ref()),
            ..error
        })
    }

    async fn secret(&self) -> Result<Option<SecretString>, LlmError> {
        match &self.endpoint.auth {
            Auth::None => Ok(None),
            Auth::ApiKey(key) => Ok(Some(key.clone())),
            Auth::Bearer(source) => source.token().await.map(Some).map_err(|error| {
                LlmError::new(ErrorKind::Auth, format!("failed to get the token: {error}"))
            }),
        }
    }

    async fn send(
        &self,
        body: Vec<u8>,
        secret: Option<&SecretString>,
        mode: Mode,
    ) -> Result<reqwest::Response, LlmError> {
        let request = self
            .http
            .post(self.endpoint.url.clone())
            .headers(self.headers(secret, mode)?)
            .body(body);
        match timeout(self.limits.headers, request.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.unreachable(error)),
            Err(_) => Err(LlmError::new(
                ErrorKind::Stalled,
                format!("no response headers within {} s", self.limits.headers.as_secs_f32()),
            )),
        }
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

    fn unreachable(&self, error: reqwest::Error) -> LlmError {
        let origin = self.endpoint.url.origin().ascii_serialization();
        let words = chain(&error.without_url());
        LlmError::new(ErrorKind::Network, format!("failed to reach {origin}: {words}"))
    }

    async fn read(
        &self,
        response: reqwest::Response,
        secret: Option<&SecretString>,
        start: Instant,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Reply, LlmError> {
        let status = response.status();
        let headers = response.headers().clone();
        let whole = !status.is_success() || is_json(&headers);
        let bounds = Bounds {
            idle: self.limits.idle,
            deadline: start + self.limits.total,
            total: self.limits.total,
            bytes: if status.is_success() { self.limits.bytes } else { ERROR_BODY },
        };
        let head = Head::default();
        let body = timed(response.bytes_stream(), bounds, head.clone());
        if !whole {
            return read_events(self.endpoint.wire, body, on_delta)
                .await
                .map_err(|error| quoting(error, &head));
        }
        let (body, fault) = collect(body).await;
        if !status.is_success() {
            // What came of the reason is worth more than why the rest did not come. The
            // key leaves it first: a quote is cut, and half a key is a key too many.
            let body = without_key(&String::from_utf8_lossy(&body), secret);
            let now = (self.clock)();
            return Err(failure::from_response(status.as_u16(), &headers, &body, now));
        }
        if let Some(fault) = fault {
            return Err(faulted(&fault));
        }
        read_document(self.endpoint.wire, &body, on_delta)
    }
}

/// Reads a stream of events to the reply's end.
async fn read_events(
    wire: Wire,
    body: impl Stream<Item = Result<Bytes, Fault>> + Send,
    on_delta: &mut (dyn FnMut(Delta) + Send),
) -> Result<Reply, LlmError> {
    // The decoder drops a last event that no blank line ends: we add the line.
    let end = futures::stream::once(async { Ok(Bytes::from_static(b"\n\n")) });
    let mut events = std::pin::pin!(SseByteStream::new(body.chain(end)));
    let mut parser = StreamParser::new(wire);
    while let Some(event) = events.next().await {
        let event = event.map_err(|error| undecodable(&error))?;
        let Some(data) = event.data.filter(|data| !data.is_empty()) else { continue };
        if parser.event(&data, on_delta)? == Flow::Done {
            break;
        }
    }
    let reply = parser.finish()?;
    let rest = async { while events.next().await.is_some() {} };
    if timeout(TRAILER, rest).await.is_err() {
        tracing::debug!("the server kept its stream open after the reply's end");
    }
    Ok(reply)
}

/// Reads a reply that came as one document, asked for or not: some servers never
/// stream, and some put errors under status 200.
fn read_document(
    wire: Wire,
    body: &[u8],
    on_delta: &mut (dyn FnMut(Delta) + Send),
) -> Result<Reply, LlmError> {
    let body = std::str::from_utf8(body)
        .map_err(|error| LlmError::broken(&format!("the reply is not UTF-8: {error}")))?;
    if failure::is_error_document(body) {
        return Err(failure::from_event(body));
    }
    let reply = wire::document(wire, body).map_err(|error| match error.kind {
        ErrorKind::NoCompletion => with_quote(error, body),
        _ => error,
    })?;
    if let Some(text) = &reply.text {
        on_delta(Delta::Text(text.clone()));
    }
    Ok(reply)
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("application/json"))
}

fn undecodable(error: &sse_stream::Error) -> LlmError {
    if let sse_stream::Error::Body(source) = error
        && let Some(fault) = source.downcast_ref::<Fault>()
    {
        return faulted(fault);
    }
    LlmError::broken(&format!("the stream could not be decoded: {}", chain(error)))
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
        ErrorKind::NoCompletion => with_quote(error, &head.quote()),
        _ => error,
    }
}

fn with_quote(mut error: LlmError, body: &str) -> LlmError {
    let quote = bounded(body);
    let quote = if quote.is_empty() { "an empty body" } else { quote.as_str() };
    error.message = format!("{}; the provider sent: {quote}", error.message);
    error
}

/// Some servers repeat the key that they refuse (BIND-11).
fn without_key(words: &str, secret: Option<&SecretString>) -> String {
    match secret.map(ExposeSecret::expose_secret).filter(|key| !key.is_empty()) {
        Some(key) => words.replace(key, "[redacted]"),
        None => words.to_owned(),
    }
}

#[cfg(test)]
mod tests;
