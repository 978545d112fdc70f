//! Whether a reconcile wrote: a pass that only looks costs another time.

use std::cell::Cell;
use std::future::Future;

tokio::task_local! {
    static HAS_WRITTEN: Cell<bool>;
}

/// What a reconcile did beside looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// It asked the cluster to change something.
    Writing,
    /// It found everything as it should be.
    Idle,
}

impl Pass {
    /// Runs a reconcile and says which it was.
    pub async fn of<F: Future>(reconcile: F) -> (F::Output, Self) {
        let watched = async {
            let outcome = reconcile.await;
            (outcome, if HAS_WRITTEN.get().get() { Self::Writing } else { Self::Idle })
        };
        HAS_WRITTEN.scope(Cell::new(false), watched).await
    }

    /// Notes a write of the reconcile that this is called in, if it is in one.
    pub fn note_write() {
        HAS_WRITTEN.try_with(|has_written| has_written.set(true)).ok();
    }

    /// The word in the metric's label.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Writing => "writing",
            Self::Idle => "idle",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reconcile_is_a_writing_pass_when_it_wrote_and_others_at_once_are_not() {
        let writes = Pass::of(async {
            tokio::task::yield_now().await;
            Pass::note_write();
        });
        let (((), one), ((), other)) = tokio::join!(writes, Pass::of(tokio::task::yield_now()));
        assert_eq!((one, other), (Pass::Writing, Pass::Idle));
        Pass::note_write();
    }
}
