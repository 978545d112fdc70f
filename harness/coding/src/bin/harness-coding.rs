//! The program in a coding agent's pod, or beside the operator in a local run.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Parser;
use foundry_coding::platform::corepack;
use foundry_coding::platform::process::{self, Exit, Ground, Parts};
use foundry_coding::platform::settings::Settings;
use foundry_coding::platform::tokens::{self, Tokens};
use foundry_platform::clock::Clock;
use foundry_platform::process::Process;
use foundry_platform::program::{self, Blocking, ProgramError, Signals};
use jiff::Timestamp;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use tokio_util::sync::CancellationToken;

fn main() -> ExitCode {
    match start() {
        Ok(Exit::Well) => ExitCode::SUCCESS,
        Ok(Exit::ResultLost) => ExitCode::FAILURE,
        Err(error) => {
            // With a closed stderr there is nobody to tell.
            drop(writeln!(std::io::stderr(), "harness-coding: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn start() -> anyhow::Result<Exit> {
    // First of all: the process may begin again here, without tokens in its environment.
    let tokens = tokens::take()?;
    let settings = Settings::parse();
    // No process of the same user may look into this one's memory or environment.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .context("failed to keep other processes out of this one's memory")?;
    foundry_git::adopt_orphans().context("failed to become the reaper of orphans")?;
    let clock = Clock::new(Timestamp::now);
    program::set_up(&clock)?;
    let stop = CancellationToken::new();
    // Held until the process ends (OPS-01).
    let _lock = program::hold(&settings.process, &stop)?;
    Ok(program::run(Blocking::Much, run(settings, tokens, clock, stop))??)
}

async fn run(
    settings: Settings,
    tokens: Tokens,
    clock: Clock,
    stop: CancellationToken,
) -> Result<Exit, ProgramError> {
    let signals = Signals::listen()?;
    let parts = parts(settings, tokens, clock)?;
    Ok(signals.heed(&stop.clone(), process::run(parts, stop)).await)
}

fn parts(settings: Settings, tokens: Tokens, clock: Clock) -> Result<Parts, ProgramError> {
    let Settings {
        process: settings,
        model,
        start_number,
        ssh_dir,
        home,
        temporary,
        github_host,
        github_api_url,
    } = settings;
    let (api, relay) = program::reach(&settings, &clock)?;
    let denied = settings.token_file.parent().map(Path::to_path_buf).into_iter().collect();
    Ok(Parts {
        process: Process {
            api: Arc::new(api),
            clock,
            output: Box::new(std::io::stdout()),
            agent_id: settings.agent_id,
            agent_namespace: settings.agent_namespace,
            start_number: Some(start_number),
            heartbeat_every: settings.heartbeat_every,
        },
        broker: Arc::new(relay),
        model,
        start_number,
        ground: Ground {
            ssh_dir,
            denied,
            environment: corepack::with_writable_home(std::env::vars_os().collect(), &home),
            home,
            temporary,
            github_host,
            github_api_url,
            tokens,
        },
    })
}
