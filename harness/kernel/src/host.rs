//! What a run needs of the world, injected.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use foundry_llm::{LlmError, Reply};
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::entry::{Entry, Settled, UserInput};
use crate::policy::fit::Stage;
pub(crate) use crate::policy::interrupt::Signal;
use crate::policy::permit::Mode;
use crate::step::{Dispatch, ModelCall};

/// The world of a run: a model, time, and somebody to tell.
#[async_trait]
pub trait Host: Send {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// The handle by which others steer, interrupt or abort this run.
    fn control(&self) -> Control;

    /// Makes one exchange with the model: a stream or a one-shot completion, as the
    /// call's purpose says (KERN-04). The future is dropped when the run is aborted or
    /// interrupted, and always before a tool begins. Deltas are the host's own business.
    async fn call_model(&mut self, call: &ModelCall) -> Result<Reply, LlmError>;

    /// Waits before a retry. The future is dropped when the run is aborted or interrupted.
    async fn wait_until(&mut self, at: Timestamp);

    /// Asks a person whether this call may be made, where the run's mode wants that. The
    /// future is dropped when the run is aborted or interrupted, and always before the
    /// call begins.
    async fn permit(&mut self, _call: &Dispatch) -> Permission {
        Permission::Allowed
    }

    /// Hears what happens, as it happens; never cut short.
    async fn on_event(&mut self, event: Event<'_>);
}

/// What became of an ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// The call is made.
    Allowed,
    /// It is not, for this reason; that is its result, and the turn goes on (CHAT-21).
    Denied(String),
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
    /// The model failed for good, and the fallback model takes over (KERN-42).
    Fallback {
        /// The model that failed.
        from: &'a str,
        /// The model that is asked from now on.
        to: &'a str,
        /// What the model before failed with last.
        error: &'a LlmError,
    },
    /// Older parts of the conversation are shown to the model in fewer words from now on
    /// (KERN-05). The entry that says so was told just before.
    Compacted {
        /// How.
        stage: Stage,
        /// Estimated tokens of the conversation before.
        before_tokens: u64,
        /// Estimated tokens of it now.
        after_tokens: u64,
    },
    /// How full the model's window is; told at each change and not otherwise (CODE-40).
    Context {
        /// Of the window, system prompt and tools included.
        percent: u8,
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
    mode: Mutex<Option<Mode>>,
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

    /// Changes the mode of the run, from its next ask on (CHAT-19).
    pub fn set_mode(&self, mode: Mode) {
        *self.shared.mode.lock().unwrap_or_else(PoisonError::into_inner) = Some(mode);
    }

    /// The mode that was set here, if one was.
    pub(crate) fn mode(&self) -> Option<Mode> {
        *self.shared.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A control for what one step starts, and the guard with which that ends: it is
    /// aborted with this run, and when the guard is dropped.
    pub(crate) fn of_step(&self) -> (Self, DropGuard) {
        let step = self.abort.child_token();
        (Self { abort: step.clone(), shared: Arc::default() }, step.drop_guard())
    }

    /// A control for one call of this step: what steers or ends it leaves the others alone.
    pub(crate) fn of_call(&self) -> Self {
        Self::under(&self.abort)
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
