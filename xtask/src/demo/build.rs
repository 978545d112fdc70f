//! What the demo needs built: Foundry itself and, without a cluster, a control
//! plane.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

use crate::printer::say;
use crate::{control_plane, repository, tools};

/// Both builds side by side: the Go one takes as long as the Rust one. Neither
/// begins when the other cannot, or when a tool is missing that the story uses.
pub(super) async fn everything(kubeconfig: Option<&Path>) -> Result<()> {
    let needs_control_plane = kubeconfig.is_none() || !super::kubectl::on_path();
    if needs_control_plane {
        control_plane::ensure_possible()?;
    }
    tools::check(tools::OF_DEMO)?;
    if !needs_control_plane {
        return executables().await;
    }
    tokio::try_join!(executables(), control_plane::ensure()).map(drop)
}

async fn executables() -> Result<()> {
    if testenv::given_bin_folder().is_some() {
        // Whoever says where they are has built them.
        return Ok(());
    }
    say("building Foundry's programs, which takes some minutes the first time");
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
