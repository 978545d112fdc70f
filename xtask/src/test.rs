//! `cargo xtask test`: every suite, on real parts.

mod build;
mod report;
mod suite;
mod surroundings;

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::printer::{elapsed, say};
use crate::{check, control_plane, helm, kwok, tools};
use report::Report;
use surroundings::Surroundings;

/// Options of `cargo xtask test`.
#[derive(clap::Args)]
pub struct Args {
    /// Run only tests whose path contains this.
    #[arg(long)]
    filter: Option<String>,
    /// Run only the suites of this package; may be given more than once.
    #[arg(long, value_name = "NAME")]
    package: Vec<String>,
    /// Leave out formatting, clippy, floors, generated files and the like.
    #[arg(long)]
    no_lint: bool,
}

/// Builds, checks and tests everything; the last line it prints is the sum.
pub fn run(args: &Args) -> Result<()> {
    tools::check(tools::OF_TESTS)?;
    crate::runtime()?.block_on(run_suites(args))
}

async fn run_suites(args: &Args) -> Result<()> {
    let started = Instant::now();
    // The Go builds take as long as the Rust build: side by side.
    let (tests, go) = tokio::join!(build::tests(args), go_builds());
    let tests = tests?;
    go?;
    if !args.no_lint {
        lint().await?;
    }

    let surroundings = Surroundings::start().await?;
    let mut report = Report::default();
    for suite in &tests.suites {
        report.add(suite::run(suite, &surroundings, args.filter.as_deref()).await?);
    }
    if args.filter.is_none() && args.package.is_empty() {
        report.add(suite::run_documentation(&surroundings).await?);
    }
    surroundings.stop().await?;

    say(&format!("all suites in {}", elapsed(started)));
    say(&report.sum());
    ensure!(report.is_good(), "{}", report.what_failed());
    Ok(())
}

/// One after the other: each takes every core it gets.
async fn go_builds() -> Result<()> {
    control_plane::ensure().await?;
    helm::ensure().await?;
    kwok::ensure().await
}

/// The checks print through tools of their own and block.
async fn lint() -> Result<()> {
    let checks = tokio::task::spawn_blocking(|| {
        for (name, check) in check::CHECKS {
            let started = Instant::now();
            check().with_context(|| format!("check failed: {name}"))?;
            say(&format!("ok    {name}, {}", elapsed(started)));
        }
        anyhow::Ok(())
    });
    match checks.await {
        Ok(result) => result,
        Err(_) => bail!("a check broke off"),
    }
}
