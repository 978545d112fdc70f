//! The Go build itself.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use testenv::{CONTROL_PLANE_TOOLS, GoModule, Process};

use crate::printer::{Progress, elapsed};

/// Twelve minutes on two cores have been measured; a slow machine has an hour.
const PATIENCE: Duration = Duration::from_hours(1);

/// Builds the module's one executable, tries it, and puts it in place by rename.
pub(super) async fn build(module: &GoModule, kept: &Path) -> Result<()> {
    let parent = kept.parent().context("the cache has no folder")?;
    let version = module.version_of("k8s.io/kubernetes")?;
    ensure_go()?;
    let work = tempfile::tempdir_in(parent).context("failed to make a folder in the cache")?;

    let started = Instant::now();
    let mut progress = Progress::new();
    progress.show(&format!("control plane: fetching the Go modules of Kubernetes {version}"));
    let total = count_packages(module, work.path()).await?;
    compile(module, work.path(), total, &mut progress).await?;
    link(work.path())?;
    try_out(work.path(), version)?;
    if kept.exists() {
        fs::remove_dir_all(kept)
            .with_context(|| format!("failed to replace {}", kept.display()))?;
    }
    fs::rename(work.path(), kept)
        .with_context(|| format!("failed to put {} in place", kept.display()))?;
    progress.done(&format!("control plane: Kubernetes {version} built in {}", elapsed(started)));
    Ok(())
}

pub(super) fn ensure_go() -> Result<()> {
    let works = Command::new("go").arg("version").output().is_ok_and(|it| it.status.success());
    ensure!(
        works,
        "Go is missing, and the control plane is built with it: install Go 1.26 or newer \
         (https://go.dev/dl), or set KUBEBUILDER_ASSETS to a folder with etcd, \
         kube-apiserver, kube-controller-manager and kubectl"
    );
    Ok(())
}

/// How many packages a build from nothing compiles. The first time this fetches
/// the modules.
async fn count_packages(module: &GoModule, work: &Path) -> Result<usize> {
    let mut list = Command::new("go");
    list.args(["list", "-deps", "."]).current_dir(module.source()).env("CGO_ENABLED", "0");
    let log = work.join("packages.log");
    let mut list = Process::spawn("go list", &list, &log)?;
    let status = list.finish(PATIENCE).await?;
    ensure!(status.success(), "go could not fetch the modules ({status}): {}", list.last_words());
    Ok(count_lines(&log))
}

async fn compile(
    module: &GoModule,
    work: &Path,
    total: usize,
    progress: &mut Progress,
) -> Result<()> {
    let log = work.join("build.log");
    let mut go = Process::spawn("go build", &command(module, work)?, &log)?;
    let started = Instant::now();
    while go.exited()?.is_none() {
        if started.elapsed() > PATIENCE {
            bail!("the control plane was not built within an hour: {}", go.last_words());
        }
        progress.show(&format!(
            "control plane: compiling Kubernetes and etcd, {} of {total} packages, {}",
            count_lines(&log).min(total),
            elapsed(started),
        ));
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let status = go.finish(PATIENCE).await?;
    ensure!(status.success(), "go could not build ({status}): {}", go.last_words());
    Ok(())
}

/// Without the version in it, clients that parse the server's version stumble.
fn command(module: &GoModule, work: &Path) -> Result<Command> {
    let version = module.version_of("k8s.io/kubernetes")?;
    let mut numbers = version.trim_start_matches('v').split('.');
    let (Some(major), Some(minor)) = (numbers.next(), numbers.next()) else {
        bail!("{version} is not a Kubernetes version");
    };
    let set = |name: &str, value: &str| format!(" -X k8s.io/component-base/version.{name}={value}");
    let mut flags = "-s -w".to_owned();
    for (name, value) in [("gitVersion", version), ("gitMajor", major), ("gitMinor", minor)] {
        flags.push_str(&set(name, value));
    }
    let mut go = Command::new("go");
    go.args(["build", "-v", "-trimpath", "-ldflags", &flags, "-o"]);
    go.arg(work.join("kube")).arg(".");
    go.current_dir(module.source()).env("CGO_ENABLED", "0");
    Ok(go)
}

fn link(work: &Path) -> Result<()> {
    for tool in CONTROL_PLANE_TOOLS {
        symlink("kube", work.join(tool)).with_context(|| format!("failed to link {tool}"))?;
    }
    Ok(())
}

/// Nothing is kept that does not answer.
fn try_out(work: &Path, version: &str) -> Result<()> {
    let answer = ask(work, "kube-apiserver", &["--version"])?;
    ensure!(answer.contains(version), "the built kube-apiserver says it is {}", answer.trim());
    let answer = ask(work, "etcd", &["--version"])?;
    ensure!(answer.contains("etcd Version"), "the built etcd says {}", answer.trim());
    ask(work, "kubectl", &["version", "--client"]).map(drop)
}

fn ask(work: &Path, tool: &str, arguments: &[&str]) -> Result<String> {
    let Output { status, stdout, stderr } = Command::new(work.join(tool))
        .args(arguments)
        .output()
        .with_context(|| format!("failed to run the built {tool}"))?;
    let stderr = String::from_utf8_lossy(&stderr);
    ensure!(status.success(), "the built {tool} does not work ({status}): {}", stderr.trim());
    Ok(String::from_utf8_lossy(&stdout).into_owned())
}

fn count_lines(log: &Path) -> usize {
    let text = fs::read(log).unwrap_or_default();
    text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count()
}
