//! Which files the edit tools have touched, in order.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Every edit made by the tools of a task; copies share one list.
#[derive(Clone, Debug, Default)]
pub struct EditLog {
    edits: Arc<Mutex<Vec<Edit>>>,
}

/// One edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Its place in the order of edits; the first is 1.
    pub sequence: u64,
    /// The file, relative to the root of the clone.
    pub path: PathBuf,
    /// What was done to it.
    pub change: Change,
}

/// What an edit does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was not there before.
    Created,
    /// It has other content now.
    Changed,
    /// It is gone.
    Deleted,
}

impl EditLog {
    pub(crate) fn record(&self, path: &Path, change: Change) {
        let mut edits = self.lock();
        let sequence = edits.len() as u64 + 1;
        edits.push(Edit { sequence, path: path.to_owned(), change });
    }

    /// The edits that come after the one of this number; all of them after 0.
    pub fn after(&self, sequence: u64) -> Vec<Edit> {
        self.lock().iter().filter(|edit| edit.sequence > sequence).cloned().collect()
    }

    /// The number of the newest edit; 0 while there is none.
    pub fn last(&self) -> u64 {
        self.lock().len() as u64
    }

    /// The files that were touched, each once, in the order of their first edit (CODE-25).
    pub fn paths(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for edit in self.lock().iter() {
            if !paths.contains(&edit.path) {
                paths.push(edit.path.clone());
            }
        }
        paths
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Edit>> {
        // A push either happened or did not; the list is whole either way.
        self.edits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
