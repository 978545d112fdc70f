//! What the stand-ins that speak HTTP have in common: connections, bodies, answers.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What answers requests.
pub(crate) trait Service: Clone + Send + Sync + 'static {
    /// The answer to one.
    fn answer(
        &self,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Full<Bytes>>> + Send;
}

/// Serves until it is told to stop.
pub(crate) async fn accept(
    listener: TcpListener,
    service: impl Service,
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
                tasks.spawn(connection(stream, service.clone(), stop.clone()));
            }
            // Out of file handles, say: others may end and free some.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

async fn connection(stream: TcpStream, service: impl Service, stop: CancellationToken) {
    let answer = service_fn(|request| {
        let service = service.clone();
        async move { Ok::<_, Infallible>(service.answer(request).await) }
    });
    let served =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer);
    let mut served = std::pin::pin!(served);
    tokio::select! {
        _ended = served.as_mut() => {} // a client that breaks off is no fault of ours
        () = stop.cancelled() => {
            served.as_mut().graceful_shutdown();
            let _ended = served.await;
        }
    }
}

/// A request's body, up to so many bytes.
pub(crate) async fn body(incoming: Incoming, longest: usize) -> anyhow::Result<Bytes> {
    let body = Limited::new(incoming, longest).collect().await;
    let body = body.map_err(|error| anyhow::anyhow!("failed to read the request: {error}"))?;
    Ok(body.to_bytes())
}

/// An answer in JSON.
pub(crate) fn json(status: StatusCode, body: &Value) -> Response<Full<Bytes>> {
    text(status, "application/json; charset=utf-8", body.to_string())
}

/// An answer of this type.
pub(crate) fn text(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let content_type = http::HeaderValue::from_static(content_type);
    response.headers_mut().insert(http::header::CONTENT_TYPE, content_type);
    response
}

/// The token of an `Authorization: Bearer` header; GitHub also takes `token`.
pub(crate) fn bearer(headers: &http::HeaderMap) -> Option<&str> {
    let value = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    (scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("token"))
        .then_some(token.trim())
}

/// A parameter of the query, decoded.
pub(crate) fn parameter(query: &str, name: &str) -> Option<String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| decoded(value))
}

/// Percent signs and plus signs undone.
pub(crate) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(byte) = hex {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(if *first == b'+' { b' ' } else { *first });
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Now, in microseconds since 1970.
pub(crate) fn now_micros() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_decoded() {
        let query = "head=acme%3Aflow%2Ffix+it&state=all&odd=%2&%zz=%";
        assert_eq!(parameter(query, "head").as_deref(), Some("acme:flow/fix it"));
        assert_eq!(parameter(query, "state").as_deref(), Some("all"));
        assert_eq!(parameter(query, "odd").as_deref(), Some("%2"));
        assert_eq!(parameter(query, "base"), None);
    }
}
