//! A gate holds a reply until the test lets it go.

use std::sync::Arc;

use tokio::sync::watch;

/// Holds a reply at one point. Clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate(Arc<State>);

#[derive(Debug)]
struct State {
    open: watch::Sender<bool>,
    reached: watch::Sender<bool>,
}

impl Default for Gate {
    fn default() -> Self {
        Self(Arc::new(State {
            open: watch::Sender::new(false),
            reached: watch::Sender::new(false),
        }))
    }
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets go of everything held, and of all that comes later.
    pub fn open(&self) {
        self.0.open.send_replace(true);
    }

    /// Waits until a reply stands before this gate.
    pub async fn reached(&self) {
        wait(&self.0.reached).await;
    }

    /// Waits until the gate opens.
    pub(super) async fn pass(&self) {
        self.0.reached.send_replace(true);
        wait(&self.0.open).await;
    }
}

async fn wait(flag: &watch::Sender<bool>) {
    let mut flag = flag.subscribe();
    // The sender lives as long as we borrow it: the wait ends only by the flag.
    if flag.wait_for(|up| *up).await.is_err() {
        std::future::pending::<()>().await;
    }
}
