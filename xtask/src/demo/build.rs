//! What the demo needs built: Foundry itself and, without a cluster, a control
//! plane.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

use crate::{control_plane, repository};

/// Both builds side by side: the Go one takes as long as the Rust one.
pub(super) async fn everything(kubeconfig: Option<&Path>) -> Result<()> {
    let cluster = async {
        match kubeconfig {
            Some(_) if super::kubectl::on_path() => Ok(()),
            _ => control_plane::ensure().await,
        }
    };
    tokio::try_join!(executables(), cluster).map(drop)
}

async fn executables() -> Result<()> {
    let status = Command::new("cargo")
        .args(["build", "--quiet", "--workspace", "--bins"])
        .current_dir(repository::root())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .status()
        .await
        .context("failed to run cargo")?;
    ensure!(status.success(), "the workspace does not build ({status})");
    Ok(())
}
