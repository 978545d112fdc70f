//! Processes that never outlive whoever started them, not even after a kill -9.

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{self, File};
use std::future::Future;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// `nobody`, by number: the unprivileged user of a machine with no other.
pub(crate) const NOBODY: u32 = 65534;

/// A running process with its log.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

/// Whom a process runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunAs {
    /// The user who starts it.
    Caller,
    /// The unprivileged user, for servers that refuse to run as root.
    Nobody,
}

impl Process {
    /// Starts `command` with both outputs appended to `log`. Its arguments, working
    /// folder and environment are as set; stdin is empty. It is the first of its
    /// own process group, so that a Ctrl-C in the terminal reaches its owner only.
    pub fn spawn(name: &str, command: &Command, log: &Path) -> Result<Self> {
        Self::spawn_as(RunAs::Caller, name, command, log)
    }

    pub(crate) fn spawn_as(user: RunAs, name: &str, command: &Command, log: &Path) -> Result<Self> {
        let program = Path::new(command.get_program());
        let found = program.components().count() == 1 || program.is_file();
        ensure!(found, "failed to start {name}: {} does not exist", program.display());
        if let Some(folder) = log.parent() {
            fs::create_dir_all(folder)
                .with_context(|| format!("failed to create {}", folder.display()))?;
        }
        let output = File::options()
            .create(true)
            .append(true)
            .open(log)
            .with_context(|| format!("failed to open {}", log.display()))?;
        let errors = output.try_clone().context("failed to share a log file")?;

        let mut mortal = mortal(user, command);
        mortal.stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0);
        let child = spawn_from_a_lasting_thread(mortal).with_context(|| {
            format!("failed to start {name}: setpriv, from util-linux, must be on PATH")
        })?;
        Ok(Self { name: name.to_owned(), child, log: log.to_path_buf() })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The name it was started under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its output goes.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// How it ended, when it has.
    pub fn exited(&mut self) -> Result<Option<ExitStatus>> {
        self.child.try_wait().with_context(|| format!("failed to look at {}", self.name))
    }

    /// Waits until `probe` gives a value; an error at once when the process ends
    /// first, with the end of its log.
    pub async fn wait_for<T, E, F, Fut>(
        &mut self,
        what: &str,
        deadline: Duration,
        mut probe: F,
    ) -> Result<T>
    where
        E: Display,
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        let start = Instant::now();
        let mut last_seen = "nothing".to_owned();
        while start.elapsed() < deadline {
            if let Some(status) = self.exited()? {
                bail!("{} ended ({status}) before {what}: {}", self.name, self.last_words());
            }
            let left = deadline.saturating_sub(start.elapsed());
            match tokio::time::timeout(left, probe()).await {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(seen)) => last_seen = format!("{seen:#}"),
                Err(_) => {}
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        bail!(
            "{what}: not within {}s; last seen: {last_seen}; {}: {}",
            deadline.as_secs(),
            self.name,
            self.last_words()
        )
    }

    /// Waits for it to end by itself.
    pub async fn finish(&mut self, deadline: Duration) -> Result<ExitStatus> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.exited()? {
                return Ok(status);
            }
            if start.elapsed() >= deadline {
                bail!(
                    "{} still runs after {}s: {}",
                    self.name,
                    deadline.as_secs(),
                    self.last_words()
                );
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Asks it to end (SIGTERM), and ends it when the grace is over.
    pub async fn stop(mut self, grace: Duration) -> Result<ExitStatus> {
        self.signal(Signal::TERM);
        match self.finish(grace).await {
            Ok(status) => Ok(status),
            Err(_) => self.kill(),
        }
    }

    /// Ends it and its process group at once (SIGKILL).
    pub fn kill(&mut self) -> Result<ExitStatus> {
        self.signal_group(Signal::KILL);
        self.child.wait().with_context(|| format!("failed to await the end of {}", self.name))
    }

    /// Sends it a signal; one that has ended already does not mind.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = self.raw_pid() {
            kill_process(pid, signal).ok();
        }
    }

    /// The end of its log, and where the whole of it is.
    pub fn last_words(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<_> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(12)..].join("\n  ");
        format!("its log {} ends with:\n  {tail}", self.log.display())
    }

    fn signal_group(&self, signal: Signal) {
        if let Some(pid) = self.raw_pid() {
            kill_process_group(pid, signal).ok();
        }
    }

    fn raw_pid(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            drop(self.kill());
        }
    }
}

/// The same command under `setpriv`, which asks the kernel to kill it when the
/// thread that started it ends.
fn mortal(user: RunAs, command: &Command) -> Command {
    let mut mortal = Command::new("setpriv");
    mortal.args(["--pdeathsig", "KILL"]);
    if user == RunAs::Nobody {
        mortal.arg(format!("--reuid={NOBODY}"));
        mortal.arg(format!("--regid={NOBODY}"));
        mortal.arg("--clear-groups");
    }
    mortal.arg("--").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => mortal.env(name, value),
            None => mortal.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        mortal.current_dir(folder);
    }
    mortal
}

struct Start {
    command: Command,
    answer: mpsc::Sender<io::Result<Child>>,
}

/// The death signal comes when the *thread* that forked ends, and a test's thread
/// ends with its test. So one thread, which ends with the process, starts all.
fn spawn_from_a_lasting_thread(command: Command) -> Result<Child> {
    static STARTER: OnceLock<mpsc::Sender<Start>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (starter, starts) = mpsc::channel::<Start>();
        std::thread::spawn(move || {
            for mut start in starts {
                drop(start.answer.send(start.command.spawn()));
            }
        });
        starter
    });
    let (answer, child) = mpsc::channel();
    starter.send(Start { command, answer }).context("the starting thread has ended")?;
    Ok(child.recv().context("the starting thread has ended")??)
}

/// Searches `PATH` for an executable.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let name = OsString::from(name);
    crate::settings::search_path()
        .into_iter()
        .map(|folder| folder.join(&name))
        .find(|path| path.is_file())
}
