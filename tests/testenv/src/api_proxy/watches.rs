//! Watches on their way through the proxy: late, or cut.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use kube::client::Body;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::{BoxError, Cut};

/// Frames that may be on their way to a client that reads slowly or late.
const ON_THEIR_WAY: usize = 4_096;

type Shown = (Instant, Result<Frame<Bytes>, BoxError>);

/// How the watches fare.
pub(super) struct Watches {
    delay: watch::Sender<Duration>,
    cuts: watch::Sender<u64>,
}

impl Default for Watches {
    fn default() -> Self {
        Self { delay: watch::Sender::new(Duration::ZERO), cuts: watch::Sender::new(0) }
    }
}

impl Watches {
    pub(super) fn delay(&self, by: Duration) {
        self.delay.send_replace(by);
    }

    pub(super) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// What a watch shows, in its order, each frame as late as is asked for.
    pub(super) fn follow(&self, body: Body, tasks: &TaskTracker) -> UnsyncBoxBody<Bytes, BoxError> {
        let (shown, next) = mpsc::channel(ON_THEIR_WAY);
        tasks.spawn(read(body, shown, self.cuts.subscribe()));
        let frames = futures::stream::unfold(
            (next, self.delay.subscribe()),
            |(mut next, delay)| async move {
                let (at, frame): Shown = next.recv().await?;
                let due = at + *delay.borrow();
                tokio::time::sleep_until(due).await;
                Some((frame, (next, delay)))
            },
        );
        BodyExt::boxed_unsync(StreamBody::new(frames))
    }
}

/// Reads a watch as fast as it comes, until it ends, is cut, or nobody listens.
async fn read(mut body: Body, shown: mpsc::Sender<Shown>, mut cuts: watch::Receiver<u64>) {
    loop {
        let frame = tokio::select! {
            frame = body.frame() => match frame {
                Some(frame) => frame.map_err(BoxError::from),
                None => return,
            },
            _ = cuts.changed() => Err(Cut.into()),
            () = shown.closed() => return,
        };
        let is_the_end = frame.is_err();
        if shown.send((Instant::now(), frame)).await.is_err() || is_the_end {
            return;
        }
    }
}
