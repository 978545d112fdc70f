//! A proxy between a client and the API server, through which a test lets calls fail.
//!
//! It listens on plain HTTP, forwards in the name of one user, and streams watches
//! through. A rule says of each call what becomes of it; what was answered is kept.

mod call;
mod watches;

use std::convert::Infallible;
use std::fmt;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, RETRY_AFTER, TRANSFER_ENCODING};
use http::{HeaderValue, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::client::Body;
use kube::{Client, Config};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::Request;
use crate::fail::or_fail;
use watches::Watches;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Answer = http::Response<UnsyncBoxBody<Bytes, BoxError>>;
type Rule = Box<dyn FnMut(&Request) -> Verdict + Send>;

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is forwarded, and the answer with it.
    Forward,
    /// The API server never hears of it: this status is the answer, with these seconds as
    /// `Retry-After`.
    Answer(u16, Option<u32>),
    /// The API server never hears of it, and no answer comes.
    Hang,
    /// The API server never hears of it: the connection is cut.
    Cut,
    /// It is done, and the connection cut in place of the answer.
    ForwardThenCut,
    /// It is done, and no answer comes.
    ForwardThenHang,
}

/// One call and what came of it.
#[derive(Clone, Debug)]
pub struct Call {
    /// What was asked; its status is what the API server or the proxy answered.
    pub request: Request,
    /// When it came.
    pub at: Instant,
    /// What the rule said.
    pub verdict: Verdict,
}

/// A proxy that runs until it is dropped.
pub struct ApiProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    _stop: DropGuard,
}

impl fmt::Debug for ApiProxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ApiProxy").field("address", &self.address).finish_non_exhaustive()
    }
}

struct Shared {
    upstream: Client,
    user: String,
    rule: Mutex<Rule>,
    calls: Mutex<Vec<Call>>,
    held: watch::Sender<Option<Request>>,
    watches: Watches,
    tasks: TaskTracker,
}

impl ApiProxy {
    /// One that forwards everything by `upstream`, whose user this is.
    pub(crate) async fn start(upstream: Client, user: &str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = or_fail(listener.context("no free loopback port"));
        let address = or_fail(listener.local_addr().context("the proxy has no address"));
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        let shared = Arc::new(Shared {
            upstream,
            user: user.to_owned(),
            rule: Mutex::new(Box::new(|_| Verdict::Forward)),
            calls: Mutex::default(),
            held: watch::Sender::new(None),
            watches: Watches::default(),
            tasks: tasks.clone(),
        });
        tasks.spawn(accept(listener, Arc::clone(&shared), stop.clone()));
        Self { address, shared, _stop: stop.drop_guard() }
    }

    /// A client that goes through it and tries nothing twice by itself.
    pub fn client(&self) -> Client {
        let url = self.url().parse().context("the proxy's address is no URL");
        let mut config = Config::new(or_fail(url));
        config.default_retry = false;
        or_fail(Client::try_from(config).context("no client for the proxy"))
    }

    /// A kubeconfig that leads to it, written into `folder`.
    pub fn kubeconfig(&self, folder: &Path) -> PathBuf {
        let path = folder.join(format!("proxy-{}.yaml", self.address.port()));
        let text = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "proxy",
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
            "clusters": [{"name": "proxy", "cluster": {"server": self.url()}}],
            "users": [{"name": "proxy", "user": {}}],
        });
        // JSON is YAML.
        let written = fs::write(&path, format!("{text:#}\n"));
        or_fail(written.with_context(|| format!("failed to write {}", path.display())));
        path
    }

    /// From now on, what becomes of each call, asked in the order in which they come.
    pub fn rule(&self, rule: impl FnMut(&Request) -> Verdict + Send + 'static) {
        *lock(&self.shared.rule) = Box::new(rule);
    }

    /// From now on, everything is forwarded.
    pub fn forward_all(&self) {
        self.rule(|_| Verdict::Forward);
    }

    /// Waits until a call hangs, and says which.
    pub async fn until_held(&self) -> Request {
        let mut held = self.shared.held.subscribe();
        let call = held.wait_for(Option::is_some).await.map(|call| call.clone());
        or_fail(call.ok().flatten().context("the proxy is gone"))
    }

    /// From now on, what watches show comes so much later.
    pub fn delay_watches(&self, by: Duration) {
        self.shared.watches.delay(by);
    }

    /// Cuts all watches that run.
    pub fn cut_watches(&self) {
        self.shared.watches.cut();
    }

    /// What was answered so far, and what hangs, oldest answer first. A watch counts when
    /// it begins.
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.shared.calls).clone()
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, stop: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, _)) => {
                let served = serve(stream, Arc::clone(&shared));
                let stop = stop.clone();
                shared.tasks.spawn(async move { stop.run_until_cancelled(served).await });
            }
            // Out of file handles, say: others may end and free some.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let answer = service_fn(|request| answer(Arc::clone(&shared), request));
    let served = http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
    // A client that breaks off is no fault of ours, and our own cut neither.
    drop(served.await);
}

/// The connection is to be cut; hyper does so when a service fails.
#[derive(Debug)]
struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("cut by the proxy")
    }
}

impl std::error::Error for Cut {}

async fn answer(shared: Arc<Shared>, request: http::Request<Incoming>) -> Result<Answer, Cut> {
    let at = Instant::now();
    let asked = call::classify(request.method(), request.uri(), &shared.user);
    let verdict = (lock(&shared.rule))(&asked);
    let note = |status: u16| {
        let request = Request { status, answered: call::now(), ..asked.clone() };
        shared.note(Call { request, at, verdict });
    };
    match verdict {
        Verdict::Forward => {
            let answer = shared.forward(request, asked.clone(), at, verdict).await?;
            if asked.verb == "watch" && answer.status().is_success() {
                return Ok(answer.map(|body| shared.watches.follow(body, &shared.tasks)));
            }
            Ok(answer.map(whole))
        }
        Verdict::Answer(status, retry_after) => {
            note(status);
            Ok(refusal(status, retry_after))
        }
        Verdict::Hang => {
            note(0);
            hang(&shared, asked).await
        }
        Verdict::Cut => {
            note(0);
            Err(Cut)
        }
        Verdict::ForwardThenCut => {
            shared.forward(request, asked, at, verdict).await?;
            Err(Cut)
        }
        Verdict::ForwardThenHang => {
            shared.forward(request, asked.clone(), at, verdict).await?;
            hang(&shared, asked).await
        }
    }
}

async fn hang(shared: &Shared, asked: Request) -> Result<Answer, Cut> {
    shared.held.send_replace(Some(asked));
    std::future::pending().await
}

impl Shared {
    fn note(&self, call: Call) {
        lock(&self.calls).push(call);
    }

    /// Forwards a call and keeps what was answered. Once it is on its way it is done and
    /// kept even when the client goes away meanwhile.
    async fn forward(
        self: &Arc<Self>,
        request: http::Request<Incoming>,
        asked: Request,
        at: Instant,
        verdict: Verdict,
    ) -> Result<http::Response<Body>, Cut> {
        let request = whole_request(request).await?;
        let shared = Arc::clone(self);
        let done = self.tasks.spawn(async move {
            let answer = send(&shared.upstream, request).await?;
            let status = answer.status().as_u16();
            let request = Request { status, answered: call::now(), ..asked };
            shared.note(Call { request, at, verdict });
            Ok(answer)
        });
        done.await.map_err(|_| Cut)?
    }
}

/// The call as it goes on, read to its end.
async fn whole_request(request: http::Request<Incoming>) -> Result<http::Request<Body>, Cut> {
    let (mut parts, body) = request.into_parts();
    for header in [HOST, CONNECTION, TRANSFER_ENCODING, AUTHORIZATION] {
        parts.headers.remove(header);
    }
    let body = body.collect().await.map_err(|_| Cut)?.to_bytes();
    Ok(http::Request::from_parts(parts, Body::from(body)))
}

/// Asks the API server. One that is not there is a connection that ends.
async fn send(
    upstream: &Client,
    request: http::Request<Body>,
) -> Result<http::Response<Body>, Cut> {
    let mut answer = upstream.send(request).await.map_err(|_| Cut)?;
    for header in [CONNECTION, TRANSFER_ENCODING] {
        answer.headers_mut().remove(header);
    }
    Ok(answer)
}

fn whole(body: Body) -> UnsyncBoxBody<Bytes, BoxError> {
    body.map_err(BoxError::from).boxed_unsync()
}

/// An answer as the API server gives it when it has too much to do or lost its store.
fn refusal(status: u16, retry_after: Option<u32>) -> Answer {
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let reason = match status {
        403 => "Forbidden",
        409 => "Conflict",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "Unknown",
    };
    let body = json!({
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "message": format!("the proxy answers {status}"),
        "reason": reason,
        "code": status,
    });
    // An API server short of seats answers in plain text, which says nothing but itself.
    let (kind, text) = match status {
        429 => ("text/plain; charset=utf-8", "Too many requests, please try again later.\n".into()),
        _ => ("application/json", body.to_string()),
    };
    let body = Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {});
    let mut answer = http::Response::new(body.boxed_unsync());
    *answer.status_mut() = code;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Some(seconds) = retry_after {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
