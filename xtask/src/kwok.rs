//! `cargo xtask kwok`: KWOK, built from its pinned Go module into the cache, once. It plays
//! nodes in tests and in the operator's bench.

use std::path::Path;

use anyhow::{Result, ensure};
use testenv::GoModule;

use crate::go::{Product, ask};
use crate::printer;

/// Options of `cargo xtask kwok`.
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
    printer::say(&product.module.folder()?.join(KWOK).display().to_string());
    Ok(())
}

/// Makes sure that there is one: nothing to do when `KUBEBUILDER_ASSETS` or the cache has it.
pub async fn ensure() -> Result<()> {
    if testenv::find_kwok().is_ok() {
        return Ok(());
    }
    product()?.ensure().await
}

const KWOK: &str = "kwok";

fn product() -> Result<Product> {
    Ok(Product {
        name: "KWOK",
        contents: "KWOK",
        without_go: "set KUBEBUILDER_ASSETS to a folder with kwok",
        executables: &[KWOK],
        package: "sigs.k8s.io/kwok/cmd/kwok",
        output: KWOK,
        // It knows its version from the module.
        flags: |_| Ok("-s -w".to_owned()),
        finish,
        module: GoModule::kwok()?,
    })
}

/// Nothing is kept that does not answer.
fn finish(folder: &Path, version: &str) -> Result<()> {
    let answer = ask(folder, KWOK, &["--version"])?;
    ensure!(answer.contains(version), "the built kwok says it is {}", answer.trim());
    Ok(())
}
