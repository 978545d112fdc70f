//! `foundry-operator`: reads settings, connects, runs until it is told to stop.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;
use foundry_operator::config::{Arguments, Config};
use foundry_operator::traces::{self, Traces};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

/// A file has reached the limit of its size; the number is the same on all the
/// machines we build for.
const SIGXFSZ: i32 = 25;

fn main() -> ExitCode {
    match operate(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell when stderr is gone too.
            drop(writeln!(std::io::stderr(), "foundry-operator: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn operate(arguments: Arguments) -> anyhow::Result<()> {
    if arguments.die_with_parent {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))
            .context("failed to ask for a signal when the parent ends")?;
    }
    rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .map_err(|_| anyhow::anyhow!("failed to install the TLS provider: another one is there"))?;
    let traces = Traces::begin(&arguments.traces)?;
    let log = tracing_subscriber::fmt::layer()
        .json()
        .with_writer(std::io::stderr)
        // It would say so on stderr, and panic when that has no room either.
        .log_internal_errors(false)
        .with_filter(EnvFilter::try_new(&arguments.log)?)
        .with_filter(filter_fn(|metadata| !traces::is_span(metadata)));
    tracing_subscriber::registry().with(log).with(traces.as_ref().map(Traces::layer)).init();
    let outcome = work(Config::new(arguments)?);
    if let Some(traces) = traces {
        traces.end();
    }
    outcome
}

fn work(config: Config) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("failed to start the async runtime")?;
    runtime.block_on(async {
        // With somebody listening, a file-size limit is a failed write, not the end.
        let _file_size = signal(SignalKind::from_raw(SIGXFSZ)).context("failed to await SIGXFSZ")?;
        let client = foundry_operator::connect(&config.kubeconfig).await?;
        let shutdown = CancellationToken::new();
        tokio::select! {
            outcome = foundry_operator::run(client, config, shutdown.clone()) => outcome?,
            () = async { told_to_stop().await; shutdown.cancel(); std::future::pending().await } => {}
        }
        Ok(())
    })
}

/// Resolves on SIGTERM or Ctrl-C.
async fn told_to_stop() {
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
        }
        Err(error) => {
            tracing::error!(%error, "failed to listen for SIGTERM; only Ctrl-C stops this process");
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
