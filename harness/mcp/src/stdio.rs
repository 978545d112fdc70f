//! A server that is a child: started in a process group of its own, and ended with
//! everything in that group.

mod lines;
mod said;

use std::any::Any;
use std::io;
use std::process::Stdio as Stream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Stdio;
use crate::options::Children;

use lines::Lines;
use said::Said;

/// How long a child may take to end by itself, and again after it was asked to.
const GRACE: Duration = Duration::from_secs(2);

/// How long what a child wrote last is waited for.
const DRAIN: Duration = Duration::from_millis(500);

/// What a child is spoken to by.
pub(crate) type Pipes = (Lines<ChildStdout>, ChildStdin);

/// A child that runs. A drop kills it and its whole group.
pub(crate) struct Process {
    group: Arc<Group>,
    exited: CancellationToken,
    said: Arc<Said>,
}

/// Starts a server. `gone` is cancelled soon after it has exited, also where something
/// it left behind still holds its pipes.
pub(crate) fn start(
    program: &Stdio,
    children: Option<&Arc<dyn Children>>,
    tracker: &TaskTracker,
    gone: CancellationToken,
) -> Result<(Pipes, Process), String> {
    let (mut child, kept) = spawn(program, children).map_err(|error| why(program, &error))?;
    let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let (Some(leader), Some(stdin), Some(stdout), Some(stderr)) =
        (leader, child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(format!("{} ended before it could be spoken to", program.command));
    };
    let said = Arc::new(Said::default());
    let process = Process {
        group: Arc::new(Group { leader, gone: AtomicBool::new(false) }),
        exited: CancellationToken::new(),
        said: said.clone(),
    };
    tracker.spawn({
        let said = said.clone();
        async move { said.listen(stderr).await }
    });
    tracker.spawn({
        let (group, exited, said) = (process.group.clone(), process.exited.clone(), said.clone());
        async move {
            let status = child.wait().await;
            group.bury();
            said.exit(&status);
            exited.cancel();
            drop(kept);
            tokio::time::sleep(DRAIN).await;
            gone.cancel();
        }
    });
    Ok(((Lines::new(stdout, said), stdin), process))
}

fn spawn(
    stdio: &Stdio,
    children: Option<&Arc<dyn Children>>,
) -> io::Result<(Child, Option<Box<dyn Any + Send + Sync>>)> {
    let mut command = Command::new(&stdio.command);
    command
        .args(&stdio.arguments)
        .env_clear()
        .envs(&stdio.environment)
        .stdin(Stream::piped())
        .stdout(Stream::piped())
        .stderr(Stream::piped())
        .process_group(0)
        .kill_on_drop(true);
    if let Some(folder) = &stdio.folder {
        command.current_dir(folder);
    }
    let Some(children) = children else {
        return Ok((command.spawn()?, None));
    };
    let mut started = None;
    let kept = children.start(&mut || {
        let child = command.spawn()?;
        let id = child.id().ok_or_else(|| io::Error::other("it ended at once"))?;
        started = Some(child);
        Ok(id)
    })?;
    let child = started.ok_or_else(|| io::Error::other("who minds the children started none"))?;
    Ok((child, Some(kept)))
}

fn why(stdio: &Stdio, error: &io::Error) -> String {
    let command = &stdio.command;
    match error.kind() {
        io::ErrorKind::NotFound if stdio.folder.as_ref().is_some_and(|folder| !folder.is_dir()) => {
            format!("{command} cannot be started: its cwd is no folder: make it or change it")
        }
        io::ErrorKind::NotFound => {
            format!("{command} is not found: install it, give its path, or put it on PATH")
        }
        io::ErrorKind::PermissionDenied => {
            format!("{command} may not be run: check that it is executable")
        }
        _ => format!("{command} cannot be started: {error}"),
    }
}

impl Process {
    /// Kills the child and its group.
    pub(crate) fn kill(&self) {
        self.group.signal(Signal::KILL);
    }

    /// Waits until the child, whose input is closed, has ended; helps where it does not.
    pub(crate) async fn end(&self) {
        for signal in [Signal::TERM, Signal::KILL] {
            if timeout(GRACE, self.exited.cancelled()).await.is_ok() {
                return;
            }
            self.group.signal(signal);
        }
        if timeout(GRACE, self.exited.cancelled()).await.is_err() {
            tracing::warn!(
                pid = self.group.leader.as_raw_nonzero().get(),
                "a killed MCP server does not end"
            );
        }
    }

    /// How the child ended and what it said last, waiting for both a moment.
    pub(crate) async fn last_words(&self) -> Option<String> {
        let both = async {
            self.exited.cancelled().await;
            self.said.heard_all().await;
        };
        // A child that lives on has said what it has said.
        let _lives = timeout(DRAIN, both).await;
        self.said.words()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The process group that a child leads.
struct Group {
    leader: Pid,
    gone: AtomicBool,
}

impl Group {
    fn signal(&self, signal: Signal) {
        if !self.gone.load(Ordering::Acquire) {
            // Nobody left is what we want.
            let _gone = kill_process_group(self.leader, signal);
        }
    }

    /// Ends what the child left behind. From then on its id may be another's.
    fn bury(&self) {
        self.signal(Signal::KILL);
        self.gone.store(true, Ordering::Release);
    }
}
