//! The one place that reads the wall clock.

use std::fmt;
use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;

/// Gives the time; tests give their own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the binary's one clock")]
        Self(Arc::new(Timestamp::now))
    }

    /// A clock that says what `read` says.
    pub fn from_fn(read: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Clock")
    }
}
