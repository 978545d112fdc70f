//! The reference server of the Model Context Protocol, in JavaScript, as npm has it.

use std::fs::{self, File};
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

use crate::fail::or_fail;
use crate::{cache_folder, npm};

/// The package and the version that is tested against.
const PACKAGE: &str = "@modelcontextprotocol/server-everything";
const VERSION: &str = "2026.8.31";

/// The program of `server-everything`, from the cache or from npm; `node` runs it, with
/// `stdio` or `streamableHttp` as its argument.
pub async fn server_everything() -> PathBuf {
    or_fail(program().await)
}

async fn program() -> Result<PathBuf> {
    let folder = cache_folder()?.join("mcp");
    let done = folder.join(format!("server-everything-{VERSION}"));
    let program = done.join("node_modules").join(PACKAGE).join("dist/index.js");
    fs::create_dir_all(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
    // Two suites at once: one fetches, the other waits.
    let lock = File::create(folder.join("making.lock")).context("failed to open making.lock")?;
    let locked = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock)).await?;
    let _lock = locked.context("failed to lock making.lock")?;
    if !program.is_file() {
        let half = tempfile::Builder::new().prefix("half-").tempdir_in(&folder)?;
        npm::install(PACKAGE, VERSION, half.path()).await?;
        fs::rename(half.keep(), &done).context("failed to put the package in its place")?;
    }
    ensure!(program.is_file(), "{PACKAGE} {VERSION} has no {}", program.display());
    Ok(program)
}
