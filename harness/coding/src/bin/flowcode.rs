//! Makes a change to a local repository: plans it, has it approved, builds and commits it.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use foundry_coding::local::arguments::Arguments;
use foundry_coding::local::run::{self, Exit, World};
use foundry_coding::local::terminal::{Terminal, TerminalDesk};
use foundry_platform::clock::Clock;
use foundry_platform::program::{self, Blocking, Signals};
use jiff::Timestamp;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use tokio::io::BufReader;
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
    let clock = Clock::new(Timestamp::now);
    program::set_up(&clock)?;
    let ended = program::run(Blocking::Much, run(arguments, clock))?;
    // Only the model was told of what is in there; most runs have not even made it.
    drop(std::fs::remove_dir_all(outputs()));
    ended
}

async fn run(arguments: Arguments, clock: Clock) -> anyhow::Result<Exit> {
    let signals = Signals::listen()?;
    let stop = CancellationToken::new();
    let terminal = Terminal::new(Box::new(io::stderr()), Box::new(io::stdout()));
    let input = Box::new(BufReader::new(tokio::io::stdin()));
    let world = World {
        environment: std::env::vars_os().collect(),
        temporary: outputs(),
        clock,
        desk: TerminalDesk::new(terminal.clone(), input),
        terminal,
    };
    let running = Box::pin(run::run(arguments, world, stop.clone()));
    match signals.heed_twice(&stop, running).await {
        Some(exit) => Ok(exit?),
        None => Ok(Exit::Unfinished),
    }
}

/// A folder of this run, made when an output is too long to be shown.
fn outputs() -> PathBuf {
    std::env::temp_dir().join(format!("flowcode-{}", std::process::id()))
}
