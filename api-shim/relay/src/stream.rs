//! The answer's body on its way from the provider to the caller.

use std::time::Duration;

use bytes::Bytes;
use foundry_llm::chain;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use tokio_util::sync::CancellationToken;

use crate::meter::{Meter, Outcome};
use crate::redact::Redactor;
use crate::tap::Ending;

/// The body of an answer: bytes as they come.
pub type Answer = BoxStream<'static, Result<Bytes, StreamError>>;

/// A body that ended before the provider was done. The caller sees its connection
/// break, as it would the provider's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// The provider's connection broke.
    #[error("the model provider broke off: {0}")]
    Broken(String),
    /// Nothing came for too long.
    #[error("the model provider sent nothing for {0} s")]
    Silent(u64),
    /// This process ends, and the answer with it.
    #[error("the relay is ending; call again")]
    Ending,
}

/// A body that is complete already.
pub(crate) fn whole(bytes: Bytes) -> Answer {
    stream::iter([Ok(bytes)]).boxed()
}

/// A provider's body under way. Dropping it closes the provider's connection, which
/// ends its work, and keeps the record of what was used until then.
pub(crate) struct Passage {
    pub(crate) body: BoxStream<'static, Result<Bytes, reqwest::Error>>,
    /// Absent where nothing is counted: a provider's refusal.
    pub(crate) meter: Option<Meter>,
    pub(crate) redactor: Redactor,
    pub(crate) idle: Duration,
    /// Ends every answer.
    pub(crate) ending: CancellationToken,
}

impl Passage {
    /// Passes the body on as it comes.
    pub(crate) fn into_answer(self) -> Answer {
        stream::unfold(Some(self), |passage| async {
            let (item, passage) = passage?.next().await?;
            Some((item, passage))
        })
        .boxed()
    }

    /// The next bytes that may pass, and the passage if it goes on.
    async fn next(mut self) -> Option<(Result<Bytes, StreamError>, Option<Self>)> {
        loop {
            let arrival = tokio::time::timeout(self.idle, self.body.next());
            let Some(arrival) = self.ending.run_until_cancelled(arrival).await else {
                self.settle(Outcome::Interrupted).await;
                return Some((Err(StreamError::Ending), None));
            };
            match arrival {
                Ok(Some(Ok(chunk))) => {
                    self.listen(&chunk).await;
                    let chunk = self.redactor.pass(chunk);
                    if !chunk.is_empty() {
                        return Some((Ok(chunk), Some(self)));
                    }
                }
                Ok(Some(Err(error))) => {
                    self.settle(Outcome::Interrupted).await;
                    let words = chain(&error.without_url());
                    return Some((Err(StreamError::Broken(words)), None));
                }
                Err(_) => {
                    self.settle(Outcome::Interrupted).await;
                    return Some((Err(StreamError::Silent(self.idle.as_secs())), None));
                }
                Ok(None) => {
                    self.end().await;
                    let rest = self.redactor.end();
                    return (!rest.is_empty()).then_some((Ok(rest), None));
                }
            }
        }
    }

    /// Counts, and keeps the record before the last event passes: a caller that stops
    /// reading there has its call counted.
    async fn listen(&mut self, chunk: &[u8]) {
        let Some(meter) = &mut self.meter else { return };
        meter.tap.take(chunk);
        if meter.tap.ending() == Ending::Complete {
            meter.settle(Outcome::Completed).await;
        }
    }

    async fn end(&mut self) {
        let Some(meter) = &mut self.meter else { return };
        meter.tap.end();
        let outcome = match meter.tap.ending() {
            Ending::Complete => Outcome::Completed,
            Ending::Open | Ending::Failed => Outcome::Interrupted,
        };
        meter.settle(outcome).await;
    }

    async fn settle(&mut self, outcome: Outcome) {
        if let Some(meter) = &mut self.meter {
            meter.settle(outcome).await;
        }
    }
}
