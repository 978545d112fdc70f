//! The Go build itself.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use testenv::Process;

use super::Product;
use crate::printer::{Progress, elapsed};

/// Twelve minutes on two cores have been measured; a slow machine has an hour.
const PATIENCE: Duration = Duration::from_hours(1);

/// Builds the product's one executable, tries it, and puts it in place by rename.
pub(super) async fn build(product: &Product, kept: &Path) -> Result<()> {
    let Product { name, contents, finish, .. } = product;
    let parent = kept.parent().context("the cache has no folder")?;
    let version = product.module.version()?;
    ensure_go(product)?;
    let work = tempfile::tempdir_in(parent).context("failed to make a folder in the cache")?;

    let started = Instant::now();
    let mut progress = Progress::new();
    progress.show(&format!("{name}: fetching the Go modules of {contents} {version}"));
    let total = count_packages(product, work.path()).await?;
    compile(product, work.path(), total, &mut progress).await?;
    finish(work.path(), version)?;
    if kept.exists() {
        fs::remove_dir_all(kept)
            .with_context(|| format!("failed to replace {}", kept.display()))?;
    }
    fs::rename(work.path(), kept)
        .with_context(|| format!("failed to put {} in place", kept.display()))?;
    progress.done(&format!("{name}: {contents} {version} built in {}", elapsed(started)));
    Ok(())
}

/// Says what to do where there is no Go.
pub(super) fn ensure_go(product: &Product) -> Result<()> {
    let works = Command::new("go").arg("version").output().is_ok_and(|it| it.status.success());
    let Product { name, without_go, .. } = product;
    ensure!(
        works,
        "Go is missing, and the {name} is built with it: install Go 1.26 or newer \
         (https://go.dev/dl), or {without_go}"
    );
    Ok(())
}

/// Asks a built executable something, and gives its answer.
pub fn ask(folder: &Path, tool: &str, arguments: &[&str]) -> Result<String> {
    let Output { status, stdout, stderr } = Command::new(folder.join(tool))
        .args(arguments)
        .output()
        .with_context(|| format!("failed to run the built {tool}"))?;
    let stderr = String::from_utf8_lossy(&stderr);
    ensure!(status.success(), "the built {tool} does not work ({status}): {}", stderr.trim());
    Ok(String::from_utf8_lossy(&stdout).into_owned())
}

/// How many packages a build from nothing compiles. The first time this fetches
/// the modules.
async fn count_packages(product: &Product, work: &Path) -> Result<usize> {
    let mut list = Command::new("go");
    list.args(["list", "-deps", product.package]);
    list.current_dir(product.module.source()).env("CGO_ENABLED", "0");
    let log = work.join("packages.log");
    let mut list = Process::spawn("go list", &list, &log)?;
    let status = list.finish(PATIENCE).await?;
    ensure!(status.success(), "go could not fetch the modules ({status}): {}", list.last_words());
    Ok(count_lines(&log))
}

async fn compile(
    product: &Product,
    work: &Path,
    total: usize,
    progress: &mut Progress,
) -> Result<()> {
    let Product { name, contents, .. } = product;
    let log = work.join("build.log");
    let mut go = Process::spawn("go build", &command(product, work)?, &log)?;
    let started = Instant::now();
    while go.exited()?.is_none() {
        if started.elapsed() > PATIENCE {
            bail!("the {name} was not built within an hour: {}", go.last_words());
        }
        progress.show(&format!(
            "{name}: compiling {contents}, {} of {total} packages, {}",
            count_lines(&log).min(total),
            elapsed(started),
        ));
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let status = go.finish(PATIENCE).await?;
    ensure!(status.success(), "go could not build ({status}): {}", go.last_words());
    Ok(())
}

fn command(product: &Product, work: &Path) -> Result<Command> {
    let flags = (product.flags)(product.module.version()?)?;
    let mut go = Command::new("go");
    go.args(["build", "-v", "-trimpath", "-ldflags", &flags, "-o"]);
    go.arg(work.join(product.output)).arg(product.package);
    go.current_dir(product.module.source()).env("CGO_ENABLED", "0");
    Ok(go)
}

fn count_lines(log: &Path) -> usize {
    let text = fs::read(log).unwrap_or_default();
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count()
}
