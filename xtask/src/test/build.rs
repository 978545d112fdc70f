//! One cargo call that builds every executable and every suite.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use super::Args;
use super::suite::Suite;
use crate::repository;

/// What the build gave.
pub(super) struct Tests {
    /// Every suite, in the order cargo names them.
    pub suites: Vec<Suite>,
}

/// Builds all targets at once: executables and suites share one set of features,
/// so that nothing is compiled twice.
pub(super) async fn tests(args: &Args) -> Result<Tests> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--workspace", "--all-targets"]);
    cargo.args(["--message-format", "json-render-diagnostics"]);
    cargo.current_dir(repository::root()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut cargo = cargo.spawn().context("failed to run cargo")?;
    let output = cargo.stdout.take().context("cargo has no output")?;
    let mut lines = BufReader::new(output).lines();
    let mut suites = Vec::new();
    while let Some(line) = lines.next_line().await.context("failed to read cargo's output")? {
        if let Some(suite) = suite_of(&line) {
            suites.push(suite);
        }
    }
    let status = cargo.wait().await.context("failed to await cargo")?;
    ensure!(status.success(), "the workspace does not build ({status})");
    suites.retain(|suite| args.wants(&suite.package));
    suites.sort();
    Ok(Tests { suites })
}

#[derive(Deserialize)]
struct Artifact {
    reason: String,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

fn suite_of(line: &str) -> Option<Suite> {
    let artifact: Artifact = serde_json::from_str(line).ok()?;
    if artifact.reason != "compiler-artifact" || !artifact.profile?.test {
        return None;
    }
    let target = artifact.target?;
    let folder = artifact.manifest_path?.parent()?.to_path_buf();
    let package = folder.strip_prefix(repository::root()).ok()?.display().to_string();
    Some(Suite {
        package: package_name(&folder).unwrap_or(package),
        target: target.name,
        integration: target.kind.iter().any(|kind| kind == "test"),
        folder,
        executable: artifact.executable?,
    })
}

/// Folder and package have different names; people know the package's.
fn package_name(folder: &std::path::Path) -> Option<String> {
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = "))?;
    Some(name.trim_matches('"').to_owned())
}
