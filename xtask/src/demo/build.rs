//! What the demo needs built: Foundry itself and, without a cluster, a control
//! plane.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

use crate::{control_plane, repository};

/// Both builds side by side: the Go one takes as long as the Rust one. Neither
/// begins when the other cannot.
pub(super) async fn everything(kubeconfig: Option<&Path>) -> Result<()> {
    if kubeconfig.is_some() && super::kubectl::on_path() {
        return executables().await;
    }
    control_plane::ensure_possible()?;
    tokio::try_join!(executables(), control_plane::ensure()).map(drop)
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
