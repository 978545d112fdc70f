//! One harness process: started, or found alive.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, VolumeMount};
use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::process::{Pid, Signal, kill_process_group};

use super::folder::Folder;
use super::leftovers;
use super::secrets::Secrets;
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
pub struct Process {
    pid: Pid,
    folder: Folder,
    origin: Origin,
}

enum Origin {
    /// Started by this operator.
    Ours(Box<dyn ChildWrapper>),
    /// Started by an earlier operator and known by its lock.
    Adopted,
}

impl Process {
    /// The process that holds the lock of this folder.
    pub fn adopted(folder: &Folder, pid: Pid) -> Self {
        Self { pid, folder: folder.clone(), origin: Origin::Adopted }
    }

    /// Its process id, which is also that of its group.
    pub fn id(&self) -> Pid {
        self.pid
    }

    /// Resolves when the process has ended; what it started and left ends with it, as
    /// everything in a container does.
    pub async fn ended(&mut self) -> Exit {
        let exit = match &mut self.origin {
            Origin::Ours(child) => child.wait().await.map_or(Exit::Unknown, Exit::from),
            Origin::Adopted => {
                while self.folder.holder().is_some() {
                    tokio::time::sleep(LOOK).await;
                }
                Exit::Unknown
            }
        };
        signal(self.pid, Signal::KILL);
        leftovers::end(self.folder.root());
        exit
    }

    /// Ends the process and all it started: asks first, kills after a while.
    pub async fn end(mut self) {
        let group = self.id();
        for (sign, patience) in [(Signal::TERM, GRACE), (Signal::KILL, KILLED_WITHIN)] {
            signal(group, sign);
            if tokio::time::timeout(patience, self.ended()).await.is_ok() {
                return;
            }
        }
        tracing::error!(pid = group.as_raw_nonzero(), "a killed process is still there");
    }
}

/// Signals a whole group; that nobody is left of it is fine.
fn signal(group: Pid, signal: Signal) {
    if let Err(error) = kill_process_group(group, signal)
        && error != rustix::io::Errno::SRCH
    {
        tracing::warn!(%error, pid = group.as_raw_nonzero(), "failed to signal a process");
    }
}

/// Starts the harness of a Pod in a session of its own.
pub fn start(
    folder: &Folder,
    container: &Container,
    secrets: &Secrets,
    config: &LocalConfig,
) -> io::Result<Process> {
    let mounts = container.volume_mounts.as_deref().unwrap_or_default();
    for mount in mounts {
        folder.prepare_mount(&mount.mount_path)?;
    }
    secrets.place(folder)?;
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
            .envs(secrets.variables().map(|(name, value)| (name, OsStr::from_bytes(value))))
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
    Ok(Process { pid, folder: folder.clone(), origin: Origin::Ours(child) })
}

/// The executable in our folder that stands for the program in the image.
fn program(container: &Container, config: &LocalConfig) -> io::Result<PathBuf> {
    let command = container.command.as_deref().unwrap_or_default().first();
    let name = command.and_then(|command| std::path::Path::new(command).file_name());
    name.map(|name| config.bin_dir.join(name))
        .ok_or_else(|| io::Error::other("the harness names no program; set spec.command"))
}

/// The container's plain environment, with paths of mounts led into their folders.
fn environment(
    folder: &Folder,
    container: &Container,
    mounts: &[VolumeMount],
) -> Vec<(String, std::ffi::OsString)> {
    container
        .env
        .iter()
        .flatten()
        .filter(|variable| variable.value_from.is_none())
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use k8s_openapi::api::core::v1::EnvVar;
    use testenv::eventually;

    use super::super::PodId;
    use super::*;

    /// Starts a process that ignores SIGTERM and says its id in `child`.
    const PARENT: &str = r#"#!/bin/sh
sh -c 'trap "" TERM; echo $$ > child.new; mv child.new child; sleep 60' &
"#;

    fn started(dir: &Path, then: &str) -> (Process, PathBuf) {
        let harness = dir.join("harness");
        std::fs::write(&harness, format!("{PARENT}{then}\n")).unwrap();
        std::fs::set_permissions(&harness, std::fs::Permissions::from_mode(0o755)).unwrap();
        let id = PodId {
            namespace: "team".to_owned(),
            name: "foundry-agent-ann-1-local".to_owned(),
            uid: "uid-1".to_owned(),
            agent: "ann".to_owned(),
        };
        let folder = Folder::new(dir, id);
        folder.prepare().unwrap();
        let config = LocalConfig {
            dir: dir.to_owned(),
            bin_dir: dir.to_owned(),
            lifeline: None,
            path: "/usr/bin:/bin".to_owned(),
        };
        let container = Container {
            command: Some(vec!["/harness".to_owned()]),
            working_dir: Some("/work".to_owned()),
            env: Some(vec![EnvVar {
                name: "HOME".to_owned(),
                value: Some("/work".to_owned()),
                value_from: None,
            }]),
            volume_mounts: Some(vec![VolumeMount {
                name: "work".to_owned(),
                mount_path: "/work".to_owned(),
                ..VolumeMount::default()
            }]),
            ..Container::default()
        };
        let process = start(&folder, &container, &Secrets::default(), &config).unwrap();
        (process, folder.mount("/work").join("child"))
    }

    async fn child(file: &Path) -> String {
        eventually("the child lives", Duration::from_secs(20), || async {
            std::fs::read_to_string(file).map(|pid| pid.trim().to_owned())
        })
        .await
    }

    async fn is_gone(pid: &str) {
        eventually("the child is gone", Duration::from_secs(20), || async {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            if stat.is_empty() || stat.contains(") Z ") { Ok(()) } else { Err(stat) }
        })
        .await;
    }

    /// OPS-01, LIFE-10
    #[tokio::test]
    async fn what_a_process_started_ends_with_it_even_when_it_ignores_the_signal() {
        let dir = tempfile::tempdir().unwrap();
        let obeys = "trap 'exit 0' TERM; while :; do sleep 0.05; done";
        let (process, file) = started(dir.path(), obeys);
        let child = child(&file).await;
        process.end().await;
        is_gone(&child).await;
    }

    /// OPS-01, LIFE-09
    #[tokio::test]
    async fn a_process_that_ends_by_itself_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let (mut process, file) =
            started(dir.path(), "until [ -e child ]; do sleep 0.05; done; exit 3");
        assert_eq!(process.ended().await, Exit::Status(3));
        is_gone(&child(&file).await).await;
    }

    /// OPS-01, LIFE-09: the commands of a coding harness are in sessions of their own.
    #[tokio::test]
    async fn a_command_in_a_session_of_its_own_ends_with_the_process_that_was_killed() {
        let dir = tempfile::tempdir().unwrap();
        let then = "until [ -e child ]; do sleep 0.05; done; rm child\n\
                    setsid sh -c 'echo $$ > child.new; mv child.new child; sleep 60' &\n\
                    while :; do sleep 0.05; done";
        let (mut process, file) = started(dir.path(), then);
        eventually("the command is in another group", Duration::from_secs(20), || async {
            let pid = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
                .map_err(|error| error.to_string())?;
            let group = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(2));
            let own = process.id().as_raw_nonzero().to_string();
            if group == Some(&own) { Err(stat) } else { Ok(()) }
        })
        .await;
        let command = child(&file).await;
        kill_process_group(process.id(), Signal::KILL).unwrap();
        assert_eq!(process.ended().await, Exit::Signal(9));
        is_gone(&command).await;
    }
}
