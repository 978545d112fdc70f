//! A person's own checkout, the executable `flowcode` in it, and a model.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use fakes::git::BareRepository;
use fakes::model::{ModelServer, Reply};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::timeout;

use crate::world::DEADLINE;

/// A checkout of a repository of one document, which needs no check.
pub struct Place {
    pub model: ModelServer,
    folder: TempDir,
}

/// How a flowcode ended.
pub struct Ran {
    pub status: Option<i32>,
    /// All that it said.
    pub said: String,
}

impl Place {
    pub async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let files = folder.path().join("files");
        std::fs::create_dir(&files).unwrap();
        std::fs::write(files.join("README.md"), "# Notes\n\nNotes.\n").unwrap();
        let bare = BareRepository::make(folder.path().join("notes.git"), &files).unwrap();
        let mut clone = Command::new("git");
        clone.args(["clone", "--quiet"]).arg(bare.path()).arg(folder.path().join("notes"));
        assert!(clone.status().unwrap().success());
        let identity = "[user]\nname = Ann\nemail = ann@example.org\n";
        std::fs::write(folder.path().join(".gitconfig"), identity).unwrap();
        Self { model: ModelServer::start().await, folder }
    }

    /// A file beside the checkout.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Flowcode with these arguments, on a task that approves itself.
    pub fn start(&self, arguments: &[&str]) -> tokio::process::Child {
        let mut flowcode = tokio::process::Command::new(testenv::bin("flowcode"));
        flowcode
            .current_dir(self.beside("notes"))
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| name == "PATH"))
            .env("HOME", self.folder.path())
            .env("TMPDIR", self.folder.path())
            .args(["--base-url", &self.model.url(), "--approve", "self"])
            .args(arguments)
            .arg("Count the notes.")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        flowcode.spawn().unwrap()
    }

    /// The same, to its end.
    pub async fn run(&self, arguments: &[&str]) -> Ran {
        ended(self.start(arguments)).await
    }
}

/// How it ends.
pub async fn ended(flowcode: tokio::process::Child) -> Ran {
    let ended = timeout(DEADLINE, flowcode.wait_with_output()).await;
    let Output { status, stdout, stderr } = ended.expect("flowcode ends in time").unwrap();
    let said = String::from_utf8([stderr, stdout].concat()).unwrap();
    Ran { status: status.code(), said }
}

pub fn plan() -> Reply {
    Reply::call("save_coding_plan", json!({"markdown": "# Plan\n\nSay that there are many.\n"}))
}

pub fn edit() -> Reply {
    let arguments = json!({"path": "README.md", "old_text": "Notes.", "new_text": "Many notes."});
    Reply::call("edit_file", arguments)
}

pub fn commit() -> Reply {
    let words = ["git", "commit", "--all", "--message", "Say that there are many"];
    Reply::call("run_command", json!({"command": words}))
}

pub fn finish() -> Reply {
    let arguments = json!({"outcome": "completed", "summary": "The notes are counted."});
    Reply::call("finish", arguments)
}
