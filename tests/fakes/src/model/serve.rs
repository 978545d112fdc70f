//! Connections and requests.

use std::convert::Infallible;
use std::io::Write;
use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::answer;
use super::body::{Body, full, respond};
use super::captured::{Captured, Wire};
use super::check;
use super::reply::Reply;
use super::server::State;

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
        async move { Ok::<_, Infallible>(serve(request, &state, &stop).await) }
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
    state: &State,
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
    let raw = match incoming.collect().await {
        Ok(body) => String::from_utf8_lossy(&body.to_bytes()).into_owned(),
        Err(_) => return Response::new(full(String::new())), // nobody is there to read it
    };
    let headers = parts.headers.iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let body = serde_json::from_str(&raw).unwrap_or_default();
    let captured = Captured {
        number: 0,
        nth: 0,
        at: crate::http::now_micros(),
        wire,
        path,
        headers: headers.collect(),
        raw,
        body,
        violations: Vec::new(),
    };
    let (captured, reply, cached) = admit(captured, state);
    respond(reply, &captured, cached, stop).await
}

/// Numbers, checks, records a request and chooses its answer, as one step.
fn admit(mut captured: Captured, state: &State) -> (Captured, Reply, bool) {
    let mut inner = state.lock();
    captured.number = inner.requests.len() + 1;
    let nth = inner.conversations.entry(captured.conversation()).or_default();
    *nth += 1;
    captured.nth = *nth;
    captured.violations = check::violations(&captured);
    let cached = !inner.systems.insert(captured.system());
    let reply = answer::choose(&mut inner, &captured);
    if let Some(file) = inner.capture.clone() {
        let line = captured.to_json();
        let written = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&file)
            .and_then(|mut file| writeln!(file, "{line}"));
        if let Err(error) = written {
            let complaint = format!("failed to write to {}: {error}", file.display());
            inner.complaints.push(complaint);
        }
    }
    inner.requests.push(captured.clone());
    let requests = inner.requests.len();
    drop(inner);
    state.announce(requests);
    (captured, reply, cached)
}
