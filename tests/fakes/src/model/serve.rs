//! Connections and requests.

use std::convert::Infallible;
use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::answer::{self, Answer};
use super::body::{Body, full, respond};
use super::captured::{Captured, Lineage, Text, Wire};
use super::check;
use super::lineage::Place;
use super::recorder::Work;
use super::server::{Checks, Keeps, Prefix, State};

/// Serves until it is told to stop.
pub(super) async fn accept(
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
                state.lock().connections += 1;
                tasks.spawn(connection(stream, state.clone(), stop.clone()));
            }
            // Out of file handles, say: others may end and free some.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

async fn connection(stream: TcpStream, state: Arc<State>, stop: CancellationToken) {
    // Else each event would wait for the acknowledgement of the one before.
    if let Err(error) = stream.set_nodelay(true) {
        state.lock().complaints.push(format!("failed to set TCP_NODELAY: {error}"));
    }
    let service = service_fn(|request| {
        let (state, stop) = (state.clone(), stop.clone());
        async move { Ok::<_, Infallible>(serve(request, state, &stop).await) }
    });
    let served =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let mut served = std::pin::pin!(served);
    // A client that breaks off is no fault of ours; what it did not read shows there.
    tokio::select! {
        _ended = served.as_mut() => {}
        () = stop.cancelled() => {
            served.as_mut().graceful_shutdown();
            let _ended = served.await;
        }
    }
}

async fn serve(
    request: Request<Incoming>,
    state: Arc<State>,
    stop: &CancellationToken,
) -> Response<Body> {
    let (parts, incoming) = request.into_parts();
    let path = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let wire = Wire::of(parts.uri.path()).filter(|_| parts.method == Method::POST);
    let Some(wire) = wire else {
        if parts.method == Method::GET && parts.uri.path().ends_with("/livez") {
            return Response::new(full("ok\n".to_owned()));
        }
        state.lock().complaints.push(format!("{} {path} is no route of a model", parts.method));
        let mut response = Response::new(full("no such route\n".to_owned()));
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    };
    let body = match incoming.collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return Response::new(full(String::new())), // nobody is there to read it
    };
    let at = crate::http::now_micros();
    let raw = Text::new(String::from_utf8_lossy(&body));
    let headers = parts.headers.iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let before = state.lock().newest.clone();
    let mut captured = Captured::new(wire, path, headers.collect(), raw, before.as_deref());
    captured.at = at;
    let (ending, answer) = admit(captured, &state);
    respond(answer, ending, stop).await
}

/// Numbers, checks, records a request and chooses its answer, as one step.
fn admit(mut captured: Captured, state: &Arc<State>) -> (Ending, Answer) {
    let mut inner = state.lock();
    inner.came += 1;
    captured.number = inner.came;
    let place = inner.threads.entry(captured.thread()).or_default().next(&captured.prompt);
    let Place { nth, retry, lineage, head_changed } = place;
    captured.nth = nth;
    captured.retry = retry;
    captured.lineage = lineage;
    captured.head_changed = head_changed;
    inner.newest = Some(Arc::clone(&captured.prompt));
    if let (Lineage::Broken { at }, Prefix::Strict) = (lineage, inner.prefix) {
        let number = captured.number;
        let complaint = format!(
            "request {number}: prefix: message {at} is not that of the requests before, and \
             nothing was folded or stubbed"
        );
        inner.complaints.push(complaint);
    }
    let work = match inner.checks {
        Checks::First => {
            captured.violations = check::violations(&captured);
            captured.violations.extend(check::whole_thinking(&captured, &inner.said));
            let violations = captured.violations.clone();
            inner.add_violations(&captured, &violations);
            Work::Write
        }
        Checks::AtTheEnd => Work::WriteAndCheck,
    };
    let answer = answer::choose(&mut inner, &captured);
    let captured = Arc::new(captured);
    if inner.keeps == Keeps::All {
        inner.requests.push(Arc::clone(&captured));
    }
    let came = inner.came;
    drop(inner);
    state.announce(came);
    (Ending { request: captured, state: Arc::clone(state), work, recorded: false }, answer)
}

/// Hands a request to the recorder when its reply has ended, however that came about.
pub(super) struct Ending {
    pub request: Arc<Captured>,
    state: Arc<State>,
    work: Work,
    recorded: bool,
}

impl Ending {
    /// The last byte is handed to the connection.
    pub fn sent(&mut self) {
        if !self.recorded {
            self.request.end();
            self.record();
        }
    }

    fn record(&mut self) {
        self.recorded = true;
        self.state.recorder.record(Arc::clone(&self.request), self.work);
    }
}

impl Drop for Ending {
    /// The reply was broken off, by the script or by the client.
    fn drop(&mut self) {
        if !self.recorded {
            self.record();
        }
    }
}
