//! The issuer's routes.

use std::convert::Infallible;
use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Signer, TokenRequest};

/// Most bytes of a token request.
const LONGEST: usize = 64 * 1024;

pub(super) async fn accept(
    listener: TcpListener,
    signer: Arc<Signer>,
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
                tasks.spawn(connection(stream, signer.clone(), stop.clone()));
            }
            // Out of file handles, say: others may end and free some.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

async fn connection(stream: TcpStream, signer: Arc<Signer>, stop: CancellationToken) {
    let service = service_fn(|request| {
        let signer = signer.clone();
        async move { Ok::<_, Infallible>(serve(request, &signer).await) }
    });
    let served =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let mut served = std::pin::pin!(served);
    tokio::select! {
        _ended = served.as_mut() => {} // a client that breaks off is no fault of ours
        () = stop.cancelled() => {
            served.as_mut().graceful_shutdown();
            let _ended = served.await;
        }
    }
}

async fn serve(request: Request<Incoming>, signer: &Signer) -> Response<Full<Bytes>> {
    let route = (request.method().clone(), request.uri().path().to_owned());
    let answer = match (&route.0, route.1.as_str()) {
        (&Method::GET, "/livez") => Ok(json!("ok")),
        (&Method::GET, "/.well-known/openid-configuration") => Ok(signer.discovery_document()),
        (&Method::GET, "/jwks.json") => signer.key_document(),
        (&Method::POST, "/token") => token(request, signer).await,
        (method, path) => {
            let words = format!("{method} {path} is no route of the issuer");
            return response(StatusCode::NOT_FOUND, &json!({"error": words}));
        }
    };
    match answer {
        Ok(body) => response(StatusCode::OK, &body),
        Err(error) => response(StatusCode::BAD_REQUEST, &json!({"error": format!("{error:#}")})),
    }
}

async fn token(request: Request<Incoming>, signer: &Signer) -> anyhow::Result<Value> {
    let body = Limited::new(request.into_body(), LONGEST).collect().await;
    let body = body.map_err(|error| anyhow::anyhow!("failed to read the request: {error}"))?;
    let wanted: TokenRequest = serde_json::from_slice(&body.to_bytes())
        .context("send {sub, workspaces, roles, ttl_seconds} as JSON")?;
    let token = signer.token(&wanted)?;
    Ok(json!({"access_token": token, "token_type": "Bearer", "expires_in": wanted.ttl_seconds}))
}

fn response(status: StatusCode, body: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = status;
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    response
}
