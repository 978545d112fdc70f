//! `cargo xtask control-plane`: etcd, Kubernetes and kubectl, built from pinned Go
//! modules into the cache, once.

use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use testenv::{CONTROL_PLANE_TOOLS, Executables, GoModule};

use crate::go::{Product, ask};
use crate::printer;

/// Options of `cargo xtask control-plane`.
#[derive(clap::Args)]
pub struct Args {
    /// Print the folder it is kept in, and build nothing.
    #[arg(long)]
    path: bool,
}

/// Builds what is missing and prints where it is; it serves as
/// `KUBEBUILDER_ASSETS` for other tools too.
pub fn run(args: &Args) -> Result<()> {
    let product = product()?;
    if !args.path {
        crate::runtime()?.block_on(product.ensure())?;
    }
    printer::say(&product.module.folder()?.display().to_string());
    Ok(())
}

/// Makes sure that a control plane can start: nothing to do when
/// `KUBEBUILDER_ASSETS` or the cache has every part of it.
pub async fn ensure() -> Result<()> {
    if Executables::find().is_ok() {
        return Ok(());
    }
    product()?.ensure().await?;
    Executables::find().map(drop)
}

/// Finds out whether [`ensure`] can do its work, and does none of it: the cache can
/// be written and Go is there.
pub fn ensure_possible() -> Result<()> {
    if Executables::find().is_ok() {
        return Ok(());
    }
    product()?.ensure_possible()
}

/// One executable that is each part by the name it is called by.
fn product() -> Result<Product> {
    Ok(Product {
        name: "control plane",
        contents: "Kubernetes and etcd",
        without_go: "set KUBEBUILDER_ASSETS to a folder with etcd, \
                     kube-apiserver, kube-controller-manager and kubectl",
        executables: &CONTROL_PLANE_TOOLS,
        package: ".",
        output: "kube",
        flags,
        finish,
        module: GoModule::control_plane()?,
    })
}

/// Without the version in it, clients that parse the server's version stumble.
fn flags(version: &str) -> Result<String> {
    let mut numbers = version.trim_start_matches('v').split('.');
    let (Some(major), Some(minor)) = (numbers.next(), numbers.next()) else {
        bail!("{version} is not a Kubernetes version");
    };
    let set = |name: &str, value: &str| format!(" -X k8s.io/component-base/version.{name}={value}");
    let mut flags = "-s -w".to_owned();
    for (name, value) in [("gitVersion", version), ("gitMajor", major), ("gitMinor", minor)] {
        flags.push_str(&set(name, value));
    }
    Ok(flags)
}

/// Nothing is kept that does not answer.
fn finish(folder: &Path, version: &str) -> Result<()> {
    for tool in CONTROL_PLANE_TOOLS {
        symlink("kube", folder.join(tool)).with_context(|| format!("failed to link {tool}"))?;
    }
    let answer = ask(folder, "kube-apiserver", &["--version"])?;
    ensure!(answer.contains(version), "the built kube-apiserver says it is {}", answer.trim());
    let answer = ask(folder, "etcd", &["--version"])?;
    ensure!(answer.contains("etcd Version"), "the built etcd says {}", answer.trim());
    ask(folder, "kubectl", &["version", "--client"]).map(drop)
}
