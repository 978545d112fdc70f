//! `cargo xtask control-plane`: etcd, Kubernetes and kubectl, built from pinned Go
//! modules into the cache, once.

mod build;

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use testenv::{CONTROL_PLANE_TOOLS, Executables, GoModule};

use crate::printer;

/// Options of `cargo xtask control-plane`.
#[derive(clap::Args)]
pub struct Args {
    /// Print the folder it is kept in, and build nothing.
    #[arg(long)]
    path: bool,
}

/// Builds what is missing and prints where it is; it serves as
/// `KUBEBUILDER_ASSETS` for other tools too.
pub fn run(args: &Args) -> Result<()> {
    let module = GoModule::control_plane()?;
    if !args.path {
        crate::runtime()?.block_on(build_into_cache(&module))?;
    }
    printer::say(&module.folder()?.display().to_string());
    Ok(())
}

/// Makes sure that a control plane can start: nothing to do when
/// `KUBEBUILDER_ASSETS` or the cache has every part of it.
pub async fn ensure() -> Result<()> {
    if Executables::find().is_ok() {
        return Ok(());
    }
    build_into_cache(&GoModule::control_plane()?).await?;
    Executables::find().map(drop)
}

async fn build_into_cache(module: &GoModule) -> Result<()> {
    let kept = module.folder()?;
    if is_whole(&kept) {
        return Ok(());
    }
    let parent = kept.parent().context("the cache has no folder")?;
    fs::create_dir_all(parent)
        .with_context(|| format!("failed to create {}; is it writable?", parent.display()))?;
    let _building = lock(parent)?;
    // Whoever held the lock before may have built it.
    if is_whole(&kept) {
        return Ok(());
    }
    build::build(module, &kept).await
}

fn is_whole(folder: &Path) -> bool {
    CONTROL_PLANE_TOOLS.iter().all(|tool| folder.join(tool).is_file())
}

/// Two builds at once would each take twice as long.
fn lock(folder: &Path) -> Result<File> {
    let path: PathBuf = folder.join("build.lock");
    let file = File::create(&path).with_context(|| format!("failed to open {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            printer::complain("control plane: another build is under way; waiting for it");
            file.lock().with_context(|| format!("failed to lock {}", path.display()))?;
        }
        Err(TryLockError::Error(error)) => {
            bail!("failed to lock {}: {error}", path.display());
        }
    }
    Ok(file)
}
