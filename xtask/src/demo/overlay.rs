//! Examples with this run's addresses: a kustomization over a folder of `examples/`
//! that says only what is different here.

use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use testenv::workspace_root;

use super::kubeconfig::write_private;

/// A kustomization in a folder of the demo's own.
pub(super) struct Overlay {
    folder: PathBuf,
    fields: Map<String, Value>,
}

impl Overlay {
    /// One over an example, which changes nothing yet.
    pub fn over(example: &str, folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)
            .with_context(|| format!("failed to create {}", folder.display()))?;
        let example = workspace_root().join("examples").join(example);
        let example = fs::canonicalize(&example)
            .with_context(|| format!("failed to find {}", example.display()))?;
        let mut fields = Map::new();
        fields.insert("apiVersion".to_owned(), "kustomize.config.k8s.io/v1beta1".into());
        fields.insert("kind".to_owned(), "Kustomization".into());
        fields.insert("resources".to_owned(), json!([relative(folder, &example)]));
        Ok(Self { folder: folder.to_path_buf(), fields })
    }

    /// Puts all that is made into this namespace.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.fields.insert("namespace".to_owned(), namespace.into());
        self
    }

    /// Gives one field of every object of a kind a value.
    pub fn set(mut self, kind: &str, field: &str, value: &Value) -> Self {
        let patch = json!([{"op": "add", "path": field, "value": value}]).to_string();
        self.push("patches", json!({"target": {"kind": kind}, "patch": patch}));
        self
    }

    /// Adds a Secret: its keys, and what each holds.
    pub fn secret(mut self, name: &str, keys: &[(&str, String)]) -> Result<Self> {
        for (key, content) in keys {
            write_private(&self.folder.join(key), content)?;
        }
        let files: Vec<&str> = keys.iter().map(|(key, _)| *key).collect();
        let options = json!({"disableNameSuffixHash": true});
        self.push("secretGenerator", json!({"name": name, "files": files, "options": options}));
        Ok(self)
    }

    /// Writes it, and gives the folder for `kubectl apply -k`.
    pub fn write(self) -> Result<PathBuf> {
        let file = self.folder.join("kustomization.yaml");
        // JSON is YAML.
        fs::write(&file, format!("{:#}\n", Value::Object(self.fields)))
            .with_context(|| format!("failed to write {}", file.display()))?;
        Ok(self.folder)
    }

    fn push(&mut self, field: &str, item: Value) {
        let list = self.fields.entry(field).or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut() {
            list.push(item);
        }
    }
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
