//! Objects to look at again because of another one that a cache now shows.
//!
//! A name that waits is kept once, however often it is woken: there are never more than
//! there are objects.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use futures::{Stream, stream};
use tokio::sync::Notify;

/// Names of objects to look at again.
#[derive(Debug, Default)]
pub struct Wakes {
    names: Mutex<BTreeSet<String>>,
    changed: Notify,
}

impl Wakes {
    /// Asks for a look at these objects.
    pub fn wake(&self, names: impl IntoIterator<Item = String>) {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).extend(names);
        self.changed.notify_one();
    }

    /// The names, as they are woken; for one reader.
    pub fn stream(self: Arc<Self>) -> impl Stream<Item = String> + Send {
        stream::unfold(self, |wakes| async move {
            let name = wakes.next().await;
            Some((name, wakes))
        })
    }

    async fn next(&self) -> String {
        loop {
            let first = self.names.lock().unwrap_or_else(PoisonError::into_inner).pop_first();
            match first {
                Some(name) => return name,
                None => self.changed.notified().await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;

    use super::*;

    #[tokio::test]
    async fn what_is_woken_twice_before_it_is_read_is_read_once() {
        let wakes = Arc::new(Wakes::default());
        wakes.wake(["b".to_owned(), "a".to_owned()]);
        wakes.wake(["a".to_owned()]);
        let mut stream = Box::pin(Arc::clone(&wakes).stream());
        assert_eq!(stream.next().await.as_deref(), Some("a"));
        assert_eq!(stream.next().await.as_deref(), Some("b"));
        assert_eq!(futures::poll!(stream.next()), std::task::Poll::Pending);
        wakes.wake(["c".to_owned()]);
        assert_eq!(stream.next().await.as_deref(), Some("c"));
    }
}
