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

/// Finds out whether [`ensure`] can do its work, and does none of it: the cache can
/// be written and Go is there.
pub fn ensure_possible() -> Result<()> {
    if Executables::find().is_ok() {
        return Ok(());
    }
    open_lock(&cache_of(&GoModule::control_plane()?)?)?;
    build::ensure_go()
}

async fn build_into_cache(module: &GoModule) -> Result<()> {
    let kept = module.folder()?;
    if is_whole(&kept) {
        return Ok(());
    }
    let _building = lock(&cache_of(module)?)?;
    // Whoever held the lock before may have built it.
    if is_whole(&kept) {
        return Ok(());
    }
    build::build(module, &kept).await
}

fn is_whole(folder: &Path) -> bool {
    CONTROL_PLANE_TOOLS.iter().all(|tool| folder.join(tool).is_file())
}

/// The folder that builds of every version are kept in.
fn cache_of(module: &GoModule) -> Result<PathBuf> {
    let kept = module.folder()?;
    let cache = kept.parent().context("the cache has no folder")?;
    fs::create_dir_all(cache).with_context(|| {
        format!("failed to create {}; set XDG_CACHE_HOME to a folder of yours", cache.display())
    })?;
    Ok(cache.to_path_buf())
}

fn open_lock(cache: &Path) -> Result<File> {
    let path = cache.join("build.lock");
    File::create(&path).with_context(|| {
        format!("failed to write {}; set XDG_CACHE_HOME to a folder of yours", path.display())
    })
}

/// Two builds at once would each take twice as long.
fn lock(cache: &Path) -> Result<File> {
    let file = open_lock(cache)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            printer::complain("control plane: another build is under way; waiting for it");
            file.lock().with_context(|| format!("failed to lock {}", cache.display()))?;
        }
        Err(TryLockError::Error(error)) => bail!("failed to lock {}: {error}", cache.display()),
    }
    Ok(file)
}
