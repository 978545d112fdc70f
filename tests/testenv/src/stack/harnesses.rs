//! Harness processes of the local runtime, found by the locks they hold.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::within;

/// A harness process that lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Harness {
    /// Name of the Pod that records it.
    pub pod: String,
    /// Name of its Agent.
    pub agent: String,
    /// Its process id, which is also its process group.
    pub pid: u32,
    /// What it printed.
    pub log: PathBuf,
    /// Its home, where a coding harness keeps its clone.
    pub home: PathBuf,
}

impl Harness {
    /// Kills it and its process group at once.
    pub fn kill(&self) -> Result<()> {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        let pid = pid.with_context(|| format!("{} is no process id", self.pid))?;
        kill_process_group(pid, Signal::KILL)
            .with_context(|| format!("failed to kill the harness of {}", self.pod))
    }
}

/// The harnesses whose locks are held, by pod name. The local runtime keeps a
/// folder a Pod, `pods/{uid}`, with `lock` (the process id inside) and `owner`
/// (namespace, Pod and Agent, a line each).
pub(super) fn alive(local: &Path) -> Result<Vec<Harness>> {
    let pods = local.join("pods");
    if !pods.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in
        fs::read_dir(&pods).with_context(|| format!("failed to read {}", pods.display()))?
    {
        let folder = entry.context("failed to read the local runtime's folder")?.path();
        found.extend(alive_in(local, &folder));
    }
    found.sort_by(|a: &Harness, b| a.pod.cmp(&b.pod));
    Ok(found)
}

fn alive_in(local: &Path, folder: &Path) -> Option<Harness> {
    let lock = folder.join("lock");
    let held = matches!(File::open(&lock).ok()?.try_lock_shared(), Err(TryLockError::WouldBlock));
    if !held {
        return None;
    }
    let pid = fs::read_to_string(&lock).ok()?.trim().parse().ok()?;
    let owner = fs::read_to_string(folder.join("owner")).ok()?;
    let mut owner = owner.lines().map(str::to_owned);
    let (namespace, pod, agent) = (owner.next()?, owner.next()?, owner.next()?);
    let log = local.join("logs").join(namespace).join(format!("{pod}.log"));
    let home = folder.join("mounts/work");
    Some(Harness { pod, agent, pid, log, home })
}

/// Waits until no harness lives; kills those that do not end by themselves.
pub(super) async fn end(local: &Path) -> Result<()> {
    let gone = || async {
        let left = alive(local)?;
        ensure!(left.is_empty(), "{left:?} still live");
        Ok(())
    };
    if within("harnesses end", Duration::from_secs(10), gone).await.is_ok() {
        return Ok(());
    }
    for harness in alive(local)? {
        harness.kill()?;
    }
    match within("harnesses end", Duration::from_secs(5), gone).await {
        Ok(()) => Ok(()),
        Err(error) => bail!("failed to end every harness: {error:#}"),
    }
}
