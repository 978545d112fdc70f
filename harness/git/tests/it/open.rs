//! A person's own clone, as `flowcode` works in it (CODE-45).

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use foundry_git::{Access, FlowBranch, Git, GitConfiguration, Remote, Runner, RunnerSettings};
use pretty_assertions::assert_eq;
use tempfile::TempDir;

use super::site::{folder, plain_git, settings};

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: folder() };
        let root = place.root();
        std::fs::create_dir_all(root.join("deep/er")).unwrap();
        plain_git(&root, &["init", "--quiet", "-b", "main"]);
        place
    }

    fn root(&self) -> PathBuf {
        self.folder
            .path()
            .join("home/work")
            .canonicalize()
            .unwrap_or_else(|_| self.folder.path().canonicalize().unwrap().join("home/work"))
    }

    fn commit(&self) {
        std::fs::write(self.root().join("a.txt"), "a\n").unwrap();
        plain_git(&self.root(), &["add", "--all"]);
        plain_git(&self.root(), &["commit", "--quiet", "-m", "one"]);
    }

    fn settings(&self) -> RunnerSettings {
        RunnerSettings {
            denied: Vec::new(),
            git_configuration: GitConfiguration::Persons,
            ..settings(self.folder.path())
        }
    }

    fn git(&self) -> Git {
        Git::new(Runner::new(self.settings()).unwrap(), Access::Persons)
    }
}

fn branch(slug: &str) -> FlowBranch {
    FlowBranch::new(slug).unwrap()
}

/// CODE-03, CODE-45
#[tokio::test]
async fn a_persons_clone_is_opened_from_any_folder_in_it_and_branched_with_their_changes() {
    let place = Place::new();
    place.commit();
    std::fs::write(place.root().join("b.txt"), "b\n").unwrap();
    let (mut repository, status) = place.git().open(&place.root().join("deep/er")).await.unwrap();
    assert_eq!(repository.root(), place.root());
    assert_eq!(repository.base().name, "main");
    assert_eq!(status.branch.as_deref(), Some("main"));
    assert_eq!(status.changed, [PathBuf::from("b.txt")]);
    assert_eq!(status.head.as_ref(), Some(&repository.base().commit));

    repository.create_branch(branch("fix")).await.unwrap();
    let status = repository.status().await.unwrap();
    assert_eq!(status.branch.as_deref(), Some("flow/fix"));
    assert_eq!(status.changed, [PathBuf::from("b.txt")]);
    let error = repository.create_branch(branch("fix")).await.unwrap_err();
    assert_eq!(error.category(), "BranchExists", "{error}");
}

/// CODE-45
#[tokio::test]
async fn opening_and_branching_are_three_calls_of_git() {
    let place = Place::new();
    place.commit();
    let bin = place.folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let (script, calls) = (bin.join("git"), place.folder.path().join("calls"));
    let path = std::env::var_os("PATH").unwrap();
    let real = std::env::split_paths(&path).map(|folder| folder.join("git"));
    let real = real.into_iter().find(|git| git.is_file()).unwrap();
    let words = format!(
        "#!/bin/sh\necho \"$1\" >> \"{}\"\nexec {} \"$@\"\n",
        calls.display(),
        real.display()
    );
    std::fs::write(&script, words).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut settings = place.settings();
    let path = std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&path))).unwrap();
    settings.environment = settings.environment.with("PATH", path);
    let git = Git::new(Runner::new(settings).unwrap(), Access::Persons);
    let (mut repository, _) = git.open(&place.root()).await.unwrap();
    repository.create_branch(branch("fix")).await.unwrap();
    assert_eq!(std::fs::read_to_string(&calls).unwrap(), "rev-parse\nstatus\nswitch\n");
    repository.snapshot().await.unwrap().changed_files().await.unwrap();
    let calls = std::fs::read_to_string(&calls).unwrap();
    assert_eq!(calls.lines().count(), 6, "{calls}");
}

/// CODE-45
#[tokio::test]
async fn what_is_no_repository_says_so() {
    let place = Place::new();
    let git = place.git();
    for folder in [Path::new("/"), Path::new("/nonexistent"), place.folder.path()] {
        let error = git.open(folder).await.unwrap_err();
        assert_eq!(error.category(), "NotARepository", "{}: {error}", folder.display());
    }
    let error = git.open(&place.root()).await.unwrap_err();
    assert_eq!(error.category(), "Unfit");
    assert!(error.to_string().contains("make a first one"), "{error}");
}

/// CODE-06
#[tokio::test]
async fn remote_and_default_branch_are_read_from_the_clone() {
    let place = Place::new();
    place.commit();
    let root = place.root();
    let (repository, _) = place.git().open(&root).await.unwrap();
    assert_eq!(repository.remote().await.unwrap_err().category(), "Unfit");
    plain_git(&root, &["remote", "add", "upstream", "https://me:word@github.com/acme/x.git"]);
    let remote = Remote::parse_persons("https://github.com/acme/x.git").unwrap();
    assert_eq!(repository.remote().await.unwrap(), remote, "the only one");
    plain_git(&root, &["remote", "add", "origin", "git@github.com:acme/greeting.git"]);
    let remote = Remote::parse("git@github.com:acme/greeting.git").unwrap();
    assert_eq!(repository.remote().await.unwrap(), remote);
    plain_git(&root, &["update-ref", "refs/remotes/origin/trunk", "HEAD"]);
    let head = ["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk"];
    plain_git(&root, &head);
    assert_eq!(repository.default_branch().await.unwrap().as_str(), "trunk");
}

/// A git that works in a folder until it is dropped.
struct Busy(Child);

impl Busy {
    fn in_folder(folder: &Path) -> Self {
        let mut git = std::process::Command::new("git");
        git.args(["cat-file", "--batch"]).current_dir(folder);
        Self(git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[tokio::test]
async fn a_lock_is_removed_when_no_git_holds_it_and_only_then() {
    let place = Place::new();
    place.commit();
    let (mut repository, _) = place.git().open(&place.root()).await.unwrap();
    let lock = place.root().join(".git/index.lock");
    std::fs::write(&lock, "").unwrap();

    let busy = Busy::in_folder(&place.root());
    assert_eq!(repository.remove_stale_locks().unwrap(), Vec::<PathBuf>::new());
    drop(busy);
    let open = std::fs::File::open(&lock).unwrap();
    assert_eq!(repository.remove_stale_locks().unwrap(), Vec::<PathBuf>::new());
    drop(open);
    let other = place.folder.path().join("home/other");
    std::fs::create_dir(&other).unwrap();
    plain_git(&other, &["init", "--quiet"]);
    let elsewhere = Busy::in_folder(&other);
    assert_eq!(repository.remove_stale_locks().unwrap(), std::slice::from_ref(&lock));
    drop(elsewhere);

    std::fs::write(&lock, "").unwrap();
    repository.create_branch(branch("fix")).await.unwrap();
    assert!(!lock.exists());
}
