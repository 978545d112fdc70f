//! Where the repository is and what git tracks in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

/// Root folder of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Files that git tracks, and new files it does not ignore, relative to the root.
pub fn tracked_files() -> anyhow::Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .context("failed to run git ls-files; is git installed?")?;
    if !output.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout)
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(PathBuf::from)
        .filter(|file| root().join(file).is_file())
        .collect())
}

/// Runs a command of the repository's own tooling in the root folder, its output
/// going to the terminal.
///
/// # Errors
/// When it cannot be started or ends with a status other than 0.
pub fn run(program: &str, args: &[&str]) -> anyhow::Result<()> {
    let status = Command::new(program)
        .args(args)
        .current_dir(root())
        .status()
        .with_context(|| format!("failed to run {program}; is it installed?"))?;
    if !status.success() {
        bail!("{program} {} failed ({status})", args.join(" "));
    }
    Ok(())
}

/// Runs a command in the root folder and gives what it printed.
///
/// # Errors
/// When it cannot be started or ends with a status other than 0.
pub fn capture(program: &str, args: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program)
        .args(args)
        .current_dir(root())
        .output()
        .with_context(|| format!("failed to run {program}; is it installed?"))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        bail!("{program} {} failed ({}): {words}", args.join(" "), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("{program} printed no UTF-8"))
}
