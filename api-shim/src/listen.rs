//! Connections: accepted, given up when they say nothing, and let end.

use std::{pin::pin, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How long a connection may wait for, or take over, the headers of its next request.
/// Longer than the 90 seconds for which clients commonly keep an idle connection, so
/// that none sends a request into one that is just being closed.
pub const HEADERS: Duration = Duration::from_mins(2);
/// Wait after a failed accept: mostly, no file descriptor was free.
const PAUSE: Duration = Duration::from_secs(1);

/// Serves until `shutdown`, then lets the requests under way end.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    headers: Duration,
    shutdown: CancellationToken,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(headers);
    let connections = TaskTracker::new();
    while let Some(accepted) = shutdown.run_until_cancelled(listener.accept()).await {
        match accepted {
            Ok((stream, _)) => {
                connections.spawn(attend(http.clone(), stream, router.clone(), shutdown.clone()));
            }
            Err(error) => {
                tracing::warn!(cause = %error, "failed to accept a connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

async fn attend(
    http: http1::Builder,
    stream: TcpStream,
    router: Router,
    shutdown: CancellationToken,
) {
    // Small answers and streamed tokens must not wait for more bytes.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(cause = %error, "failed to set TCP_NODELAY");
    }
    let service = TowerToHyperService::new(router);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    let ended = if let Some(ended) = shutdown.run_until_cancelled(connection.as_mut()).await {
        ended
    } else {
        connection.as_mut().graceful_shutdown();
        connection.await
    };
    if let Err(error) = ended {
        tracing::debug!(cause = %error, "a connection broke");
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const DEADLINE: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn a_connection_that_does_not_end_its_headers_is_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let router = Router::new().fallback(async || "answered");
        let headers = Duration::from_millis(300);
        let client = async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n").await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            shutdown.cancel();
            answer
        };
        let both =
            async { tokio::join!(client, serve(listener, router, headers, shutdown.clone())).0 };
        let answer = tokio::time::timeout(DEADLINE, both).await.expect("it is closed");
        assert_eq!(answer, "");
    }
}
