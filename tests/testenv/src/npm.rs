//! Packages of npm, for the parts of the suites that are programs of others.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::process::Process;

/// npm on a machine that has nothing in its cache.
const INSTALLED: Duration = Duration::from_mins(10);

/// Installs one version of a package into `folder`, below `node_modules`. No script of the
/// package runs.
pub(crate) async fn install(package: &str, version: &str, folder: &Path) -> Result<()> {
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]);
    npm.arg(folder).arg(format!("{package}@{version}"));
    let mut npm = Process::spawn("npm", &npm, &folder.join("npm.log"))?;
    let status = npm.finish(INSTALLED).await?;
    ensure!(status.success(), "npm could not install {package} ({status}): {}", npm.last_words());
    Ok(())
}
