//! What a server says unasked, before rmcp hears it. rmcp begins a task for each such
//! message and logs many in their own words; a server that says them without end would
//! fill our memory and the log.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientResult, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage,
    ServerNotification, ServerRequest,
};
use rmcp::transport::Transport;
use tokio_util::sync::CancellationToken;

/// Answers that may wait until their server takes them.
const LIMIT: usize = 256;

/// Bytes of an id that is answered.
const ID_LIMIT: usize = 1_024;

/// What is known of a server's own requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unasked {
    is_flood: Arc<AtomicBool>,
}

impl Unasked {
    /// Why the session was ended, where it was for this.
    pub(crate) fn words(&self) -> Option<String> {
        self.is_flood.load(Ordering::Acquire).then(|| {
            format!("it asks for more and more, and has not taken {LIMIT} answers: it is ended")
        })
    }
}

/// A transport that answers its server's own requests, keeps what nobody listens to, and
/// ends where its server asks and takes no answers.
pub(crate) struct Bounded<T: Transport<RoleClient>> {
    inner: T,
    answers: FuturesUnordered<BoxFuture<'static, Result<(), T::Error>>>,
    is_greeted: bool,
    unasked: Unasked,
    end: CancellationToken,
}

impl<T: Transport<RoleClient>> Bounded<T> {
    /// `end` is cancelled where the server is given up.
    pub(crate) fn new(inner: T, unasked: Unasked, end: CancellationToken) -> Self {
        Self { inner, answers: FuturesUnordered::new(), is_greeted: false, unasked, end }
    }

    /// The message, where it is for rmcp.
    fn pass(&mut self, message: ServerJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
        match &message {
            ServerJsonRpcMessage::Request(request) => {
                if let Some(answer) = answer(&request.request, &request.id) {
                    self.answers.push(Box::pin(self.inner.send(answer)));
                }
                None
            }
            ServerJsonRpcMessage::Notification(notification) => {
                let is_heard = matches!(
                    notification.notification,
                    ServerNotification::ProgressNotification(_)
                        | ServerNotification::ToolListChangedNotification(_)
                );
                (is_heard && self.is_greeted).then_some(message)
            }
            ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_) => {
                self.is_greeted = true;
                Some(message)
            }
        }
    }
}

/// Nothing was offered to the server that it could ask for, except whether we live.
fn answer(request: &ServerRequest, id: &RequestId) -> Option<ClientJsonRpcMessage> {
    match (id, request) {
        (RequestId::String(id), _) if id.len() > ID_LIMIT => None,
        (_, ServerRequest::PingRequest(_)) => {
            Some(ClientJsonRpcMessage::response(ClientResult::empty(()), id.clone()))
        }
        (_, _) => {
            let words = "this client offers nothing but ping";
            let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, words, None);
            Some(ClientJsonRpcMessage::error(error, Some(id.clone())))
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Bounded<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(message)
    }

    /// Loses nothing where it is dropped while it waits, as rmcp does.
    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if self.answers.len() > LIMIT {
                self.unasked.is_flood.store(true, Ordering::Release);
                self.end.cancel();
                return None;
            }
            let message = tokio::select! {
                // That an answer cannot be sent shows in all else too.
                Some(_sent) = self.answers.next() => continue,
                message = self.inner.receive() => message?,
            };
            if let Some(message) = self.pass(message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.answers.clear();
        self.inner.close().await
    }
}
