//! `cargo xtask helm`: Helm, built from its pinned Go module into the cache, once. Tests of
//! the chart run it.

use std::path::Path;

use anyhow::{Result, ensure};
use testenv::GoModule;

use crate::go::{Product, ask};
use crate::printer;

/// Options of `cargo xtask helm`.
#[derive(clap::Args)]
pub struct Args {
    /// Print where it is kept, and build nothing.
    #[arg(long)]
    path: bool,
}

/// Builds it where it is missing, and prints where it is.
pub fn run(args: &Args) -> Result<()> {
    let product = product()?;
    if !args.path {
        crate::runtime()?.block_on(product.ensure())?;
    }
    printer::say(&product.module.folder()?.join(HELM).display().to_string());
    Ok(())
}

/// Makes sure that there is one: nothing to do when `KUBEBUILDER_ASSETS` or the cache has it.
pub async fn ensure() -> Result<()> {
    if testenv::find_helm().is_ok() {
        return Ok(());
    }
    product()?.ensure().await
}

const HELM: &str = "helm";
const VERSION: &str = "helm.sh/helm/v4/internal/version.version";

fn product() -> Result<Product> {
    Ok(Product {
        name: "Helm",
        contents: "Helm",
        without_go: "set KUBEBUILDER_ASSETS to a folder with helm",
        executables: &[HELM],
        package: "helm.sh/helm/v4/cmd/helm",
        output: HELM,
        flags: |version| Ok(format!("-s -w -X {VERSION}={version}")),
        finish,
        module: GoModule::helm()?,
    })
}

/// Nothing is kept that does not answer.
fn finish(folder: &Path, version: &str) -> Result<()> {
    let answer = ask(folder, HELM, &["version", "--template", "{{.Version}}"])?;
    ensure!(answer.trim() == version, "the built helm says it is {}", answer.trim());
    Ok(())
}
