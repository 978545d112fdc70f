//! Folders of runs. A folder lives as long as its run, and stays after it so that
//! its logs can be read; the next run takes away those whose runs have ended.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result};

use crate::{random, settings};

const ALIVE: &str = "alive.lock";

/// The folder of a run that is going on, proven by a lock on a file in it.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    _alive: File,
}

impl RunFolder {
    /// Makes a new folder, and removes those of runs that ended.
    pub fn create() -> Result<Self> {
        let runs = std::env::temp_dir()
            .join(format!("foundry-runs-{}", rustix::process::getuid().as_raw()));
        open_to_all(&runs)?;
        let making =
            File::create(runs.join("making.lock")).context("failed to open making.lock")?;
        making.lock().context("failed to lock making.lock")?;
        sweep(&runs)?;

        let path = runs.join(format!("{}-{}", std::process::id(), random::hex::<3>()?));
        open_to_all(&path)?;
        let alive = File::create(path.join(ALIVE)).context("failed to open alive.lock")?;
        alive.lock().context("failed to lock alive.lock")?;
        Ok(Self { path, _alive: alive })
    }

    /// The folder of this process, made when it is first asked for.
    pub(crate) fn of_this_process() -> Result<&'static Self> {
        static MINE: Mutex<Option<&'static RunFolder>> = Mutex::new(None);
        let mut mine = MINE.lock().ok().context("making the run's folder failed before")?;
        if let Some(folder) = *mine {
            return Ok(folder);
        }
        // Kept to the end of the process, as its lock must be.
        let folder: &'static Self = Box::leak(Box::new(Self::create()?));
        *mine = Some(folder);
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn sweep(runs: &Path) -> Result<()> {
    for entry in fs::read_dir(runs).with_context(|| format!("failed to read {}", runs.display()))? {
        let path = entry.context("failed to read a run's folder")?.path();
        if path.is_dir() && has_ended(&path) {
            fs::remove_dir_all(&path)
                .with_context(|| format!("failed to remove {}", path.display()))?;
        }
    }
    Ok(())
}

fn has_ended(run: &Path) -> bool {
    File::open(run.join(ALIVE)).map_or(true, |lock| lock.try_lock().is_ok())
}

/// PostgreSQL runs as another user when the run is root's, so that user must be
/// able to walk to its data.
fn open_to_all(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("failed to create {}", folder.display()))?;
    fs::set_permissions(folder, Permissions::from_mode(0o755))
        .with_context(|| format!("failed to open {} for reading", folder.display()))
}

/// A new folder inside this run's folder, which stays to be read when a test fails.
pub fn scratch(prefix: &str) -> Result<PathBuf> {
    let run = match settings::run_folder() {
        Some(shared) => shared,
        None => RunFolder::of_this_process()?.path().to_path_buf(),
    };
    let folder = run.join(format!("{prefix} {}", random::hex::<3>()?));
    fs::create_dir_all(&folder)
        .with_context(|| format!("failed to create {}", folder.display()))?;
    Ok(folder)
}
