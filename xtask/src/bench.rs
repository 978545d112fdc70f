//! `cargo xtask bench`: figures, never tests.

mod agent;
mod coding;
mod operator;
mod report;
mod size;
mod world;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::Value;

use crate::repository;

/// Options of `cargo xtask bench`.
#[derive(clap::Args)]
pub struct Args {
    /// What to measure; everything when nothing is named.
    #[arg(value_enum)]
    what: Vec<Bench>,
    /// Agents in the operator's bench.
    #[arg(long, default_value_t = 1000)]
    agents: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Bench {
    /// Sizes of the release executables.
    Size,
    /// One agent on the local runtime: start-up time and idle memory.
    Agent,
    /// Coding runs on the local runtime, and flowcode: times and memory.
    Coding,
    /// Many agents on the cluster runtime: memory, reconcile times, writes at rest.
    Operator,
}

/// Builds release executables and measures.
///
/// # Errors
/// When something cannot be built, started or measured. A bar that is missed is
/// printed and written, and is no error.
pub fn run(args: &Args) -> anyhow::Result<()> {
    testenv::install_tls_provider();
    build_release()?;
    let wanted = |bench| args.what.is_empty() || args.what.contains(&bench);
    let runtime = tokio::runtime::Runtime::new().context("failed to start a runtime")?;
    if wanted(Bench::Size) {
        report::publish("size", &size::measure()?)?;
    }
    if wanted(Bench::Agent) {
        report::publish("agent", &runtime.block_on(agent::measure())?)?;
    }
    if wanted(Bench::Coding) {
        report::publish("coding", &runtime.block_on(coding::measure())?)?;
    }
    if wanted(Bench::Operator) {
        report::publish("operator", &runtime.block_on(operator::measure(args.agents))?)?;
    }
    Ok(())
}

fn build_release() -> anyhow::Result<()> {
    writeln!(std::io::stderr(), "bench: building release executables")?;
    // Each alone, as an image is built: together they would all have every feature that
    // any of them needs of a shared crate.
    for package in ["foundry-harness", "foundry-coding", "foundry-operator", "foundry-api", "fakes"]
    {
        repository::run("cargo", &["build", "--release", "--bins", "--package", package])?;
    }
    Ok(())
}

/// Folder of the release executables.
fn release_folder() -> anyhow::Result<PathBuf> {
    let text = repository::capture(
        "cargo",
        &["metadata", "--format-version=1", "--no-deps", "--offline"],
    )?;
    let metadata: Value = serde_json::from_str(&text).context("failed to read cargo metadata")?;
    let target = metadata["target_directory"].as_str().context("cargo names no target folder")?;
    Ok(PathBuf::from(target).join("release"))
}
