//! The program in a coding agent's pod, or beside the operator in a local run.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use clap::Parser;
use foundry_client::{Client, FileToken, TokenSource};
use foundry_coding::platform::process::{self, Exit, Ground, Parts};
use foundry_coding::platform::settings::Settings;
use foundry_coding::platform::tokens::{self, Tokens};
use foundry_llm::Limits;
use foundry_platform::api::ClientApi;
use foundry_platform::clock::Clock;
use foundry_platform::relay::Relay;
use foundry_platform::{lifeline, lock};
use jiff::Timestamp;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// SIGXFSZ, sent to a process that writes a file beyond its limit.
const FILE_SIZE_LIMIT: i32 = 25;

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
        .build()
        .context("failed to start the runtime")?;
    let ended = runtime.block_on(run(settings, tokens, stop));
    // A name look-up or a file that never answers must not hold up the end.
    runtime.shutdown_background();
    ended
}

async fn run(settings: Settings, tokens: Tokens, stop: CancellationToken) -> anyhow::Result<Exit> {
    let mut terminate = signal(SignalKind::terminate()).context("failed to listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("failed to listen for SIGINT")?;
    // With somebody listening, a log that reached its limit is a failed write, not the end.
    let _file_size =
        signal(SignalKind::from_raw(FILE_SIZE_LIMIT)).context("failed to listen for SIGXFSZ")?;
    let running = process::run(parts(settings, tokens)?, stop.clone());
    let mut running = std::pin::pin!(running);
    tokio::select! {
        exit = &mut running => return Ok(exit),
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    stop.cancel();
    Ok(running.await)
}

fn parts(settings: Settings, host_tokens: Tokens) -> anyhow::Result<Parts> {
    let Settings {
        api_url,
        agent_id,
        agent_namespace,
        start_number,
        token_file,
        ssh_dir,
        home,
        temporary,
        github_host,
        github_api_url,
        heartbeat_every,
        lifeline: _,
        lock_file: _,
    } = settings;
    let denied = token_file.parent().map(Path::to_path_buf).into_iter().collect();
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
        start_number,
        heartbeat_every,
        ground: Ground {
            ssh_dir,
            denied,
            home,
            temporary,
            environment: std::env::vars_os().collect(),
            github_host,
            github_api_url,
            tokens: host_tokens,
        },
    })
}
