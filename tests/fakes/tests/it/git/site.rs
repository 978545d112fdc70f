//! A server with a repository, and a client that knows it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use fakes::git::openssh::Sshd;
use fakes::git::{BareRepository, GitServer, Options};
use tokio::process::Command;

pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

pub(crate) struct Site {
    folder: tempfile::TempDir,
    pub server: GitServer,
}

/// What a program said, and whether it succeeded.
#[derive(Debug)]
pub(crate) struct Said {
    pub success: bool,
    pub words: String,
}

impl Said {
    #[track_caller]
    pub(crate) fn succeeded(self) -> String {
        assert!(self.success, "{}", self.words);
        self.words
    }

    #[track_caller]
    pub(crate) fn failed_with(self, words: &str) {
        assert!(!self.success && self.words.contains(words), "{words:?} is not in {self:#?}");
    }
}

impl Site {
    pub(crate) async fn start(openssh: Option<Sshd>) -> Self {
        // A space in every path: none of them may be taken apart.
        let folder = tempfile::Builder::new().prefix("a site ").tempdir().unwrap();
        let files = folder.path().join("files");
        std::fs::create_dir(&files).unwrap();
        std::fs::write(files.join("greeting.txt"), "hello\n").unwrap();
        let repositories = folder.path().join("bare ones");
        BareRepository::make(repositories.join("acme/greeting.git"), &files).unwrap();
        let server = GitServer::listen(Options { openssh, ..Options::new(repositories) });
        Self { server: server.await.unwrap(), folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn bare(&self, name: &str) -> BareRepository {
        BareRepository::open(self.path(&format!("bare ones/{name}.git"))).unwrap()
    }

    pub(crate) fn remote(&self) -> String {
        self.server.remote("acme/greeting")
    }

    /// The options of an ssh that knows the server's key and has the client's.
    pub(crate) fn ssh_options(&self, key: &Path) -> Vec<String> {
        let known = self.server.keys().join("known_hosts");
        let options = [
            format!("UserKnownHostsFile=\"{}\"", known.display()),
            format!("IdentityFile=\"{}\"", key.display()),
        ];
        let fixed = [
            "BatchMode=yes",
            "StrictHostKeyChecking=yes",
            "IdentitiesOnly=yes",
            "GlobalKnownHostsFile=/dev/null",
            "ConnectTimeout=2",
        ];
        let all = options.into_iter().chain(fixed.map(str::to_owned));
        ["-F".to_owned(), "none".to_owned()]
            .into_iter()
            .chain(all.flat_map(|option| ["-o".to_owned(), option]))
            .collect()
    }

    pub(crate) fn client_key(&self) -> PathBuf {
        self.server.keys().join("client_key")
    }

    /// git as a client, in this folder.
    pub(crate) fn git(&self, folder: &Path, arguments: &[&str]) -> Command {
        self.git_with(&self.client_key(), folder, arguments)
    }

    pub(crate) fn git_with(&self, key: &Path, folder: &Path, arguments: &[&str]) -> Command {
        let quoted = |word: &String| format!("'{word}'");
        let options: Vec<String> = self.ssh_options(key).iter().map(quoted).collect();
        let mut command = Command::new("git");
        command
            .args(arguments)
            .current_dir(folder)
            .env("GIT_SSH_COMMAND", format!("ssh {}", options.join(" ")))
            .env("HOME", self.folder.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .envs([("GIT_AUTHOR_NAME", "Bea"), ("GIT_AUTHOR_EMAIL", "bea@example.com")])
            .envs([("GIT_COMMITTER_NAME", "Bea"), ("GIT_COMMITTER_EMAIL", "bea@example.com")]);
        command
    }

    /// Runs git in the site's folder.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Said {
        said(self.git(self.folder.path(), arguments)).await
    }

    /// Runs git in a clone.
    pub(crate) async fn run_in(&self, clone: &str, arguments: &[&str]) -> Said {
        said(self.git(&self.path(clone), arguments)).await
    }

    /// A clone with one more commit on this branch.
    pub(crate) async fn work(&self, clone: &str, branch: &str) {
        self.run(&["clone", "--quiet", &self.remote(), clone]).await.succeeded();
        std::fs::write(self.path(clone).join("greeting.txt"), format!("hello {branch}\n")).unwrap();
        self.run_in(clone, &["switch", "--quiet", "--create", branch]).await.succeeded();
        let commit = ["commit", "--quiet", "--all", "--message", "Greet the branch"];
        self.run_in(clone, &commit).await.succeeded();
    }
}

/// Runs a program to its end, within the deadline.
pub(crate) async fn said(mut command: Command) -> Said {
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(DEADLINE, command.output()).await;
    let output = output.expect("it ends within the deadline").unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said {
        success: output.status.success(),
        words: format!("{}{}", text(&output.stdout), text(&output.stderr)),
    }
}

pub(crate) async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < DEADLINE, "{what}: not within the deadline");
        tokio::task::yield_now().await;
    }
}
