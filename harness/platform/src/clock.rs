//! The time of day, injected.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

/// Tells the time. A process makes one in `main`; tests bind it to paused time.
#[derive(Clone)]
pub struct Clock {
    tell: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Clock {
    /// A clock that asks `tell` each time.
    pub fn new(tell: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { tell: Arc::new(tell) }
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        (self.tell)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
