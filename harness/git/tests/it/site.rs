//! A git server with one repository, a pod's keys for it, and git to reach it with.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use fakes::git::openssh::{Sshd, sshd};
use fakes::git::{BareRepository, GitServer, Options};
use foundry_git::{
    Access, CloneRequest, Command, Environment, Finished, FlowBranch, Git, GitConfiguration,
    GitError, HostingSettings, Identity, OutputLimits, RefName, Remote, Repository, Runner,
    RunnerSettings, SshKeys,
};
use tempfile::TempDir;

pub const MAILBOX: &str = "scout@dev-ai.flow.life";

pub struct Site {
    pub folder: TempDir,
    pub server: GitServer,
    pub bare: BareRepository,
}

/// A folder whose parts the tests of this crate share names for.
pub fn folder() -> TempDir {
    let folder = TempDir::with_prefix("foundry-git 100%h of a person's ").unwrap();
    for name in ["home", "tmp", "ssh", "repositories/acme", "files"] {
        std::fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    folder
}

/// What a pod's commands see.
pub fn environment(folder: &Path) -> Environment {
    Environment::allowed(std::env::vars_os())
        .with("HOME", folder.join("home"))
        .with("TMPDIR", folder.join("tmp"))
}

pub fn settings(folder: &Path) -> RunnerSettings {
    let mut environment = environment(folder);
    for (name, value) in Identity::of_mailbox(MAILBOX).unwrap().environment() {
        environment = environment.with(name, value);
    }
    RunnerSettings {
        environment,
        outputs: folder.join("outputs"),
        limits: OutputLimits::default(),
        denied: vec![folder.join("ssh")],
        git_configuration: GitConfiguration::Nobodys,
    }
}

/// What serves the repository.
#[derive(Clone, Copy, Debug)]
pub enum Server {
    /// The server of this workspace.
    Embedded,
    /// A real sshd, where one can be had.
    OpenSsh,
}

/// The sshd of this machine, looked for once.
fn openssh() -> Option<Sshd> {
    static FOUND: OnceLock<Option<Sshd>> = OnceLock::new();
    FOUND.get_or_init(|| sshd(&cache())).clone()
}

/// Where packages that are not installed are kept between runs.
fn cache() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = set("XDG_CACHE_HOME").map(PathBuf::from);
    let home = set("HOME").map(|home| PathBuf::from(home).join(".cache"));
    cache.or(home).unwrap().join("foundry")
}

impl Site {
    /// `None` without an sshd, which the look for it has said.
    pub async fn on(server: Server) -> Option<Self> {
        match server {
            Server::Embedded => Some(Self::embedded().await),
            Server::OpenSsh => Some(Self::start(Some(openssh()?)).await),
        }
    }

    pub async fn embedded() -> Self {
        Self::start(None).await
    }

    async fn start(openssh: Option<Sshd>) -> Self {
        let folder = folder();
        let files = folder.path().join("files");
        std::fs::write(files.join("greeting.txt"), "hello\n").unwrap();
        std::fs::write(files.join(".gitignore"), "*.log\n").unwrap();
        let repositories = folder.path().join("repositories");
        let bare = BareRepository::make(repositories.join("acme/greeting.git"), &files).unwrap();
        let options = Options { openssh, ..Options::new(&repositories) };
        let server = GitServer::listen(options).await.unwrap();
        let site = Self { folder, server, bare };
        site.key("github", site.server.client_key());
        std::fs::write(site.path("ssh/known_hosts"), site.server.host_key_line()).unwrap();
        site
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts a private key into the folder of keys.
    pub fn key(&self, name: &str, key: &str) {
        let path = self.path("ssh").join(name);
        std::fs::write(&path, key).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// A private key that no server lets in.
    pub fn strange_key(&self) -> String {
        let path = self.path("strange");
        if !path.exists() {
            let mut keygen = std::process::Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&path);
            assert!(keygen.status().unwrap().success());
        }
        std::fs::read_to_string(path).unwrap()
    }

    pub fn hosting(&self) -> HostingSettings {
        HostingSettings { github_host: self.server.host() }
    }

    /// Git as in a pod, with the keys as they are now.
    pub fn git(&self) -> Git {
        let runner = Runner::new(settings(self.folder.path())).unwrap();
        let keys = SshKeys::open(&self.path("ssh"), self.hosting()).unwrap();
        Git::new(runner, Access::Keys(keys))
    }

    pub fn remote(&self) -> Remote {
        Remote::parse(&self.server.remote("acme/greeting")).unwrap()
    }

    pub fn request(&self) -> CloneRequest {
        CloneRequest {
            remote: self.remote(),
            folder: self.path("home/repository"),
            base_ref: None,
            default_ref: None,
            branch: FlowBranch::new("fix-greeting").unwrap(),
            identity: Identity::of_mailbox(MAILBOX).unwrap(),
            limit: Duration::from_mins(1),
        }
    }

    pub async fn clone(&self) -> Repository {
        self.git().clone_repository(&self.request()).await.unwrap()
    }

    pub async fn failed_clone(&self) -> GitError {
        self.git().clone_repository(&self.request()).await.unwrap_err()
    }

    /// Runs git on the bare repository, past every protection.
    pub fn at_remote(&self, arguments: &[&str]) -> String {
        plain_git(self.bare.path(), arguments)
    }
}

pub fn plain_git(folder: &Path, arguments: &[&str]) -> String {
    let mut git = std::process::Command::new("git");
    git.args(["-c", "user.name=Ann", "-c", "user.email=ann@acme.net"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    let output = git.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub fn name(text: &str) -> RefName {
    RefName::parse(text).unwrap()
}

/// A command of a model in the clone.
pub async fn run(repository: &Repository, program: &str, arguments: &[&str]) -> Finished {
    let command = Command::new(program, repository.root()).args(arguments.iter().copied());
    repository.git().runner().run(&command).await.unwrap()
}

/// One that must pass; gives what it wrote.
pub async fn passes(repository: &Repository, program: &str, arguments: &[&str]) -> String {
    let finished = run(repository, program, arguments).await;
    assert!(finished.exit.passed(), "{program} {arguments:?}: {}", finished.output);
    finished.output.to_string().trim().to_owned()
}

/// Writes a file and commits it as a model does.
pub async fn commit(repository: &Repository, file: &str, content: &str) -> String {
    std::fs::write(repository.root().join(file), content).unwrap();
    passes(repository, "git", &["add", "--", file]).await;
    passes(repository, "git", &["commit", "--quiet", "-m", content]).await;
    passes(repository, "git", &["rev-parse", "HEAD"]).await
}
