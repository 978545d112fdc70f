//! `cargo xtask test`: every suite, on real parts.

mod build;
mod report;
mod suite;
mod surroundings;

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::printer::{elapsed, say};
use crate::{check, control_plane, flux, helm, kwok, tools};
use report::Report;
use suite::Selection;
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
    /// Run only the suite with Flux' own controllers, which are built where they are missing.
    #[arg(long, conflicts_with_all = ["filter", "package"])]
    gitops: bool,
}

/// Tests that run Flux, by the start of their paths: its controllers take longer to build
/// than everything else.
const OF_FLUX: &str = "gitops::flux::";

impl Args {
    fn selection(&self) -> Selection<'_> {
        if self.gitops {
            Selection::Only(OF_FLUX)
        } else {
            Selection::Without(OF_FLUX, self.filter.as_deref())
        }
    }

    /// Whether the suites of this package are asked for.
    fn wants(&self, package: &str) -> bool {
        let named = self.package.is_empty() || self.package.iter().any(|it| it == package);
        named && (!self.gitops || package == "foundry-e2e")
    }
}

/// Builds, checks and tests everything; the last line it prints is the sum.
pub fn run(args: &Args) -> Result<()> {
    tools::check(tools::OF_TESTS)?;
    crate::runtime()?.block_on(run_suites(args))
}

async fn run_suites(args: &Args) -> Result<()> {
    let started = Instant::now();
    // The Go builds take as long as the Rust build: side by side.
    let (tests, go) = tokio::join!(build::tests(args), go_builds(args.gitops));
    let tests = tests?;
    go?;
    if !args.no_lint && !args.gitops {
        lint().await?;
    }

    let surroundings = Surroundings::start().await?;
    let mut report = Report::default();
    for suite in &tests.suites {
        report.add(suite::run(suite, &surroundings, args.selection()).await?);
    }
    if args.filter.is_none() && args.package.is_empty() && !args.gitops {
        report.add(suite::run_documentation(&surroundings).await?);
    }
    surroundings.stop().await?;

    say(&format!("all suites in {}", elapsed(started)));
    say(&report.sum());
    ensure!(report.is_good(), "{}", report.what_failed());
    Ok(())
}

/// One after the other: each takes every core it gets.
async fn go_builds(gitops: bool) -> Result<()> {
    control_plane::ensure().await?;
    kwok::ensure().await?;
    if gitops { flux::ensure_built().await } else { helm::ensure().await }
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
