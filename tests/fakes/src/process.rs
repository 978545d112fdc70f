//! What both executables do as processes: say where they listen, end with their
//! parent, end on a signal.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};

/// Ends this process when its parent ends, however that came about.
pub fn die_with_parent() -> anyhow::Result<()> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL))
        .context("failed to ask for a signal at the parent's death")?;
    // The parent may have died before we asked.
    anyhow::ensure!(getppid() == parent, "the parent process is gone already");
    Ok(())
}

/// Writes the port into a file that never holds half a number: by rename.
pub fn write_port(file: &Path, port: u16) -> anyhow::Result<()> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".new");
    let write = || -> std::io::Result<()> {
        std::fs::write(&beside, port.to_string())?;
        std::fs::rename(&beside, file)
    };
    write().with_context(|| format!("failed to write the port to {}", file.display()))
}

/// One line on stdout.
pub fn say(line: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).context("failed to write to stdout")
}

/// Runs an executable's work on a runtime of one thread. Failure is one line that says
/// what to do.
pub fn run(work: impl Future<Output = anyhow::Result<()>>) -> ExitCode {
    let outcome = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")
        .and_then(|runtime| runtime.block_on(work));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where stderr is closed, the exit code alone has to tell.
            let _told = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Waits until somebody asks this process to end.
pub async fn asked_to_end() -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).context("failed to listen for SIGTERM")?;
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        interrupted = tokio::signal::ctrl_c() => interrupted.context("failed to listen for SIGINT"),
    }
}
