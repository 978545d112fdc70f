//! The lock a local harness holds for its life: who finds it held knows that the
//! process lives, and which one it is (OPS-01).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

/// Tries for the lock. Who only looks whether we live holds it for a moment.
const TRIES: u32 = 40;
/// Between two tries.
const APART: Duration = Duration::from_millis(50);

/// Held until dropped.
#[derive(Debug)]
pub struct Lock {
    /// The lock goes with this descriptor.
    _file: File,
}

/// Why the lock could not be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds it.
    #[error("lock file {} is held by another harness: end that one first", path.display())]
    Held {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be used.
    #[error("failed to lock file {}; check FOUNDRY_LOCK_FILE", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Takes the lock and writes this process's id into the file.
pub fn hold(path: &Path) -> Result<Lock, LockError> {
    let unusable = |source| LockError::Unusable { path: path.to_owned(), source };
    let mut file = OpenOptions::new()
        .create(true)
        .write(true)
        // Not before the lock is ours: the id inside may be its holder's.
        .truncate(false)
        .open(path)
        .map_err(unusable)?;
    if !take(&file, TRIES).map_err(unusable)? {
        return Err(LockError::Held { path: path.to_owned() });
    }
    file.set_len(0)
        .and_then(|()| writeln!(file, "{}", std::process::id()))
        .and_then(|()| file.sync_data())
        .map_err(unusable)?;
    Ok(Lock { _file: file })
}

/// Whether the lock was free within so many tries.
fn take(file: &File, tries: u32) -> io::Result<bool> {
    for _ in 1..tries {
        if try_take(file)? {
            return Ok(true);
        }
        std::thread::sleep(APART);
    }
    try_take(file)
}

fn try_take(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("foundry-harness-{}-{name}", std::process::id()))
    }

    /// OPS-01
    #[test]
    fn the_lock_holds_the_process_id_and_a_second_holder_is_refused() {
        let path = path("lock");
        std::fs::write(&path, "4294967295 and more\n").unwrap();
        let lock = hold(&path).unwrap();
        let inside = std::fs::read_to_string(&path).unwrap();
        assert_eq!(inside.trim(), std::process::id().to_string());
        assert!(matches!(hold(&path), Err(LockError::Held { .. })));
        drop(lock);
        assert!(hold(&path).is_ok(), "free again once its holder is gone");
        std::fs::remove_file(path).unwrap();
    }

    /// OPS-01
    #[test]
    fn a_look_at_the_lock_does_not_keep_its_holder_out() {
        let path = path("look");
        let observer = File::create(&path).unwrap();
        flock(&observer, FlockOperation::NonBlockingLockShared).unwrap();
        let holder = std::thread::spawn({
            let path = path.clone();
            move || hold(&path).map(drop)
        });
        drop(observer);
        holder.join().unwrap().unwrap();
        std::fs::remove_file(path).unwrap();
    }

    /// OPS-01
    #[test]
    fn a_lock_file_in_a_missing_folder_says_so() {
        let error = hold(&path("missing").join("lock")).unwrap_err().to_string();
        assert!(error.starts_with("failed to lock file"), "{error}");
    }
}
