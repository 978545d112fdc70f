//! `foundry-api`: settings, signals and exit status; everything else is the library's.

use std::{io::Write, process::ExitCode};

use anyhow::Context;
use clap::{Parser, Subcommand};
use foundry_api::{Clock, Config, Connection, StartError, telemetry};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The Foundry API: agents on Kubernetes over REST.
#[derive(Parser)]
#[command(name = "foundry-api", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    config: Config,
}

/// Sent to a process that writes a file beyond its limit.
const SIGXFSZ: i32 = 25;

#[derive(Subcommand)]
enum Command {
    /// Prints the OpenAPI document and ends.
    Openapi,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command {
        Some(Command::Openapi) => print_openapi(),
        None => serve(cli.connection, cli.config),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let words = match error.downcast_ref::<StartError>() {
                // Its causes are in its own words already.
                Some(whole) => whole.to_string(),
                None => format!("{error:#}"),
            };
            // Nobody is left to tell when stderr is gone too.
            drop(writeln!(std::io::stderr(), "foundry-api: {words}"));
            ExitCode::FAILURE
        }
    }
}

fn print_openapi() -> anyhow::Result<()> {
    std::io::stdout().write_all(foundry_api::openapi().as_bytes()).context("failed to print")
}

fn serve(connection: Connection, config: Config) -> anyhow::Result<()> {
    if config.pdeathsig {
        die_with_parent()?;
    }
    rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .map_err(|_| anyhow::anyhow!("a TLS provider is already installed"))?;
    telemetry::start(&config.log)?;
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")?
        .block_on(serve_until_signal(connection, config))
}

async fn serve_until_signal(connection: Connection, config: Config) -> anyhow::Result<()> {
    let shutdown = CancellationToken::new();
    let mut terminate = signal(SignalKind::terminate()).context("failed to await SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("failed to await SIGINT")?;
    // Without a handler a file-size limit kills the process; with one, the store gets
    // an error that it can put into words.
    let _file_size = signal(SignalKind::from_raw(SIGXFSZ)).context("failed to await SIGXFSZ")?;
    let client = connection.open().await?;
    let running = foundry_api::run(config, client, clock(), shutdown.clone());
    let mut running = std::pin::pin!(running);
    tokio::select! {
        outcome = &mut running => return Ok(outcome?),
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("asked to end; requests under way are let end");
    shutdown.cancel();
    Ok(running.await?)
}

#[expect(clippy::disallowed_methods, reason = "the binary's one clock")]
fn clock() -> Clock {
    Clock::new(jiff::Timestamp::now)
}

/// Asks the kernel to end this process with its parent, and ends at once when the
/// parent is gone already.
fn die_with_parent() -> anyhow::Result<()> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL))
        .context("failed to ask for a signal when the parent ends")?;
    let orphaned = getppid().is_none_or(|parent| parent.as_raw_nonzero().get() == 1);
    anyhow::ensure!(!orphaned, "the parent process is gone already");
    Ok(())
}
