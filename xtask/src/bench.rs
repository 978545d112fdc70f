//! `cargo xtask bench`: figures, never tests.

mod agent;
mod coding;
mod kernel;
mod operator;
mod report;
mod size;
mod world;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use clap::ValueEnum as _;
use serde_json::Value;

use crate::printer::say;
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
    /// Another revision that the kernel's bench plays in turns with the working tree.
    #[arg(long, value_name = "REVISION")]
    against: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Bench {
    /// Sizes of the release executables.
    Size,
    /// One agent on the local runtime: start-up time and idle memory.
    Agent,
    /// Coding runs on the local runtime, and flowcode: times and memory.
    Coding,
    /// Turns of flowcode: time and memory beside the model's own, and the kernel's parts.
    Kernel,
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
    let wanted = |bench| args.what.is_empty() || args.what.contains(&bench);
    ensure!(
        args.against.is_none() || wanted(Bench::Kernel),
        "--against is for the kernel's bench: write cargo xtask bench kernel --against …"
    );
    build_release(&wanted)?;
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
    if wanted(Bench::Kernel) {
        let kernel::Measured { figures, beside, lines } =
            runtime.block_on(kernel::measure(args.against.as_deref()))?;
        report::publish_with("kernel", &figures, &beside)?;
        for line in &lines {
            say(line);
        }
    }
    if wanted(Bench::Operator) {
        report::publish("operator", &runtime.block_on(operator::measure(args.agents))?)?;
    }
    Ok(())
}

impl Bench {
    /// Whose executables it runs.
    fn packages(self) -> &'static [&'static str] {
        const STACK: &[&str] =
            &["foundry-harness", "foundry-coding", "foundry-operator", "foundry-api", "fakes"];
        match self {
            Self::Size | Self::Agent | Self::Coding | Self::Operator => STACK,
            Self::Kernel => &["foundry-coding", "fakes"],
        }
    }
}

fn build_release(wanted: &dyn Fn(Bench) -> bool) -> anyhow::Result<()> {
    if testenv::given_bin_folder().is_some() {
        return Ok(());
    }
    writeln!(std::io::stderr(), "bench: building release executables")?;
    let wanted = Bench::value_variants().iter().copied().filter(|bench| wanted(*bench));
    let packages: BTreeSet<&str> = wanted.flat_map(Bench::packages).copied().collect();
    // Each alone, as an image is built: together they would all have every feature that
    // any of them needs of a shared crate.
    for package in packages {
        repository::run("cargo", &["build", "--release", "--bins", "--package", package])?;
    }
    Ok(())
}

/// Folder of the release executables: where they were built, or `FOUNDRY_BIN_DIR`.
fn release_folder() -> anyhow::Result<PathBuf> {
    match testenv::given_bin_folder() {
        Some(folder) => Ok(folder),
        None => Ok(target_folder()?.join("release")),
    }
}

/// Builds an example of a crate, unless executables are given; gives its path.
fn example(package: &str, name: &str) -> anyhow::Result<PathBuf> {
    if testenv::given_bin_folder().is_none() {
        let words = ["build", "--release", "--package", package, "--example", name];
        repository::run("cargo", &words)?;
    }
    Ok(release_folder()?.join("examples").join(name))
}

/// Where cargo builds.
fn target_folder() -> anyhow::Result<PathBuf> {
    let text = repository::capture(
        "cargo",
        &["metadata", "--format-version=1", "--no-deps", "--offline"],
    )?;
    let metadata: Value = serde_json::from_str(&text).context("failed to read cargo metadata")?;
    let target = metadata["target_directory"].as_str().context("cargo names no target folder")?;
    Ok(PathBuf::from(target))
}
