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
use crate::{control_plane, kwok, repository};

/// Options of `cargo xtask bench`.
#[derive(clap::Args)]
pub struct Args {
    /// What to measure; everything when nothing is named.
    #[arg(value_enum)]
    what: Vec<Bench>,
    /// Objects in the operator's bench, a measurement each; 0 leaves them out.
    #[arg(long, value_delimiter = ',', value_name = "COUNTS", default_value = "100,1000,10000")]
    crs: Vec<usize>,
    /// Coding runs of the operator's burst; 0 leaves it out.
    #[arg(long, value_name = "COUNT", default_value_t = 5100)]
    runs: usize,
    /// Minutes in which the operator, at rest, may write nothing.
    #[arg(long, value_name = "MINUTES", default_value_t = 10)]
    quiet_minutes: u64,
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
    /// The operator with many objects on played nodes: memory, times, writes, a burst of
    /// runs, hand-over, rest; fails beyond a bar.
    Operator,
}

/// Builds release executables and measures.
///
/// # Errors
/// When something cannot be built, started or measured, or the operator is beyond a bar.
/// Another bar that is missed is printed and written, and is no error.
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
        runtime.block_on(async {
            control_plane::ensure().await?;
            kwok::ensure().await
        })?;
        let options = operator::Options {
            sizes: args.crs.iter().copied().filter(|size| *size > 0).collect(),
            runs: args.runs,
            quiet_minutes: args.quiet_minutes,
        };
        let operator::Measured { figures, beside } =
            runtime.block_on(operator::measure(&options))?;
        report::publish_with("operator", &figures, &beside)?;
        let beyond = figures.iter().filter(|figure| !figure.holds).count();
        ensure!(beyond == 0, "{beyond} of the operator's figures are beyond their bars");
    }
    Ok(())
}

impl Bench {
    /// Whose executables it runs.
    fn packages(self) -> &'static [&'static str] {
        const STACK: &[&str] =
            &["foundry-harness", "foundry-coding", "foundry-operator", "foundry-api", "fakes"];
        match self {
            Self::Size | Self::Agent | Self::Coding => STACK,
            Self::Operator => &["foundry-operator"],
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
