//! `examples/quickstart`, with this run's addresses.

use anyhow::{Result, ensure};

use super::cluster::Cluster;
use super::folder::DataFolder;
use super::overlay::Overlay;
use super::story::AGENT;

/// Applies it as the person; all that differs here is where the model is.
pub(super) async fn apply(cluster: &Cluster, model_url: &str, folder: &DataFolder) -> Result<()> {
    let run = folder.path().join("run");
    let overlay = Overlay::over("quickstart", &run)?;
    let run = overlay.set("Model", "/spec/baseUrl", &model_url.into()).write()?;
    cluster.person.show(&["apply", "-k", &run.display().to_string()]).await
}

/// The manifest leaves it open whether the agent should run, and an earlier run may
/// have ended with somebody stopping it. Takes that word back, whoever said it.
pub(super) async fn take_back_what_was_stopped(cluster: &Cluster) -> Result<()> {
    let words = "jsonpath={.spec.lifecycle}/{.spec.desiredState}";
    let said = cluster.person.run(&["get", "agent", AGENT, "-o", words]).await?;
    if said.trim() == "/" {
        return Ok(());
    }
    ensure!(
        !said.starts_with("archive"),
        "agent {AGENT} is archived, which is for good; start over with --fresh"
    );
    let patch = r#"{"spec":{"lifecycle":null,"desiredState":null}}"#;
    cluster.person.show(&["patch", "agent", AGENT, "--type", "merge", "--patch", patch]).await
}
