//! Starting a command, watching over it, and its end.

use std::ffi::OsStr;
use std::io::{self, PipeWriter};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

use super::capture::{Captured, pump, receiver};
use super::children::Session;
use super::command::Command;
use super::confine::{Confinement, Denied};
use super::environment::Environment;
use super::output::{Collector, Output, OutputLimits};
use super::path;
use crate::error::Class;
use crate::git::{GitConfiguration, fixed_environment};

/// How long output is waited for once the command itself has ended: what it left running
/// may hold the pipe for ever.
const DRAIN: Duration = Duration::from_millis(200);

/// Bytes of stderr that a call of ours keeps.
const STDERR: usize = 32 * 1024;

/// What a [`Runner`] is made of.
#[derive(Clone, Debug)]
pub struct RunnerSettings {
    /// What every command sees.
    pub environment: Environment,
    /// Folder for outputs too long to keep; made when first needed.
    pub outputs: PathBuf,
    /// How much of an output is kept.
    pub limits: OutputLimits,
    /// Folders that commands of a model must not read: those of keys and tokens.
    pub denied: Vec<PathBuf>,
    /// Whose git configuration counts, in our calls of git and in a model's.
    pub git_configuration: GitConfiguration,
}

/// Runs commands. Clones share everything.
///
/// Each command leads a session of its own. When it ends, is stopped by its clock, or
/// its future is dropped, whatever is left of the session is killed.
#[derive(Clone, Debug)]
pub struct Runner {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    environment: Environment,
    outputs: PathBuf,
    limits: OutputLimits,
    denied: Denied,
    confinement: Confinement,
    git_configuration: GitConfiguration,
    commands: AtomicU64,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
    /// By its clock.
    TimedOut,
}

impl Exit {
    /// Whether it ended by itself with status 0.
    pub const fn passed(self) -> bool {
        matches!(self, Self::Status(0))
    }

    fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Status(code),
            (None, Some(signal)) => Self::Signal(signal),
            // Neither: nothing that Linux reports of an ended process.
            (None, None) => Self::Status(-1),
        }
    }
}

/// A command that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How.
    pub exit: Exit,
    /// What it wrote to stdout and stderr, in the order in which it came.
    pub output: Output,
    /// How long it took.
    pub duration: Duration,
}

/// Why a command could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no such program.
    #[error("failed to find program {program}: it is in no folder of PATH")]
    NotFound {
        /// The program.
        program: String,
    },
    /// There is no such folder to run in.
    #[error("failed to run {program}: {} is no folder", folder.display())]
    NoFolder {
        /// The program.
        program: String,
        /// The folder.
        folder: PathBuf,
    },
    /// The system would not start it.
    #[error("failed to start {program}")]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// The system lost sight of it.
    #[error("failed to wait for {program}")]
    Wait {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// Its output was too long to keep and could not be written to a file either.
    #[error("failed to write output to {}", path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It could not be kept out of the denied folders, so it was not started.
    #[error("failed to confine {program}: {reason}")]
    Confine {
        /// The program.
        program: String,
        /// What the kernel said.
        reason: String,
    },
    /// A folder that commands must not read is not there.
    #[error("failed to deny folder {}: it must exist", folder.display())]
    Denied {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl RunError {
    /// What can be done about it.
    pub fn class(&self) -> Class {
        match self {
            Self::NotFound { .. }
            | Self::NoFolder { .. }
            | Self::Output { .. }
            | Self::Confine { .. }
            | Self::Denied { .. } => Class::Refused,
            Self::Start { source, .. } => match source.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => Class::Transient,
                _ => Class::Refused,
            },
            Self::Wait { .. } => Class::Bug,
        }
    }

    /// One stable word for logs, metrics and conditions.
    pub fn category(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "ProgramNotFound",
            Self::NoFolder { .. } => "FolderNotFound",
            Self::Start { .. } => "StartFailed",
            Self::Wait { .. } => "WaitFailed",
            Self::Output { .. } => "OutputFailed",
            Self::Confine { .. } => "ConfineFailed",
            Self::Denied { .. } => "DeniedFolderMissing",
        }
    }
}

/// What a process may read and see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Neither keys nor tokens.
    Confined,
    /// All that we may: for our own calls to a remote.
    Own,
}

impl Runner {
    /// A runner; finds out what the kernel can keep commands out of.
    pub fn new(settings: RunnerSettings) -> Result<Self, RunError> {
        let RunnerSettings { environment, outputs, limits, denied, git_configuration } = settings;
        let denied =
            Denied::new(&denied).map_err(|(folder, source)| RunError::Denied { folder, source })?;
        let confinement = denied.probe();
        let commands = AtomicU64::new(0);
        let inner = Inner {
            environment,
            outputs,
            limits,
            denied,
            confinement,
            git_configuration,
            commands,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Whether commands are kept out of the denied folders.
    pub fn confinement(&self) -> &Confinement {
        &self.inner.confinement
    }

    /// What every command sees.
    pub fn environment(&self) -> &Environment {
        &self.inner.environment
    }

    /// Whose git configuration counts.
    pub fn git_configuration(&self) -> GitConfiguration {
        self.inner.git_configuration
    }

    /// Runs a command of a model to its end, or to its clock's (CODE-15).
    pub async fn run(&self, command: &Command) -> Result<Finished, RunError> {
        let started = Instant::now();
        let program = || command.program.to_string_lossy().into_owned();
        let no_start = |source| RunError::Start { program: program(), source };
        let (reader, stdout) = io::pipe().map_err(no_start)?;
        let stderr = stdout.try_clone().map_err(no_start)?;
        let reader = receiver(reader).map_err(no_start)?;
        let running = self.start(command, stdout, stderr, Reach::Confined).await?;
        let number = self.inner.commands.fetch_add(1, Ordering::Relaxed) + 1;
        let path = self.inner.outputs.join(format!("command-{number}.txt"));
        let mut collector = Collector::new(self.inner.limits, path);
        let exit = running
            .watch(command.limit, pump(reader, |bytes| collector.push(bytes)))
            .await
            .map_err(|source| RunError::Wait { program: program(), source })?;
        let output =
            collector.finish().map_err(|(path, source)| RunError::Output { path, source })?;
        Ok(Finished { exit, output, duration: started.elapsed() })
    }

    /// Runs a program for ourselves and keeps the first `most` bytes of its stdout.
    pub(crate) async fn capture(
        &self,
        command: &Command,
        reach: Reach,
        most: usize,
    ) -> Result<Captured, RunError> {
        let program = || command.program.to_string_lossy().into_owned();
        let no_start = |source| RunError::Start { program: program(), source };
        let (out, stdout) = io::pipe().map_err(no_start)?;
        let (err, stderr) = io::pipe().map_err(no_start)?;
        let (out, err) = (receiver(out).map_err(no_start)?, receiver(err).map_err(no_start)?);
        let running = self.start(command, stdout, stderr, reach).await?;
        let mut kept = Vec::new();
        let mut stdout_bytes = 0_u64;
        let mut said = Vec::new();
        let both = async {
            let out = pump(out, |bytes| {
                stdout_bytes += bytes.len() as u64;
                kept.extend_from_slice(&bytes[..bytes.len().min(most - kept.len())]);
            });
            let err = pump(err, |bytes| {
                said.extend_from_slice(bytes);
                let surplus = said.len().saturating_sub(STDERR);
                said.drain(..surplus);
            });
            tokio::join!(out, err);
        };
        let exit = running
            .watch(command.limit, both)
            .await
            .map_err(|source| RunError::Wait { program: program(), source })?;
        let stderr = String::from_utf8_lossy(&said).into_owned();
        Ok(Captured { exit, stdout: kept, stdout_bytes, stderr })
    }

    async fn start(
        &self,
        command: &Command,
        stdout: PipeWriter,
        stderr: PipeWriter,
        reach: Reach,
    ) -> Result<Running, RunError> {
        let program = || command.program.to_string_lossy().into_owned();
        let path = self.inner.environment.get("PATH").unwrap_or(OsStr::new(path::DEFAULT));
        let file = path::look_up(&command.program, path)
            .ok_or_else(|| RunError::NotFound { program: program() })?;
        if !command.folder.is_dir() {
            let folder = command.folder.clone();
            return Err(RunError::NoFolder { program: program(), folder });
        }
        let mut wrap = CommandWrap::with_new(file, |child| {
            child
                .args(&command.arguments)
                .current_dir(&command.folder)
                .env_clear()
                .env("PATH", path)
                .envs(self.inner.environment.variables())
                .envs(fixed_environment(&command.program, self.inner.git_configuration))
                .stdin(Stdio::null())
                .stdout(stdout)
                .stderr(stderr)
                .kill_on_drop(true);
            if reach == Reach::Own && self.inner.git_configuration == GitConfiguration::Persons {
                child.envs(self.inner.environment.own());
            }
            child.envs(command.additions.iter().map(|(name, value)| (name, value)));
        });
        wrap.wrap(ProcessSession);
        let started = match (reach, &self.inner.confinement) {
            (Reach::Confined, Confinement::Enforced) => {
                spawn_confined(wrap, self.inner.denied.clone()).await
            }
            (Reach::Confined, Confinement::NotAsked | Confinement::Unavailable { .. })
            | (Reach::Own, _) => spawn(wrap).map_err(NotStarted::System),
        };
        started.map_err(|error| match error {
            NotStarted::System(source) => RunError::Start { program: program(), source },
            NotStarted::Confine(reason) => RunError::Confine { program: program(), reason },
        })
    }
}

enum NotStarted {
    System(io::Error),
    Confine(String),
}

/// Starts a command from a thread of its own that has restricted itself. The thread of a
/// pool would stay restricted for whatever it does next.
async fn spawn_confined(wrap: CommandWrap, denied: Denied) -> Result<Running, NotStarted> {
    let (tell, told) = oneshot::channel();
    let runtime = Handle::current();
    std::thread::Builder::new()
        .name("confined".to_owned())
        .spawn(move || {
            let started =
                denied.restrict_this_thread().map_err(NotStarted::Confine).and_then(|()| {
                    let _runtime = runtime.enter();
                    spawn(wrap).map_err(NotStarted::System)
                });
            // Where nobody waits any more, the drop ends what was started.
            drop(tell.send(started));
        })
        .map_err(NotStarted::System)?;
    told.await.unwrap_or_else(|_| Err(NotStarted::Confine("its thread broke off".to_owned())))
}

fn spawn(mut wrap: CommandWrap) -> io::Result<Running> {
    let (child, session) = Session::start(|| wrap.spawn(), |child| child.id())?;
    // The group's wait of process-wrap would wait for background children too.
    Ok(Running { child: child.into_inner(), session })
}

/// A command that runs. A drop ends it and its session.
struct Running {
    child: Box<dyn ChildWrapper>,
    session: Session,
}

impl Running {
    async fn watch(self, limit: Duration, pump: impl Future<Output = ()>) -> io::Result<Exit> {
        let Self { mut child, session } = self;
        let mut pump = pin!(pump);
        let mut pumped = false;
        let mut clock = pin!(sleep(limit));
        let exited = loop {
            tokio::select! {
                status = child.wait() => break Some(status?),
                () = &mut pump, if !pumped => pumped = true,
                () = &mut clock => break None,
            }
        };
        if exited.is_some() && !pumped {
            pumped = timeout(DRAIN, &mut pump).await.is_ok();
        }
        session.end().await;
        if !pumped {
            // Who held the pipe is gone now; what it wrote is still in there.
            let _rest = timeout(DRAIN, pump).await;
        }
        match exited {
            Some(status) => Ok(Exit::of(status)),
            None => child.wait().await.map(|_| Exit::TimedOut),
        }
    }
}
