//! What is built from pinned Go modules into the cache, once.

mod build;

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use testenv::GoModule;

use crate::printer;

pub use build::ask;

/// A module of ours, and how what it holds becomes executables.
pub struct Product {
    /// What it is to a person: `control plane`.
    pub name: &'static str,
    /// What is compiled: `Kubernetes and etcd`.
    pub contents: &'static str,
    /// What a person does who has no Go.
    pub without_go: &'static str,
    /// The files that make it whole.
    pub executables: &'static [&'static str],
    /// The Go package to build.
    pub package: &'static str,
    /// The file that the build writes.
    pub output: &'static str,
    /// `-ldflags`, for this version.
    pub flags: fn(version: &str) -> Result<String>,
    /// What is done with the built file before it is kept: links, a first question.
    pub finish: fn(folder: &Path, version: &str) -> Result<()>,
    /// The module it comes from.
    pub module: GoModule,
}

impl Product {
    /// Builds what is missing.
    pub async fn ensure(&self) -> Result<()> {
        let kept = self.module.folder()?;
        if self.is_whole(&kept) {
            return Ok(());
        }
        let _building = self.lock()?;
        // Whoever held the lock before may have built it.
        if self.is_whole(&kept) {
            return Ok(());
        }
        build::build(self, &kept).await
    }

    /// Finds out whether [`ensure`](Self::ensure) can do its work, and does none of it: the
    /// cache can be written and Go is there.
    pub fn ensure_possible(&self) -> Result<()> {
        open_lock(&self.shelf()?)?;
        build::ensure_go(self)
    }

    fn is_whole(&self, folder: &Path) -> bool {
        self.executables.iter().all(|tool| folder.join(tool).exists())
    }

    /// The folder that builds of every version are kept in.
    fn shelf(&self) -> Result<PathBuf> {
        let kept = self.module.folder()?;
        let folder = kept.parent().context("the cache has no folder")?;
        fs::create_dir_all(folder).with_context(|| {
            format!(
                "failed to create {}; set XDG_CACHE_HOME to a folder of yours",
                folder.display()
            )
        })?;
        Ok(folder.to_path_buf())
    }

    /// Two builds at once would each take twice as long.
    fn lock(&self) -> Result<File> {
        let place = self.shelf()?;
        let file = open_lock(&place)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let waiting = format!("{}: another build is under way; waiting for it", self.name);
                printer::complain(&waiting);
                file.lock().with_context(|| format!("failed to lock {}", place.display()))?;
            }
            Err(TryLockError::Error(error)) => bail!("failed to lock {}: {error}", place.display()),
        }
        Ok(file)
    }
}

fn open_lock(shelf: &Path) -> Result<File> {
    let path = shelf.join("build.lock");
    File::create(&path).with_context(|| {
        format!("failed to write {}; set XDG_CACHE_HOME to a folder of yours", path.display())
    })
}
