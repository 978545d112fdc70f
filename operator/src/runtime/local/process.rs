//! One harness process: started, or found alive.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, VolumeMount};
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::process::{Pid, Signal, kill_process_group};

use super::folder::Folder;
use crate::config::LocalConfig;

/// How often the lock of a process that is not our child is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// How long a process may take from SIGTERM to its end.
const GRACE: Duration = Duration::from_secs(20);
/// How long a killed process may take to be gone.
const KILLED_WITHIN: Duration = Duration::from_secs(5);

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// With this exit status.
    Status(i32),
    /// By this signal.
    Signal(i32),
    /// Out of our sight.
    Unknown,
}

impl Exit {
    /// Whether it ended well.
    pub fn is_success(self) -> bool {
        self == Self::Status(0)
    }

    /// The exit code as a kubelet would report it.
    pub fn code(self) -> i32 {
        match self {
            Self::Status(code) => code,
            Self::Signal(signal) => 128 + signal,
            Self::Unknown => 255,
        }
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Status(code) => write!(out, "ended with exit status {code}"),
            Self::Signal(signal) => write!(out, "was ended by signal {signal}"),
            Self::Unknown => write!(out, "ended while no operator was looking"),
        }
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Status(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Unknown,
        }
    }
}

/// A harness process that lives, or did a moment ago.
pub enum Process {
    /// Started by this operator.
    Child(Box<dyn ChildWrapper>, Pid),
    /// Started by an earlier operator and known by its lock.
    Adopted(Folder, Pid),
}

impl Process {
    /// Its process id, which is also that of its group.
    pub fn id(&self) -> Pid {
        match self {
            Self::Child(_, pid) | Self::Adopted(_, pid) => *pid,
        }
    }

    /// Resolves when the process has ended.
    pub async fn ended(&mut self) -> Exit {
        match self {
            Self::Child(child, _) => child.wait().await.map_or(Exit::Unknown, Exit::from),
            Self::Adopted(folder, _) => {
                while folder.holder().is_some() {
                    tokio::time::sleep(LOOK).await;
                }
                Exit::Unknown
            }
        }
    }

    /// Ends the process and all it started: asks first, kills after a while.
    pub async fn end(mut self) {
        let group = self.id();
        for (signal, patience) in [(Signal::TERM, GRACE), (Signal::KILL, KILLED_WITHIN)] {
            if let Err(error) = kill_process_group(group, signal)
                && error != rustix::io::Errno::SRCH
            {
                tracing::warn!(%error, pid = group.as_raw_nonzero(), "failed to signal a process");
            }
            if tokio::time::timeout(patience, self.ended()).await.is_ok() {
                return;
            }
        }
        tracing::error!(pid = group.as_raw_nonzero(), "a killed process is still there");
    }
}

/// Starts the harness of a Pod in a session of its own.
pub fn start(folder: &Folder, container: &Container, config: &LocalConfig) -> io::Result<Process> {
    let mounts = container.volume_mounts.as_deref().unwrap_or_default();
    for mount in mounts {
        folder.prepare_mount(&mount.mount_path)?;
    }
    // The last life's process id must not be taken for this one's.
    std::fs::write(folder.lock(), "")?;
    let log = folder.open_log()?;
    let errors = log.try_clone()?;
    let program = program(container, config)?;
    let arguments =
        container.command.iter().flatten().skip(1).chain(container.args.iter().flatten());
    let mut command = CommandWrap::with_new(&program, |command| {
        command
            .args(arguments)
            // Nothing of the operator's own environment: it names its credentials.
            .env_clear()
            .env("PATH", &config.path)
            .envs(environment(folder, container, mounts))
            .env("FOUNDRY_LOCK_FILE", folder.lock())
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors);
        if let Some(lifeline) = &config.lifeline {
            command.env("FOUNDRY_LIFELINE", lifeline);
        }
        if let Some(work) = &container.working_dir {
            command.current_dir(folder.mount(work));
        }
    });
    command.wrap(ProcessSession);
    let child = command.spawn().map_err(|error| {
        io::Error::new(error.kind(), format!("failed to start {}: {error}", program.display()))
    })?;
    let pid = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("the process ended before it had an id"))?;
    Ok(Process::Child(child, pid))
}

/// The executable in our folder that stands for the program in the image.
fn program(container: &Container, config: &LocalConfig) -> io::Result<PathBuf> {
    let command = container.command.as_deref().unwrap_or_default().first();
    let name = command.and_then(|command| std::path::Path::new(command).file_name());
    name.map(|name| config.bin_dir.join(name))
        .ok_or_else(|| io::Error::other("the harness names no program; set spec.command"))
}

/// The container's environment, with paths of mounts led into their folders.
fn environment(
    folder: &Folder,
    container: &Container,
    mounts: &[VolumeMount],
) -> Vec<(String, std::ffi::OsString)> {
    container
        .env
        .iter()
        .flatten()
        .map(|variable| {
            let value = variable.value.clone().unwrap_or_default();
            let mount = mounts.iter().find(|mount| {
                value
                    .strip_prefix(&mount.mount_path)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            });
            let value = match mount {
                Some(_) => folder.mount(&value).into_os_string(),
                None => value.into(),
            };
            (variable.name.clone(), value)
        })
        .collect()
}
