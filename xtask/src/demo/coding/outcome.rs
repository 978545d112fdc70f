//! What came of the run, compared with the last demo's: the same input gives the same
//! plan, change and text.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use testenv::{bin_folder, workspace_root};

use super::super::folder::DataFolder;
use super::scenes::Plan;
use crate::printer::say;

/// Digests of what came of a run.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outcome {
    plan: String,
    diff: String,
    text: String,
}

/// What a demo leaves for the next one.
#[derive(Serialize, Deserialize)]
struct Last {
    /// Digest of what it was made of: with other input nothing need be the same.
    input: String,
    outcome: Outcome,
}

impl Outcome {
    /// Of this plan, this change and this text of the pull request.
    pub fn new(plan: &Plan, diff: &str, text: &str) -> Self {
        Self { plan: sha256(&plan.text), diff: sha256(diff), text: sha256(text) }
    }

    /// Fails when the last demo had the same input and not the same outcome, and
    /// leaves this one for the next.
    pub fn compare_with_the_last(self, folder: &DataFolder) -> Result<()> {
        self.compare(&folder.path().join("coding/last outcome.json"), input()?)
    }

    fn compare(self, file: &Path, input: String) -> Result<()> {
        let last = fs::read(file).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let last = last.filter(|last: &Last| last.input == input);
        if let Some(last) = last {
            let Last { outcome, .. } = last;
            ensure!(
                outcome == self,
                "the last demo had the same input and another outcome: {outcome:?}, not {self:?}"
            );
            say("Plan, change and pull request are the last demo's, letter by letter.");
        }
        let this = Last { input, outcome: self };
        let text = serde_json::to_vec(&this).context("the outcome is strange")?;
        fs::write(file, text).with_context(|| format!("failed to write {}", file.display()))
    }
}

/// SHA-256 of a text, in lower-case hex.
pub(super) fn sha256(text: &str) -> String {
    hex(Sha256::digest(text))
}

fn hex(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().fold(String::new(), |mut hex, byte| {
        // Writing to a String does not fail.
        write!(hex, "{byte:02x}").ok();
        hex
    })
}

/// The example, what the model says, and which build of the harness it was.
fn input() -> Result<String> {
    let root = workspace_root();
    let mut files = files_below(&root.join("examples/coding"))?;
    files.push(root.join("tests/fakes/scripts/coding.yaml"));
    files.sort();
    let mut digest = Sha256::new();
    for file in files {
        let text = fs::read(&file).with_context(|| format!("failed to read {}", file.display()))?;
        digest.update(Sha256::digest(file.as_os_str().as_encoded_bytes()));
        digest.update(Sha256::digest(text));
    }
    for program in ["harness-coding", "foundry-api"] {
        let path = bin_folder()?.join(program);
        let built = fs::metadata(&path).and_then(|built| Ok((built.len(), built.modified()?)));
        let built = built.with_context(|| format!("failed to look at {}", path.display()))?;
        digest.update(format!("{built:?}"));
    }
    Ok(hex(digest.finalize()))
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = || format!("failed to read {}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn outcome(plan: &str) -> Outcome {
        Outcome { plan: plan.into(), diff: "same".into(), text: "same".into() }
    }

    #[test]
    fn the_same_input_must_have_the_same_outcome_and_other_input_need_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("last.json");
        outcome("one").compare(&file, "input".into()).unwrap();
        outcome("one").compare(&file, "input".into()).unwrap();
        let refused = outcome("two").compare(&file, "input".into()).unwrap_err().to_string();
        assert!(refused.starts_with("the last demo had the same input"), "{refused}");
        outcome("two").compare(&file, "other input".into()).unwrap();
    }

    #[test]
    fn a_digest_is_in_lower_case_hex() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256(""), empty);
    }
}
