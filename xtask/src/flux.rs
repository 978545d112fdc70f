//! `cargo xtask flux`: Flux' source and kustomize controllers, built from their pinned Go
//! modules into the cache, once. The GitOps suite runs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use testenv::{FLUX_CONTROLLERS, FLUX_CRDS, Flux, GoModule};

use crate::go::{Product, ask};
use crate::printer;

/// Options of `cargo xtask flux`.
#[derive(clap::Args)]
pub struct Args {
    /// Print where they are kept, and build nothing.
    #[arg(long)]
    path: bool,
    /// Build nothing, and fail when they are not in the cache.
    #[arg(long, conflicts_with = "path")]
    cached: bool,
    /// Give the build up after so many minutes. What was compiled by then is kept by Go, so
    /// that the next build goes on from there.
    #[arg(long, value_name = "MINUTES")]
    within: Option<u64>,
}

/// Builds what is missing, and prints where it is.
pub fn run(args: &Args) -> Result<()> {
    if args.cached {
        Flux::find()?;
    } else if !args.path {
        crate::runtime()?.block_on(build(args.within))?;
    }
    for product in products()? {
        printer::say(&product.module.folder()?.display().to_string());
    }
    Ok(())
}

async fn build(minutes: Option<u64>) -> Result<()> {
    let Some(minutes) = minutes else { return ensure_built().await };
    let limit = Duration::from_secs(minutes * 60);
    match tokio::time::timeout(limit, ensure_built()).await {
        Ok(built) => built,
        Err(_) => anyhow::bail!("Flux was not built within {minutes} minutes"),
    }
}

/// Makes sure that both are in the cache.
pub async fn ensure_built() -> Result<()> {
    // One after the other: each takes every core it gets.
    for product in products()? {
        product.ensure().await?;
    }
    Ok(())
}

fn products() -> Result<[Product; 2]> {
    let [source, kustomize] = FLUX_CONTROLLERS;
    let without_go = "leave out --gitops";
    Ok([
        Product {
            name: "Flux (source-controller)",
            contents: "source-controller",
            without_go,
            executables: &[FLUX_CONTROLLERS[0], FLUX_CRDS],
            package: "github.com/fluxcd/source-controller",
            output: source,
            flags: |_| Ok("-s -w".to_owned()),
            finish: |folder, _| finish(folder, FLUX_CONTROLLERS[0], &GoModule::flux_source()?),
            module: GoModule::flux_source()?,
        },
        Product {
            name: "Flux (kustomize-controller)",
            contents: "kustomize-controller",
            without_go,
            executables: &[FLUX_CONTROLLERS[1], FLUX_CRDS],
            package: "github.com/fluxcd/kustomize-controller",
            output: kustomize,
            flags: |_| Ok("-s -w".to_owned()),
            finish: |folder, _| finish(folder, FLUX_CONTROLLERS[1], &GoModule::flux_kustomize()?),
            module: GoModule::flux_kustomize()?,
        },
    ])
}

/// Nothing is kept that does not answer; its CRDs lie beside it.
fn finish(folder: &Path, tool: &str, module: &GoModule) -> Result<()> {
    ask(folder, tool, &["--help"])?;
    let types = source_of(module, tool)?.join("config/crd/bases");
    let kept = folder.join(FLUX_CRDS);
    fs::create_dir(&kept).with_context(|| format!("failed to create {}", kept.display()))?;
    let read = || format!("failed to read {}", types.display());
    for entry in fs::read_dir(&types).with_context(read)? {
        let file = entry.with_context(read)?;
        // Go keeps modules read-only; a copy of the text is the cache's own.
        let text = fs::read(file.path()).with_context(read)?;
        let copy = kept.join(file.file_name());
        fs::write(&copy, text).with_context(|| format!("failed to write {}", copy.display()))?;
    }
    Ok(())
}

/// Where Go keeps the controller's own module.
fn source_of(module: &GoModule, tool: &str) -> Result<PathBuf> {
    let name = format!("github.com/fluxcd/{tool}");
    let output = Command::new("go")
        .args(["list", "-m", "-f", "{{.Dir}}", &name])
        .current_dir(module.source())
        .output()
        .context("failed to run go")?;
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "go does not know where {name} is: {}", words.trim());
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}
