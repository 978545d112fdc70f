//! What was measured with: figures of other versions, or of a busy machine, are others.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use testenv::{Executables, find_kwok};

/// The version of each executable, and the load of the machine when the bench began.
pub fn read() -> Result<BTreeMap<&'static str, String>> {
    let Executables { etcd, apiserver, controller_manager: _, kubectl: _ } = Executables::find()?;
    let load = std::fs::read_to_string("/proc/loadavg").context("failed to read /proc/loadavg")?;
    Ok(BTreeMap::from([
        ("etcd", ask(&etcd)?),
        ("kubernetes", ask(&apiserver)?),
        ("kwok", ask(&find_kwok()?)?),
        ("load before", load.split_whitespace().take(3).collect::<Vec<_>>().join(" ")),
    ]))
}

/// The word of the first line that is a version.
fn ask(executable: &Path) -> Result<String> {
    let output = Command::new(executable)
        .arg("--version")
        .output()
        .with_context(|| format!("failed to run {}", executable.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let is_version =
        |word: &&str| word.trim_start_matches('v').starts_with(|it: char| it.is_ascii_digit());
    let version = text.split_whitespace().find(is_version);
    let version = version.with_context(|| format!("{} names no version", executable.display()))?;
    Ok(version.to_owned())
}
