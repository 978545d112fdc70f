//! `cargo xtask demo`: a thinking agent and a coding run on this machine, shown as a
//! person would look at them, with every claim checked.

mod build;
mod cluster;
mod coding;
mod folder;
mod install;
mod kubeconfig;
mod kubectl;
mod next;
mod overlay;
mod quickstart;
mod story;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use foundry_crds::meta::DEFAULT_NAMESPACE;
use testenv::stack::{Runtime, Stack, StackOptions};
use testenv::{bin_folder, workspace_root};
use tokio::signal::unix::{SignalKind, signal};

use crate::printer::{complain, elapsed, say};
use cluster::Cluster;
use folder::DataFolder;
use story::Story;

/// Options of `cargo xtask demo`.
#[derive(clap::Args)]
pub struct Args {
    /// Leave when everything was shown; the status is 0 only if all of it happened.
    #[arg(long)]
    exit: bool,
    /// Start over: forget what an earlier demo left.
    #[arg(long)]
    fresh: bool,
    /// A cluster of your own, whose administrator you are (kind, k3d, any); without
    /// one the demo starts a control plane.
    #[arg(long, env = "KUBECONFIG", value_name = "FILE")]
    kubeconfig: Option<OsString>,
    /// Seconds between the thoughts of its agent [default: the harness' own, 15].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    evaluate_seconds: Option<u32>,
    /// Where data and logs are kept [default: foundry/demo in your data folder].
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
}

/// SIGXFSZ, which Linux numbers alike on all the machines we build for.
const FILE_SIZE_LIMIT: i32 = 25;

/// Shows everything; then stays up, or leaves with `--exit`.
pub fn run(args: &Args) -> Result<()> {
    crate::runtime()?.block_on(async {
        // With somebody listening, a file-size limit is a failed write, not the end.
        let _listening =
            signal(SignalKind::from_raw(FILE_SIZE_LIMIT)).context("failed to await SIGXFSZ")?;
        let folder = DataFolder::open(args.data_dir.as_deref(), args.fresh)?;
        let mut running = Running::default();
        let shown = tokio::select! {
            shown = show(args, &folder, &mut running) => shown.map(|()| End::Own),
            interrupted = interruption() => interrupted.map(|()| End::Interrupted),
        };
        let shown = shown.and_then(|end| match end {
            End::Interrupted if !running.told => bail!("interrupted before everything was shown"),
            End::Interrupted | End::Own => Ok(()),
        });
        let logs = folder.path().join("logs");
        if shown.is_err() && logs.is_dir() {
            complain(&format!("the logs are in {}", logs.display()));
        }
        let ended = running.end().await;
        shown.and(ended)
    })
}

/// How the demo comes to its end.
enum End {
    /// There is nothing more to show.
    Own,
    /// Somebody wants it to end.
    Interrupted,
}

/// What must be ended when the demo ends.
#[derive(Default)]
struct Running {
    cluster: Option<Cluster>,
    stack: Option<Stack>,
    /// Everything was shown: from here on an interruption is a good end.
    told: bool,
}

async fn show(args: &Args, folder: &DataFolder, running: &mut Running) -> Result<()> {
    let started = Instant::now();
    // What can be refused is refused before a long build.
    let theirs = kubeconfig::named(args.kubeconfig.as_deref());
    if let Some(theirs) = theirs {
        kubeconfig::answering_client(theirs).await?;
    }
    build::everything(theirs).await?;

    let cluster = Cluster::reach(theirs, folder.path()).await?;
    let cluster = running.cluster.insert(cluster);
    say(&format!("{} answers after {}", cluster.what(), elapsed(started)));
    install::install(cluster).await?;

    let options = stack_options(cluster, folder, args.evaluate_seconds).await?;
    let stack = running.stack.insert(Stack::new(options).await?);
    stack.start_model().await?;
    stack.start_issuer().await?;
    stack.start_git().await?;
    stack.start_github().await?;
    stack.start_api().await?;
    // Before an operator goes on with it, and while the API sees it go.
    coding::forget(cluster).await?;
    // What an earlier demo logged was told then; only what comes from here on counts.
    let story = Story::begin(stack).await?;
    stack.start_operator().await?;
    say(&format!("model, issuer, Git server, API and operator answer after {}", elapsed(started)));

    quickstart::apply(cluster, &stack.model_url(), folder).await?;
    quickstart::take_back_what_was_stopped(cluster).await?;
    story.tell(cluster, stack).await?;
    coding::tell(cluster, stack, folder).await?;
    say(&format!("\nAll of it happened, in {}.", elapsed(started)));
    running.told = true;
    if args.exit {
        return Ok(());
    }
    next::print(cluster, stack, folder);
    stay(stack).await
}

async fn stack_options(
    cluster: &Cluster,
    folder: &DataFolder,
    evaluate_seconds: Option<u32>,
) -> Result<StackOptions> {
    let scripts = workspace_root().join("tests/fakes/scripts");
    Ok(StackOptions {
        folder: folder.path().to_path_buf(),
        executables: bin_folder()?,
        namespaces: vec![DEFAULT_NAMESPACE.to_owned()],
        operator_kubeconfig: cluster.service_account_kubeconfig("foundry-operator").await?,
        api_kubeconfig: cluster.service_account_kubeconfig("foundry-api").await?,
        // The last rule of the quickstart answers whatever is left.
        scripts: ["coding.yaml", "quickstart.yaml"].map(|name| scripts.join(name)).into(),
        database: None,
        evaluate_seconds,
        runtime: Runtime::Local,
    })
}

/// Stays until somebody interrupts, or a part ends that should not.
async fn stay(stack: &mut Stack) -> Result<()> {
    loop {
        let Stack { model, issuer, git, github, api, operator, .. } = &mut *stack;
        for part in [model, issuer, git, github, api, operator].into_iter().flatten() {
            if let Some(status) = part.exited()? {
                bail!("{} ended ({status}): {}", part.name(), part.last_words());
            }
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Waits for Ctrl-C or a polite kill.
async fn interruption() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("failed to await SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("failed to await SIGINT")?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

impl Running {
    /// Ends what runs, in the order that leaves nothing half-done: the operator
    /// before its harnesses, the control plane last.
    async fn end(self) -> Result<()> {
        if let Some(stack) = self.stack {
            stack.stop().await?;
        }
        if let Some(cluster) = self.cluster {
            cluster.stop().await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
