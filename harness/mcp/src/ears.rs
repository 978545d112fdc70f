//! What a server says unasked: that its tools changed, and that a call goes on.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProgressToken,
    ProtocolVersion,
};
use rmcp::service::{NotificationContext, RoleClient};
use tokio::sync::Notify;

/// The client's side of one session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ears {
    changed: Arc<AtomicBool>,
    calls: Arc<Mutex<HashMap<ProgressToken, Arc<Notify>>>>,
}

impl Ears {
    /// Whether the server said that its tools changed since this was last asked.
    pub(crate) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::AcqRel)
    }

    /// Listens to the progress of one call until what is returned is dropped.
    pub(crate) fn listen(&self, token: ProgressToken) -> Progress {
        let heard = Arc::new(Notify::new());
        self.calls().insert(token.clone(), heard.clone());
        Progress { ears: self.clone(), token, heard }
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<ProgressToken, Arc<Notify>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientHandler for Ears {
    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("foundry", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), client)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Release);
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        if let Some(call) = self.calls().get(&params.progress_token) {
            call.notify_one();
        }
    }
}

/// The progress of one call.
pub(crate) struct Progress {
    ears: Ears,
    token: ProgressToken,
    heard: Arc<Notify>,
}

impl Progress {
    /// Ready when the server has said something since the last time.
    pub(crate) async fn heard(&self) {
        self.heard.notified().await;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.ears.calls().remove(&self.token);
    }
}
