//! Executables of this workspace, as processes that tests start.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::fail::or_fail;
use crate::settings;

/// The executable of this name, built beside the running test.
#[track_caller]
pub fn bin(name: &str) -> PathBuf {
    or_fail(find(name))
}

fn find(name: &str) -> Result<PathBuf> {
    let path = folder()?.join(name);
    ensure!(
        path.is_file(),
        "{} is missing; build it with `cargo build --workspace`",
        path.display()
    );
    Ok(path)
}

/// The folder with this build's executables: `FOUNDRY_BIN_DIR`, or the folder of
/// the running executable, which for a test lies one level down, in `deps`.
pub fn folder() -> Result<PathBuf> {
    if let Some(folder) = settings::given_bin_folder() {
        return Ok(folder);
    }
    let me = std::env::current_exe().context("failed to find the running executable")?;
    let folder = me.parent().context("the running executable has no folder")?;
    let folder = if folder.ends_with("deps") { folder.parent().unwrap_or(folder) } else { folder };
    Ok(folder.to_path_buf())
}
