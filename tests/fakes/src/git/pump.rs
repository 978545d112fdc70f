//! Bytes between a client and a backend, counted, and cut where told.

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// After how many bytes a connection is cut.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    /// To the client.
    pub sent: Option<u64>,
    /// From the client.
    pub received: Option<u64>,
}

/// How a direction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// Whoever writes has said all.
    Said,
    /// Whoever reads is gone, or the limit is reached.
    Cut,
}

/// Carries bytes both ways until both sides have said all, or one is cut off. The
/// backend has its say to the end: a client that says no more may still listen.
pub(super) async fn run(
    stream: TcpStream,
    limits: Limits,
    from_backend: impl AsyncRead + Unpin,
    to_backend: impl AsyncWrite + Unpin,
) {
    let (from_client, to_client) = stream.into_split();
    let mut sending = std::pin::pin!(carry(from_backend, to_client, limits.sent));
    let mut receiving = std::pin::pin!(carry(from_client, to_backend, limits.received));
    tokio::select! {
        _ended = sending.as_mut() => {}
        ended = receiving.as_mut() => {
            if ended == Ended::Said {
                sending.await;
            }
        }
    }
}

/// Reads what a client says and answers nothing, until it leaves.
pub(super) async fn swallow(stream: TcpStream) {
    let (from_client, _kept_open) = stream.into_split();
    carry(from_client, tokio::io::sink(), None).await;
}

async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    limit: Option<u64>,
) -> Ended {
    let mut left = limit.unwrap_or(u64::MAX);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = match from.read(&mut buffer).await {
            Ok(0) => break,
            Ok(read) => read,
            Err(_) => return Ended::Cut,
        };
        let allowed = usize::try_from(left).unwrap_or(usize::MAX).min(read);
        let written = async {
            to.write_all(&buffer[..allowed]).await?;
            to.flush().await
        };
        if written.await.is_err() {
            return Ended::Cut;
        }
        left -= allowed as u64;
        if left == 0 && limit.is_some() {
            return Ended::Cut;
        }
    }
    match to.shutdown().await {
        Ok(()) => Ended::Said,
        Err(_) => Ended::Cut,
    }
}
