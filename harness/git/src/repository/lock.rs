//! Locks that a killed git has left behind.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::sleep;

use super::Repository;
use super::clone::file;
use crate::error::GitError;

/// How often, and how far apart, the end of a killed git is waited for.
const LOOKS: u32 = 50;
const APART: Duration = Duration::from_millis(10);

impl Repository {
    /// Removes the locks of a git that was killed a moment ago and may still be ending.
    pub async fn remove_locks_of_killed(&self) -> Result<(), GitError> {
        for _ in 0..LOOKS {
            self.remove_stale_locks()?;
            if !self.locks().iter().any(|lock| lock.exists()) {
                break;
            }
            sleep(APART).await;
        }
        Ok(())
    }

    /// Removes locks that no git holds any more, and gives them. A command that was
    /// stopped by its clock may leave some, and every later commit would fail.
    pub fn remove_stale_locks(&self) -> Result<Vec<PathBuf>, GitError> {
        let mut removed = Vec::new();
        for lock in self.locks() {
            let Ok(before) = std::fs::symlink_metadata(&lock) else { continue };
            if self.is_held(&lock) {
                continue;
            }
            // Another git may have made its own since we looked.
            let same = std::fs::symlink_metadata(&lock).is_ok_and(|now| {
                (now.ino(), now.mtime_nsec()) == (before.ino(), before.mtime_nsec())
            });
            if same {
                std::fs::remove_file(&lock).map_err(|source| file("remove", &lock, source))?;
                removed.push(lock);
            }
        }
        Ok(removed)
    }

    fn locks(&self) -> Vec<PathBuf> {
        let mut locks = vec![self.git_dir.join("index.lock"), self.git_dir.join("HEAD.lock")];
        let branch = self.branch.as_ref();
        locks.extend(branch.map(|branch| self.git_dir.join(format!("{}.lock", branch.full()))));
        locks
    }

    /// Whether a process may still need the lock: one that has it open, or any git that
    /// works here. Git closes a lock before it is done with it.
    fn is_held(&self, lock: &Path) -> bool {
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        entries
            .filter(|entry| {
                entry.file_name().to_str().is_some_and(|name| name.parse::<i32>().is_ok())
            })
            .any(|entry| {
                let process = entry.path();
                has_open(&process, lock) || (is_git(&process) && self.works_here(&process))
            })
    }

    fn works_here(&self, process: &Path) -> bool {
        match std::fs::read_link(process.join("cwd")) {
            Ok(folder) => folder.starts_with(&self.root) || folder.starts_with(&self.git_dir),
            // Gone meanwhile; else somebody else's, who may work anywhere.
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        }
    }
}

fn is_git(process: &Path) -> bool {
    let name = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
    name.trim() == "git" || name.starts_with("git-")
}

fn has_open(process: &Path, file: &Path) -> bool {
    let descriptors = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    descriptors
        .into_iter()
        .any(|fd| std::fs::read_link(fd.path()).is_ok_and(|target| target == file))
}
