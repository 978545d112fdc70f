//! Where repositories are hosted: a Git server over SSH, and beside it a stand-in for
//! GitHub's API of pull requests. Both look into one folder of bare repositories.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Stack;
use crate::random;

/// What a coding pod needs for these two, as a person would give it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitAccess {
    /// Host of remotes, as `FOUNDRY_GITHUB_HOST` names it.
    pub host: String,
    /// Base URL of the stand-in, as `FOUNDRY_GITHUB_API_URL` names it.
    pub api_url: String,
    /// File with the private key that the Git server lets in.
    pub private_key: PathBuf,
    /// File with the Git server's host key.
    pub known_hosts: PathBuf,
    /// File with the token that the stand-in takes.
    pub token: PathBuf,
}

impl GitAccess {
    /// The Secrets that coding pods are given, without a namespace.
    pub fn secrets(&self) -> Result<[Value; 2]> {
        let ssh = [
            ("ssh-privatekey", self.private_key.as_path()),
            ("known_hosts", self.known_hosts.as_path()),
        ];
        let git = [("GITHUB_TOKEN", self.token.as_path())];
        Ok([secret("foundry-harness-ssh", &ssh)?, secret("foundry-harness-git", &git)?])
    }
}

fn secret(name: &str, files: &[(&str, &Path)]) -> Result<Value> {
    let mut data = serde_json::Map::new();
    for (key, file) in files {
        data.insert((*key).to_owned(), read(file)?.into());
    }
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "type": "Opaque",
        "stringData": data,
    }))
}

impl Stack {
    /// Starts the Git server. Its keys stay in the folder, so that a restart changes
    /// none.
    pub async fn start_git(&mut self) -> Result<()> {
        let mut command = self.command("git-ssh-server");
        command
            .args(["--listen", &self.git_host()])
            .arg("--repositories")
            .arg(made(self.repositories())?)
            .arg("--key-dir")
            .arg(made(self.keys())?)
            .arg("--faults")
            .arg(self.git_faults())
            .arg("--port-file")
            .arg(self.options.folder.join("git.port"));
        self.git = Some(self.spawn("git-ssh-server", &command, "git.port").await?);
        Ok(())
    }

    /// Starts the stand-in for GitHub, which knows no pull request yet.
    pub async fn start_github(&mut self) -> Result<()> {
        let token = self.git_token();
        if !token.exists() {
            made(self.keys())?;
            write_private(&token, &random::hex::<16>()?)?;
        }
        let record = self.pull_request_record();
        if record.exists() {
            fs::remove_file(&record)
                .with_context(|| format!("failed to remove {}", record.display()))?;
        }
        let mut command = self.command("github-stand-in");
        command
            .args(["--listen", &format!("127.0.0.1:{}", self.ports.github)])
            .arg("--repositories")
            .arg(made(self.repositories())?)
            .arg("--token-file")
            .arg(&token)
            .arg("--record")
            .arg(&record)
            .arg("--faults")
            .arg(self.github_faults())
            .arg("--port-file")
            .arg(self.options.folder.join("github.port"));
        self.github = Some(self.spawn("github-stand-in", &command, "github.port").await?);
        Ok(())
    }

    /// What the Git server does wrong from its next connection on, in the form of
    /// `git-ssh-server --faults`; null when nothing.
    pub fn set_git_faults(&self, faults: &Value) -> Result<()> {
        write(&self.git_faults(), faults)
    }

    /// What the stand-in does wrong from its next request on, in the form of
    /// `github-stand-in --faults`; null when nothing.
    pub fn set_github_faults(&self, faults: &Value) -> Result<()> {
        write(&self.github_faults(), faults)
    }

    /// The folder of a bare repository (`acme/greeting`), which both look into at each
    /// use.
    pub fn bare_repository(&self, name: &str) -> PathBuf {
        self.repositories().join(format!("{name}.git"))
    }

    /// The SSH remote of a repository.
    pub fn remote(&self, name: &str) -> String {
        format!("ssh://git@{}/{name}.git", self.git_host())
    }

    /// What a coding pod needs for the Git server and the stand-in, once both have
    /// been started.
    pub fn git_access(&self) -> GitAccess {
        GitAccess {
            host: self.git_host(),
            api_url: format!("http://127.0.0.1:{}", self.ports.github),
            private_key: self.keys().join("client_key"),
            known_hosts: self.keys().join("known_hosts"),
            token: self.git_token(),
        }
    }

    /// What was done with pull requests, oldest first, as the stand-in records it.
    pub fn pull_requests(&self) -> Result<Vec<Value>> {
        let record = self.pull_request_record();
        if !record.exists() {
            return Ok(Vec::new());
        }
        let lines = read(&record)?;
        lines
            .lines()
            .map(|line| serde_json::from_str(line).context("a record is not JSON"))
            .collect()
    }

    fn git_host(&self) -> String {
        format!("127.0.0.1:{}", self.ports.git)
    }

    fn repositories(&self) -> PathBuf {
        self.options.folder.join("git/repositories")
    }

    fn keys(&self) -> PathBuf {
        self.options.folder.join("git/keys")
    }

    fn git_token(&self) -> PathBuf {
        self.keys().join("token")
    }

    fn git_faults(&self) -> PathBuf {
        self.options.folder.join("git/faults.json")
    }

    fn github_faults(&self) -> PathBuf {
        self.options.folder.join("git/github faults.json")
    }

    fn pull_request_record(&self) -> PathBuf {
        self.options.folder.join("pull requests.jsonl")
    }
}

fn made(folder: PathBuf) -> Result<PathBuf> {
    fs::create_dir_all(&folder)
        .with_context(|| format!("failed to create {}", folder.display()))?;
    Ok(folder)
}

/// A file that only its owner may read.
fn write_private(file: &Path, text: &str) -> Result<()> {
    let made = File::options().write(true).create_new(true).mode(0o600).open(file);
    made.and_then(|mut made| made.write_all(text.as_bytes()))
        .with_context(|| format!("failed to write {}", file.display()))
}

/// By rename, so that nobody reads half of it.
fn write(file: &Path, content: &Value) -> Result<()> {
    let text = if content.is_null() { String::new() } else { content.to_string() };
    let beside = file.with_extension("new");
    fs::write(&beside, text)
        .and_then(|()| fs::rename(&beside, file))
        .with_context(|| format!("failed to write {}", file.display()))
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))
}
