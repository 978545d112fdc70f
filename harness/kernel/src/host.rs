//! What a run needs of the world, injected.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use foundry_llm::{LlmError, Reply};
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::entry::{Entry, Settled, UserInput};
use crate::step::{Dispatch, ModelCall};

/// The world of a run: a model, time, and somebody to tell.
#[async_trait]
pub trait Host: Send {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// The handle by which others steer, interrupt or abort this run.
    fn control(&self) -> Control;

    /// Makes one exchange with the model. The future is dropped when the run is
    /// aborted or interrupted. Deltas are the host's own business.
    async fn call_model(&mut self, call: &ModelCall) -> Result<Reply, LlmError>;

    /// Waits before a retry. The future is dropped when the run is aborted or interrupted.
    async fn wait_until(&mut self, at: Timestamp);

    /// Hears what happens, as it happens; never cut short.
    async fn on_event(&mut self, event: Event<'_>);
}

/// What happens in a run.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// An entry was appended to the log: store it now (CHAT-02).
    Entry(&'a Entry),
    /// The model is about to be asked.
    Calling(&'a ModelCall),
    /// The attempt before failed; another follows at `until` (KERN-20).
    Retry {
        /// Number of the retry, from 1.
        attempt: u32,
        /// When it is made.
        until: Timestamp,
        /// What the attempt before failed with.
        error: &'a LlmError,
    },
    /// The reply was cut by the output limit (KERN-12).
    Truncated {
        /// Which turn, from 1.
        turn: u32,
    },
    /// A tool begins.
    ToolStarted {
        /// Which turn, from 1.
        turn: u32,
        /// The call.
        call: &'a Dispatch,
    },
    /// A call has ended, whether it was ever started or not.
    ToolSettled {
        /// Which turn, from 1.
        turn: u32,
        /// Id of the call.
        call_id: &'a str,
        /// Name of the tool.
        name: &'a str,
        /// How it ended, in full length.
        settled: &'a Settled,
    },
}

/// A handle to a running run. Clones speak to the same run.
#[derive(Clone, Debug, Default)]
pub struct Control {
    abort: CancellationToken,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    interrupted: AtomicBool,
    woken: Notify,
    queue: Mutex<Vec<UserInput>>,
}

/// What stops a step that is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// The whole run ends.
    Abort,
    /// This step alone ends.
    Interrupt,
}

impl Control {
    /// A control whose run is also aborted when `parent` is cancelled.
    pub fn under(parent: &CancellationToken) -> Self {
        Self { abort: parent.child_token(), shared: Arc::default() }
    }

    /// Queues input for the next boundary of the run (CHAT-11).
    pub fn steer(&self, input: UserInput) {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner).push(input);
    }

    /// Ends the step in flight; the run goes on with what is queued (KERN-25, KERN-27).
    pub fn interrupt(&self) {
        self.shared.interrupted.store(true, Ordering::SeqCst);
        // A permit is kept when nobody waits yet, so no interrupt is missed.
        self.shared.woken.notify_one();
    }

    /// Ends the run, at once.
    pub fn abort(&self) {
        self.abort.cancel();
    }

    /// Takes the input that no run has taken up yet.
    pub fn take_queued(&self) -> Vec<UserInput> {
        std::mem::take(&mut *self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn take_interrupt(&self) -> bool {
        self.shared.interrupted.swap(false, Ordering::SeqCst)
    }

    pub(crate) fn pending(&self) -> Option<Signal> {
        if self.abort.is_cancelled() {
            Some(Signal::Abort)
        } else if self.shared.interrupted.load(Ordering::SeqCst) {
            Some(Signal::Interrupt)
        } else {
            None
        }
    }

    pub(crate) async fn signalled(&self) -> Signal {
        loop {
            if let Some(signal) = self.pending() {
                return signal;
            }
            tokio::select! {
                () = self.abort.cancelled() => {}
                () = self.shared.woken.notified() => {}
            }
        }
    }
}
