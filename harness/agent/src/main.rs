//! The program in an always-on agent's pod, or beside the operator in a local run.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use foundry_harness::process::{self, Parts};
use foundry_harness::settings::Settings;
use foundry_platform::clock::Clock;
use foundry_platform::process::Process;
use foundry_platform::program::{self, Blocking, ProgramError, Signals};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

fn main() -> ExitCode {
    match start(Settings::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let error = anyhow::Error::from(error);
            // With a closed stderr there is nobody to tell.
            drop(writeln!(std::io::stderr(), "harness: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn start(settings: Settings) -> Result<(), ProgramError> {
    let clock = Clock::new(Timestamp::now);
    program::set_up(&clock)?;
    let stop = CancellationToken::new();
    // Held until the process ends (OPS-01).
    let _lock = program::hold(&settings.process, &stop)?;
    program::run(Blocking::Little, run(settings, clock, stop))?
}

async fn run(
    settings: Settings,
    clock: Clock,
    stop: CancellationToken,
) -> Result<(), ProgramError> {
    let signals = Signals::listen()?;
    let Settings { process: settings, model, evaluate_every } = settings;
    let (api, relay) = program::reach(&settings, &clock)?;
    let process = Process {
        api: Arc::new(api),
        clock,
        output: Box::new(std::io::stdout()),
        agent_id: settings.agent_id,
        agent_namespace: settings.agent_namespace,
        start_number: None,
        heartbeat_every: settings.heartbeat_every,
    };
    let parts = Parts { process, broker: Arc::new(relay), model, evaluate_every };
    signals.heed(&stop.clone(), process::run(parts, stop)).await;
    Ok(())
}
