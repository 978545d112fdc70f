//! The Git repository that Flux reads: a checkout that the test edits, and the bare one that
//! is served.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use testenv::workspace_root;

use crate::gitops::manifests::{build, examples, files_beside};

/// What of the project a platform team keeps in its repository.
const KEPT: [&str; 2] = ["examples", "crds/yaml"];

/// The namespace of agents.
pub const NAMESPACE: &str = foundry_crds::meta::DEFAULT_NAMESPACE;

pub struct Repository {
    checkout: PathBuf,
    /// Folder of the bare repository.
    pub served: PathBuf,
}

impl Repository {
    /// The examples as they are, a kustomization at the top that names all of them, and one of
    /// types and rights.
    pub async fn create(folder: &Path) -> Self {
        let repository = Self { checkout: folder.join("checkout"), served: folder.join("served") };
        fs::create_dir_all(&repository.served).unwrap();
        for part in KEPT {
            copy(&workspace_root().join(part), &repository.checkout.join(part));
        }
        let agents = build(&examples().join("gitops/agents")).await;
        let beside = files_beside(&agents).into_iter().map(|file| file.display().to_string());
        let resources: Vec<_> =
            ["examples/gitops/agents".to_owned()].into_iter().chain(beside).collect();
        let mut everything = kustomization(&resources);
        everything["namespace"] = NAMESPACE.into();
        repository.write("kustomization.yaml", &everything);
        let parts = ["crds.yaml", "policies.yaml", "rbac.yaml"].map(str::to_owned);
        repository.write("crds/yaml/kustomization.yaml", &kustomization(&parts));
        repository.git(&["init", "--quiet", "--initial-branch", "main"]);
        repository.commit("Foundry and its agents");
        let bare = repository.served.join("foundry.git").display().to_string();
        repository.git(&["clone", "--quiet", "--bare", ".", &bare]);
        repository.git(&["remote", "add", "origin", &bare]);
        repository
    }

    /// The checkout's folder.
    pub fn checkout(&self) -> &Path {
        &self.checkout
    }

    /// Replaces words in a file, and pushes.
    pub fn edit(&self, file: &str, old: &str, new: &str) {
        let path = self.checkout.join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(old), "{file} does not say {old:?}");
        fs::write(&path, text.replace(old, new)).unwrap();
        self.commit("An edit");
        self.git(&["push", "--quiet", "origin", "main"]);
    }

    fn write(&self, file: &str, content: &Value) {
        // JSON is YAML.
        fs::write(self.checkout.join(file), format!("{content:#}\n")).unwrap();
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        let person = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
        self.git(&[&person[..], &["commit", "--quiet", "--message", message]].concat());
    }

    fn git(&self, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(&self.checkout);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let output = git.output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {words}");
    }
}

fn kustomization(resources: &[String]) -> Value {
    json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
    })
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
