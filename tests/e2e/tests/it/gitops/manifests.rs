//! What the examples say, as kustomize builds it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use foundry_crds::meta;
use serde_json::Value;
use testenv::Executables;
use tokio::process::Command;

/// The folder of examples in the checkout.
pub fn examples() -> PathBuf {
    testenv::workspace_root().join("examples")
}

/// Every object that a folder's kustomization makes.
pub async fn build(folder: &Path) -> Vec<Value> {
    let kubectl = Executables::find().unwrap().kubectl;
    let output = Command::new(kubectl).arg("kustomize").arg(folder).output().await.unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {words}", folder.display());
    documents(&String::from_utf8(output.stdout).unwrap())
}

/// Each document of a YAML text that is an object.
pub fn documents(text: &str) -> Vec<Value> {
    let documents = format!("\n{text}");
    let documents = documents.split("\n---").filter(|it| it.lines().any(is_content));
    // The line end is the last one of a text, where a document ends in one.
    documents.map(|it| foundry_crds::yaml::from_yaml(&format!("{it}\n")).unwrap()).collect()
}

fn is_content(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#') && !line.starts_with("---")
}

/// Kind and name.
pub fn id(object: &Value) -> (String, String) {
    let word = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    (word("/kind").to_owned(), word("/metadata/name").to_owned())
}

/// Whether an object is of a kind of ours.
pub fn is_ours(object: &Value) -> bool {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    version.starts_with(&format!("{}/", meta::GROUP))
}

/// The files of `examples/`, relative to the checkout, that say what the folder of agents does
/// not say yet, each object once: two examples may describe the same Model in two ways.
pub fn files_beside(said: &[Value]) -> Vec<PathBuf> {
    let mut known: BTreeSet<_> = said.iter().map(id).collect();
    let mut beside = Vec::new();
    for file in yaml_files(&examples()) {
        let objects = documents(&std::fs::read_to_string(&file).unwrap());
        let ids: Vec<_> = objects.iter().map(id).collect();
        let is_example = !objects.is_empty() && objects.iter().any(is_ours);
        if is_example && ids.iter().all(|id| !known.contains(id)) {
            known.extend(ids);
            beside.push(file.strip_prefix(testenv::workspace_root()).unwrap().to_path_buf());
        }
    }
    beside
}

fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files.extend(yaml_files(&path));
        } else if path.extension().is_some_and(|it| it == "yaml") {
            files.push(path);
        }
    }
    files
}
