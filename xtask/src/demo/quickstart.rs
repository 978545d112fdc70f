//! `examples/quickstart`, with this run's addresses.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use testenv::workspace_root;

use super::cluster::Cluster;
use super::folder::DataFolder;
use super::story::AGENT;

/// Applies it as the person: a kustomization over the example that only says where
/// the model is in this run.
pub(super) async fn apply(cluster: &Cluster, model_url: &str, folder: &DataFolder) -> Result<()> {
    let run = folder.path().join("run");
    fs::create_dir_all(&run).with_context(|| format!("failed to create {}", run.display()))?;
    let example = fs::canonicalize(workspace_root().join("examples/quickstart"))
        .context("failed to find examples/quickstart")?;
    let patch = json!([{"op": "add", "path": "/spec/baseUrl", "value": model_url}]);
    // JSON is YAML.
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [relative(&run, &example)],
        "patches": [{"target": {"kind": "Model"}, "patch": patch.to_string()}],
    });
    let file = run.join("kustomization.yaml");
    fs::write(&file, format!("{kustomization:#}\n"))
        .with_context(|| format!("failed to write {}", file.display()))?;
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

/// kustomize takes bases by relative path only. Both paths are absolute and real.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_up_to_what_is_shared_and_down_again() {
        let relative = |from: &str, to: &str| relative(Path::new(from), Path::new(to));
        let data = "/home/ann/my data/run";
        assert_eq!(
            relative(data, "/src/foundry/examples"),
            Path::new("../../../../src/foundry/examples")
        );
        assert_eq!(relative(data, "/home/ann/foundry"), Path::new("../../foundry"));
        assert_eq!(relative(data, "/home/ann/my data/run/x"), Path::new("x"));
    }
}
