//! The lifeline of a local run: a file that the run's owner keeps locked. When the
//! owner is gone, however it went, the lock is free and the harness ends.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use tokio_util::sync::CancellationToken;

/// How long the process may take to end well before it is ended.
const GRACE: Duration = Duration::from_secs(5);
/// The thread only waits in one system call.
const STACK: usize = 64 * 1024;

/// Why there is no lifeline to hold on to.
#[derive(Debug, thiserror::Error)]
#[error("failed to hold on to lifeline {}; check FOUNDRY_LIFELINE", path.display())]
pub struct LifelineError {
    path: PathBuf,
    source: io::Error,
}

/// Watches the lifeline from a thread of its own; cancels `stop` when it breaks and
/// ends the process if that takes too long.
pub fn watch(path: &Path, stop: CancellationToken) -> Result<(), LifelineError> {
    let failed = |source| LifelineError { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    std::thread::Builder::new()
        .name("lifeline".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            wait_until_free(&file);
            stop.cancel();
            std::thread::sleep(GRACE);
            // Nobody is left to wait for us.
            std::process::exit(0);
        })
        .map_err(failed)?;
    Ok(())
}

/// Returns when nobody holds the exclusive lock.
fn wait_until_free(file: &File) {
    // Any error but an interruption means that the file is no lifeline any more.
    while flock(file, FlockOperation::LockShared) == Err(rustix::io::Errno::INTR) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OPS-01
    #[test]
    fn the_wait_ends_when_the_owner_lets_go() {
        let path = std::env::temp_dir().join(format!("foundry-lifeline-{}", std::process::id()));
        let owner = File::create(&path).unwrap();
        flock(&owner, FlockOperation::NonBlockingLockExclusive).unwrap();
        let file = File::open(&path).unwrap();
        let waiting = std::thread::spawn(move || wait_until_free(&file));
        assert!(!waiting.is_finished());
        drop(owner);
        waiting.join().unwrap();
        std::fs::remove_file(path).unwrap();
    }

    /// OPS-01
    #[test]
    fn a_missing_lifeline_says_so() {
        let path = Path::new("/nonexistent/lifeline");
        let error = watch(path, CancellationToken::new()).unwrap_err().to_string();
        assert!(error.starts_with("failed to hold on to lifeline /nonexistent"), "{error}");
    }
}
