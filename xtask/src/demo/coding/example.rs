//! `examples/coding`, with this run's addresses and keys.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use foundry_crds::meta::DEFAULT_NAMESPACE;
use serde_json::json;
use testenv::stack::GitAccess;
use testenv::within;

use super::super::cluster::Cluster;
use super::super::folder::DataFolder;
use super::super::overlay::Overlay;
use super::repository;
use crate::printer::say;

/// The run of the example, and the name of its agent.
pub(in crate::demo) const RUN: &str = "fix-greeting";

/// How long the cluster may take to take away what a removed run owned.
const PATIENCE: Duration = Duration::from_mins(1);

/// Removes the run of an earlier demo, with all that it owns: a run is about one task
/// and is never run twice.
pub(in crate::demo) async fn forget(cluster: &Cluster) -> Result<()> {
    let left = async |kind: &str| {
        let ask = ["get", kind, RUN, "--ignore-not-found", "--output", "name"];
        anyhow::Ok(cluster.person.run(&ask).await?.trim().to_owned())
    };
    if left("codingrun").await?.is_empty() {
        return Ok(());
    }
    say("\nAn earlier demo left its coding run; it goes, with its agent:");
    cluster.person.show(&["delete", "codingrun", RUN]).await?;
    within("the agent of the earlier run is gone", PATIENCE, || async {
        let left = left("agent").await?;
        ensure!(left.is_empty(), "{left} is there");
        Ok(())
    })
    .await
}

/// Writes the example for this run: where its repository is, and the Secrets that a
/// person would make with kubectl.
pub(in crate::demo) async fn lay(
    remote: String,
    access: &GitAccess,
    folder: &DataFolder,
) -> Result<PathBuf> {
    let GitAccess { host, api_url, private_key, known_hosts, token } = access;
    let read = |path: &Path| {
        fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))
    };
    let ssh = [("ssh-privatekey", read(private_key)?), ("known_hosts", read(known_hosts)?)];
    let git = [("GITHUB_TOKEN", read(token)?.trim().to_owned())];
    let env = json!([
        {"name": "FOUNDRY_GITHUB_HOST", "value": host},
        {"name": "FOUNDRY_GITHUB_API_URL", "value": api_url},
        // What a person's Go has compiled once serves here too.
        {"name": "GOCACHE", "value": repository::go_cache().await?},
    ]);
    Overlay::over("coding", &folder.path().join("coding"))?
        .namespace(DEFAULT_NAMESPACE)
        .secret("foundry-harness-ssh", &ssh)?
        .secret("foundry-harness-git", &git)?
        .set("Harness", "/spec/env", &env)
        .set("CodingRun", "/spec/repository/remote", &remote.into())
        .write()
}
