//! The demo's data folder.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

/// Says that a folder is a demo's: `--fresh` empties no other.
const MARK: &str = "foundry-demo";

/// As much as a demo writes in its first minutes.
const ROOM: usize = 16 << 20;

/// The folder, locked against a second demo.
pub(super) struct DataFolder {
    path: PathBuf,
    _lock: File,
}

impl DataFolder {
    /// Opens the folder that is given, or the person's own.
    pub fn open(given: Option<&Path>, fresh: bool) -> Result<Self> {
        let path = match given {
            Some(path) => path.to_path_buf(),
            None => default_folder()?,
        };
        fs::create_dir_all(&path).with_context(|| {
            format!("failed to create {}; choose another with --data-dir", path.display())
        })?;
        let path = fs::canonicalize(&path)
            .with_context(|| format!("failed to find {}", path.display()))?;
        mark(&path)?;
        let lock = lock(&path)?;
        if fresh {
            empty(&path)?;
        }
        ensure_room(&path)?;
        // Logs are of this run; data is of all.
        remove_if_there(&path.join("logs"))?;
        Ok(Self { path, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn default_folder() -> Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_DATA_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".local/share")))
        .map(|data| data.join("foundry/demo"))
        .context("neither XDG_DATA_HOME nor HOME is set; pass --data-dir")
}

/// Takes an empty folder, or one that a demo has marked before.
fn mark(path: &Path) -> Result<()> {
    let mark = path.join(MARK);
    if mark.exists() {
        return Ok(());
    }
    let mut entries =
        fs::read_dir(path).with_context(|| format!("failed to read {}", path.display()))?;
    ensure!(
        entries.next().is_none(),
        "{} holds files that no demo made; choose another with --data-dir",
        path.display()
    );
    fs::write(&mark, "A demo's data; `cargo xtask demo --fresh` starts it over.\n").with_context(
        || format!("{} is not writable; choose another with --data-dir", path.display()),
    )
}

/// The lock is on the mark, which `--fresh` leaves.
fn lock(path: &Path) -> Result<File> {
    let failed = || format!("failed to lock {}", path.display());
    let file = File::open(path.join(MARK)).with_context(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => bail!(
            "another demo runs in {}; end it, or choose another folder with --data-dir",
            path.display()
        ),
        Err(TryLockError::Error(error)) => Err(error).with_context(failed),
    }
}

fn empty(path: &Path) -> Result<()> {
    for entry in fs::read_dir(path).with_context(|| format!("failed to read {}", path.display()))? {
        let entry = entry.with_context(|| format!("failed to read {}", path.display()))?;
        if entry.file_name() != MARK {
            remove_if_there(&entry.path())?;
        }
    }
    Ok(())
}

fn remove_if_there(path: &Path) -> Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    removed.with_context(|| format!("failed to remove {}", path.display()))
}

/// Better one line now than a database that stops in the middle.
fn ensure_room(path: &Path) -> Result<()> {
    let probe = path.join("room");
    let written = fs::write(&probe, vec![0; ROOM]);
    remove_if_there(&probe)?;
    written.with_context(|| {
        format!(
            "{} takes no {} MiB more; make room, or choose another folder with --data-dir",
            path.display(),
            ROOM >> 20
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &Path, fresh: bool) -> String {
        match DataFolder::open(Some(path), fresh) {
            Ok(_) => "opened".to_owned(),
            Err(error) => format!("{error:#}"),
        }
    }

    #[test]
    fn a_folder_of_somebody_elses_files_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("thesis.txt"), "years of work").unwrap();
        let refused = refusal(folder.path(), true);
        assert!(refused.contains("holds files that no demo made"), "{refused}");
        assert!(folder.path().join("thesis.txt").exists());
    }

    #[test]
    fn a_second_demo_in_the_same_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let _first = DataFolder::open(Some(folder.path()), false).unwrap();
        let refused = refusal(folder.path(), true);
        assert!(refused.starts_with("another demo runs in "), "{refused}");
    }

    #[test]
    fn a_fresh_demo_forgets_all_and_the_next_one_nothing() {
        let folder = tempfile::tempdir().unwrap();
        drop(DataFolder::open(Some(folder.path()), false).unwrap());
        fs::create_dir(folder.path().join("data")).unwrap();
        drop(DataFolder::open(Some(folder.path()), false).unwrap());
        assert!(folder.path().join("data").exists());
        drop(DataFolder::open(Some(folder.path()), true).unwrap());
        assert!(!folder.path().join("data").exists());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let refused = refusal(Path::new("/proc/no such place"), false);
        assert!(refused.starts_with("failed to create /proc/no such place; choose"), "{refused}");
    }
}
