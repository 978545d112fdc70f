//! Makes a change to a local repository: plans it, has it approved, builds and commits it.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use clap::Parser;
use foundry_coding::local::arguments::Arguments;
use foundry_coding::local::run::{self, Exit, World};
use foundry_coding::local::terminal::{Terminal, TerminalDesk};
use foundry_platform::clock::Clock;
use jiff::Timestamp;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use tokio::io::BufReader;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

fn main() -> ExitCode {
    match start(Arguments::parse()) {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(error) => {
            // With a closed stderr there is nobody to tell.
            drop(writeln!(io::stderr(), "flowcode: {error:#}"));
            ExitCode::from(Exit::NotBegun as u8)
        }
    }
}

fn start(arguments: Arguments) -> anyhow::Result<Exit> {
    // Keys are in this process's environment, where commands of the model could read them.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .context("failed to keep other processes out of this one's memory")?;
    foundry_git::adopt_orphans().context("failed to become the reaper of orphans")?;
    tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(io::stderr).init();
    rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .map_err(|_| anyhow!("failed to set up TLS: a provider was installed before"))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")?;
    let ended = runtime.block_on(run(arguments));
    // Somebody who types nothing must not hold up the end.
    runtime.shutdown_background();
    // Only the model was told of what is in there; most runs have not even made it.
    drop(std::fs::remove_dir_all(outputs()));
    ended
}

async fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let mut terminate = signal(SignalKind::terminate()).context("failed to listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("failed to listen for SIGINT")?;
    let stop = CancellationToken::new();
    let terminal = Terminal::new(Box::new(io::stderr()), Box::new(io::stdout()));
    let input = Box::new(BufReader::new(tokio::io::stdin()));
    let world = World {
        environment: std::env::vars_os().collect(),
        temporary: outputs(),
        clock: Clock::new(Timestamp::now),
        desk: TerminalDesk::new(terminal.clone(), input),
        terminal,
    };
    let running = run::run(arguments, world, stop.clone());
    let mut running = std::pin::pin!(running);
    tokio::select! {
        exit = &mut running => return Ok(exit?),
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    stop.cancel();
    tokio::select! {
        exit = running => Ok(exit?),
        // Who asks twice waits for nothing.
        _ = interrupt.recv() => Ok(Exit::Unfinished),
    }
}

/// A folder of this run, made when an output is too long to be shown.
fn outputs() -> PathBuf {
    std::env::temp_dir().join(format!("flowcode-{}", std::process::id()))
}
