//! The program in an always-on agent's pod, or beside the operator in a local run.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Parser;
use foundry_client::{Client, FileToken, TokenSource};
use foundry_harness::process::{self, Parts};
use foundry_harness::settings::Settings;
use foundry_llm::Limits;
use foundry_platform::api::ClientApi;
use foundry_platform::clock::Clock;
use foundry_platform::relay::Relay;
use foundry_platform::{lifeline, lock};
use jiff::Timestamp;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Threads for what blocks: file reads and name look-ups, a few at a time.
const BLOCKING_THREADS: usize = 2;
/// A blocking thread that has nothing to do costs memory in every pod.
const BLOCKING_IDLE: Duration = Duration::from_secs(1);
/// Enough for a name look-up.
const BLOCKING_STACK: usize = 256 * 1024;
/// SIGXFSZ, sent to a process that writes a file beyond its limit.
const FILE_SIZE_LIMIT: i32 = 25;

fn main() -> ExitCode {
    match start(Settings::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // With a closed stderr there is nobody to tell.
            drop(writeln!(std::io::stderr(), "harness: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn start(settings: Settings) -> anyhow::Result<()> {
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_writer(std::io::stderr)
        .init();
    rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .map_err(|_| anyhow!("failed to set up TLS: a provider was installed before"))?;
    let stop = CancellationToken::new();
    // Held until the process ends (OPS-01).
    let _lock = settings.lock_file.as_deref().map(lock::hold).transpose()?;
    if let Some(path) = &settings.lifeline {
        lifeline::watch(path, stop.clone())?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_keep_alive(BLOCKING_IDLE)
        .thread_stack_size(BLOCKING_STACK)
        .build()
        .context("failed to start the runtime")?;
    let ended = runtime.block_on(run(settings, stop));
    // A name look-up or a file that never answers must not hold up the end.
    runtime.shutdown_background();
    ended
}

async fn run(settings: Settings, stop: CancellationToken) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("failed to listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("failed to listen for SIGINT")?;
    // With somebody listening, a log that reached its limit is a failed write, not the end.
    let _file_size =
        signal(SignalKind::from_raw(FILE_SIZE_LIMIT)).context("failed to listen for SIGXFSZ")?;
    let running = process::run(parts(settings)?, stop.clone());
    let mut running = std::pin::pin!(running);
    tokio::select! {
        () = &mut running => return Ok(()),
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    stop.cancel();
    running.await;
    Ok(())
}

fn parts(settings: Settings) -> anyhow::Result<Parts> {
    let Settings {
        api_url,
        agent_id,
        agent_namespace,
        token_file,
        evaluate_every,
        heartbeat_every,
        lifeline: _,
        lock_file: _,
    } = settings;
    let tokens: Arc<dyn TokenSource> = Arc::new(FileToken::new(token_file));
    let client = Client::new(api_url.as_str(), tokens.clone())?;
    let clock = Clock::new(Timestamp::now);
    let pacing_clock = clock.clone();
    let relay = Relay::new(
        &client.relay_url(),
        tokens,
        Limits::default(),
        Arc::new(move || pacing_clock.now()),
    )
    .context("failed to set up the relay transport")?;
    Ok(Parts {
        api: Arc::new(ClientApi::new(client, agent_id.clone())),
        broker: Arc::new(relay),
        clock,
        output: Box::new(std::io::stdout()),
        agent_id,
        agent_namespace,
        evaluate_every,
        heartbeat_every,
    })
}
