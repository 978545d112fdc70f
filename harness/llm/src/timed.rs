//! A byte stream with clocks and a bound, below the event parser: comments that
//! only keep a stream alive count as life (KERN-14), and the last clock bounds them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use tokio::time::{Instant, timeout_at};

/// Why a body ended before its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// Silence.
    #[error("no bytes for {} s", .0.as_secs_f32())]
    Idle(Duration),
    /// Bytes, but no end.
    #[error("the reply was not whole after {} s", .0.as_secs_f32())]
    Overdue(Duration),
    /// More than anyone should send.
    #[error("the reply is larger than {0} bytes")]
    TooLarge(usize),
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Network(String),
}

/// As good as never, and not beyond what a clock can count.
const NEVER: Duration = Duration::from_hours(30 * 366 * 24);

/// An instant so long after another; a wait beyond any clock ends never.
pub(crate) fn later(from: Instant, wait: Duration) -> Instant {
    from.checked_add(wait).unwrap_or_else(|| from + NEVER)
}

/// The limits a body is read under.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Longest silence.
    pub idle: Duration,
    /// The end of all patience, and how long after the start that is.
    pub deadline: Instant,
    /// As told to a person when the deadline passes.
    pub total: Duration,
    /// Most bytes.
    pub bytes: usize,
}

/// The first bytes of a body, kept to quote them when it makes no sense (CODE-44).
#[derive(Clone, Debug, Default)]
pub(crate) struct Head(Arc<Mutex<Vec<u8>>>);

impl Head {
    const KEPT: usize = 8 * 1024;

    fn keep(&self, chunk: &[u8]) {
        let mut head = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = Self::KEPT.saturating_sub(head.len());
        head.extend_from_slice(&chunk[..chunk.len().min(room)]);
    }

    /// What came first, as text.
    pub(crate) fn quote(&self) -> String {
        let head = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&head).trim().to_owned()
    }
}

struct State<S> {
    body: S,
    bounds: Bounds,
    head: Head,
    received: usize,
    over: bool,
}

/// `body` under `bounds`; ends after its first fault.
pub(crate) fn timed<S, E>(
    body: S,
    bounds: Bounds,
    head: Head,
) -> impl Stream<Item = Result<Bytes, Fault>> + Send
where
    S: Stream<Item = Result<Bytes, E>> + Send + Unpin,
    E: std::error::Error,
{
    let state = State { body, bounds, head, received: 0, over: false };
    futures::stream::unfold(state, |mut state| async move {
        if state.over {
            return None;
        }
        let item = next(&mut state).await?;
        state.over = item.is_err();
        Some((item, state))
    })
}

async fn next<S, E>(state: &mut State<S>) -> Option<Result<Bytes, Fault>>
where
    S: Stream<Item = Result<Bytes, E>> + Send + Unpin,
    E: std::error::Error,
{
    let Bounds { idle, deadline, total, bytes } = state.bounds;
    if state.received > bytes {
        return Some(Err(Fault::TooLarge(bytes)));
    }
    let silence = later(Instant::now(), idle);
    loop {
        let limit = silence.min(deadline);
        let chunk = match timeout_at(limit, state.body.next()).await {
            Err(_) if limit == deadline => return Some(Err(Fault::Overdue(total))),
            Err(_) => return Some(Err(Fault::Idle(idle))),
            Ok(None) => return None,
            Ok(Some(Err(error))) => {
                return Some(Err(Fault::Network(crate::client::chain(&error))));
            }
            Ok(Some(Ok(chunk))) => chunk,
        };
        if chunk.is_empty() {
            continue; // an empty chunk is no sign of life
        }
        // What fits is handed on: of an error's body it is all that will ever be known.
        let fits = chunk.len().min(bytes - state.received);
        state.received = state.received.saturating_add(chunk.len());
        if fits == 0 {
            return Some(Err(Fault::TooLarge(bytes)));
        }
        let chunk = chunk.slice(..fits);
        state.head.keep(&chunk);
        return Some(Ok(chunk));
    }
}

/// Reads a body to its end or its first fault; what came before the fault stays.
pub(crate) async fn collect(
    body: impl Stream<Item = Result<Bytes, Fault>> + Send,
) -> (Vec<u8>, Option<Fault>) {
    let mut body = std::pin::pin!(body);
    let mut whole = Vec::new();
    while let Some(chunk) = body.next().await {
        match chunk {
            Ok(chunk) => whole.extend_from_slice(&chunk),
            Err(fault) => return (whole, Some(fault)),
        }
    }
    (whole, None)
}

#[cfg(test)]
mod tests;
