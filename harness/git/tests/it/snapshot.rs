//! Fingerprints and changed files of a work tree.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use foundry_git::{Access, Change, ChangedFile, Git, Repository, Runner};
use pretty_assertions::assert_eq;

use super::site::{folder, plain_git, settings};

/// A repository with one commit, opened.
async fn opened(folder: &Path) -> Repository {
    let root = folder.join("home/work");
    std::fs::create_dir_all(&root).unwrap();
    plain_git(&root, &["init", "--quiet", "-b", "main"]);
    for (name, content) in [
        (".gitignore", "*.log\n"),
        ("kept.txt", "kept\n"),
        ("changed.txt", "before\n"),
        ("staged.txt", "before\n"),
        ("gone.txt", "gone\n"),
        ("old name.txt", "a text that is long enough to be known again\nby its lines\n"),
    ] {
        std::fs::write(root.join(name), content).unwrap();
    }
    plain_git(&root, &["add", "--all"]);
    plain_git(&root, &["commit", "--quiet", "-m", "one"]);
    let git = Git::new(Runner::new(settings(folder)).unwrap(), Access::Persons);
    let (repository, status) = git.open(&root).await.unwrap();
    assert!(status.is_clean());
    repository
}

async fn tree(repository: &Repository) -> String {
    repository.snapshot().await.unwrap().tree().to_string()
}

/// Every file beneath a folder and what is in it.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                files.insert(entry.path(), std::fs::read(entry.path()).unwrap());
            }
        }
    }
    files
}

/// CODE-18
#[tokio::test]
async fn a_fingerprint_is_of_the_contents_and_not_of_how_far_they_are_committed() {
    let folder = folder();
    let repository = opened(folder.path()).await;
    let root = repository.root().to_owned();
    let clean = tree(&repository).await;
    assert_eq!(clean, plain_git(&root, &["rev-parse", "HEAD^{tree}"]));

    std::fs::write(root.join("new.txt"), "new\n").unwrap();
    let untracked = tree(&repository).await;
    assert_ne!(untracked, clean);
    plain_git(&root, &["add", "new.txt"]);
    assert_eq!(tree(&repository).await, untracked);
    plain_git(&root, &["commit", "--quiet", "-m", "two"]);
    assert_eq!(tree(&repository).await, untracked);

    std::fs::write(root.join("noise.log"), "ignored\n").unwrap();
    assert_eq!(tree(&repository).await, untracked, "ignored files do not count");
    std::fs::write(root.join("new.txt"), "nEw\n").unwrap();
    assert_ne!(tree(&repository).await, untracked);
    std::fs::write(root.join("new.txt"), "new\n").unwrap();
    assert_eq!(tree(&repository).await, untracked, "the same contents are the same again");
}

/// CODE-18
#[tokio::test]
async fn an_edit_in_the_same_second_as_a_commit_is_seen() {
    let folder = folder();
    let repository = opened(folder.path()).await;
    let root = repository.root().to_owned();
    // One moment for all, as it is when a machine is fast.
    plain_git(&root, &["config", "core.trustctime", "false"]);
    let moment = SystemTime::now() - Duration::from_secs(100);
    let at_that_moment = |name: &str| {
        let file = File::options().write(true).open(root.join(name)).unwrap();
        file.set_modified(moment).unwrap();
    };
    std::fs::write(root.join("kept.txt"), "one\n").unwrap();
    at_that_moment("kept.txt");
    plain_git(&root, &["commit", "--quiet", "-am", "two"]);
    at_that_moment(".git/index");
    let before = tree(&repository).await;
    std::fs::write(root.join("kept.txt"), "two\n").unwrap();
    at_that_moment("kept.txt");
    assert_ne!(tree(&repository).await, before);
}

/// CODE-18
#[tokio::test]
async fn a_snapshot_leaves_no_trace_in_the_repository() {
    let folder = folder();
    let repository = opened(folder.path()).await;
    let root = repository.root().to_owned();
    std::fs::write(root.join("staged.txt"), "staged\n").unwrap();
    plain_git(&root, &["add", "staged.txt"]);
    std::fs::write(root.join("untracked.txt"), "untracked\n").unwrap();
    let before = contents(&root);
    let temporary = || {
        let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().map(Result::unwrap);
        entries.filter(|entry| entry.file_name().as_bytes().starts_with(b"snapshot-")).count()
    };
    let snapshot = repository.snapshot().await.unwrap();
    snapshot.changed_files().await.unwrap();
    snapshot.diff(1 << 20).await.unwrap();
    assert!(temporary() > 0);
    drop(snapshot);
    assert_eq!(contents(&root), before);
}

/// CODE-19
#[tokio::test]
async fn changed_files_are_all_that_differ_from_the_base_however_named() {
    let folder = folder();
    let repository = opened(folder.path()).await;
    let root = repository.root().to_owned();
    let write = |name: &str, content: &str| std::fs::write(root.join(name), content).unwrap();
    write("committed.txt", "committed\n");
    plain_git(&root, &["add", "committed.txt"]);
    plain_git(&root, &["commit", "--quiet", "-m", "two"]);
    write("staged.txt", "after\n");
    plain_git(&root, &["add", "staged.txt"]);
    write("changed.txt", "after\n");
    std::fs::remove_file(root.join("gone.txt")).unwrap();
    std::fs::rename(root.join("old name.txt"), root.join("new \"name\".txt")).unwrap();
    std::fs::remove_file(root.join("kept.txt")).unwrap();
    symlink("changed.txt", root.join("kept.txt")).unwrap();
    std::fs::write(root.join(OsStr::from_bytes(b"odd\n\xFF\t.md")), "odd\n").unwrap();
    write("ignored.log", "ignored\n");

    let file = |change, path: &str| ChangedFile { change, path: path.into(), from: None };
    let mut expected = vec![
        file(Change::Added, "committed.txt"),
        file(Change::Modified, "staged.txt"),
        file(Change::Modified, "changed.txt"),
        file(Change::Deleted, "gone.txt"),
        file(Change::TypeChanged, "kept.txt"),
        ChangedFile {
            change: Change::Renamed,
            path: "new \"name\".txt".into(),
            from: Some("old name.txt".into()),
        },
        ChangedFile {
            change: Change::Added,
            path: OsStr::from_bytes(b"odd\n\xFF\t.md").into(),
            from: None,
        },
    ];
    let mut changed = repository.snapshot().await.unwrap().changed_files().await.unwrap();
    expected.sort_by(|one, other| one.path.cmp(&other.path));
    changed.sort_by(|one, other| one.path.cmp(&other.path));
    assert_eq!(changed, expected);
    assert_eq!(repository.commits_since_base().await.unwrap(), 1);
}

#[tokio::test]
async fn a_diff_shows_untracked_files_too_and_is_cut_at_a_line() {
    let folder = folder();
    let repository = opened(folder.path()).await;
    std::fs::write(repository.root().join("new.txt"), "line\n".repeat(1000)).unwrap();
    let snapshot = repository.snapshot().await.unwrap();
    let whole = snapshot.diff(1 << 20).await.unwrap();
    assert!(whole.text.contains("+++ b/new.txt\n@@ -0,0 +1,1000 @@\n+line\n"), "{}", whole.text);
    assert_eq!((whole.omitted_bytes, whole.total_bytes), (0, whole.text.len() as u64));
    let part = snapshot.diff(500).await.unwrap();
    assert!(part.text.ends_with("+line\n") && part.text.len() <= 500);
    assert_eq!(part.total_bytes, whole.total_bytes);
    assert_eq!(part.omitted_bytes, part.total_bytes - part.text.len() as u64);
}

#[tokio::test]
async fn a_merge_in_conflict_has_a_fingerprint() {
    let folder = folder();
    let repository = opened(folder.path()).await;
    let root = repository.root().to_owned();
    plain_git(&root, &["branch", "other"]);
    std::fs::write(root.join("changed.txt"), "one way\n").unwrap();
    plain_git(&root, &["commit", "--quiet", "-am", "one"]);
    plain_git(&root, &["checkout", "--quiet", "other"]);
    std::fs::write(root.join("changed.txt"), "another\n").unwrap();
    plain_git(&root, &["commit", "--quiet", "-am", "other"]);
    let mut merge = std::process::Command::new("git");
    let merge = merge.args(["merge", "main"]).current_dir(&root).output().unwrap();
    assert!(!merge.status.success());
    let snapshot = repository.snapshot().await.unwrap();
    let changed = snapshot.changed_files().await.unwrap();
    let expected = ChangedFile { change: Change::Modified, path: "changed.txt".into(), from: None };
    assert_eq!(changed, [expected]);
}

#[tokio::test]
async fn what_git_cannot_take_in_is_named() {
    let folder = folder();
    let repository = opened(folder.path()).await;
    let inner = repository.root().join("inner");
    std::fs::create_dir(&inner).unwrap();
    plain_git(&inner, &["init", "--quiet"]);
    let error = repository.snapshot().await.unwrap_err();
    assert_eq!(error.category(), "Unfit");
    assert!(error.to_string().contains("inner/"), "{error}");
}

/// CODE-05
#[tokio::test]
async fn an_index_that_is_a_link_or_a_pipe_is_not_followed() {
    let folder = folder();
    let repository = opened(folder.path()).await;
    let before = tree(&repository).await;
    let index = repository.root().join(".git/index");
    std::fs::remove_file(&index).unwrap();
    symlink(folder.path().join("ssh"), &index).unwrap();
    assert_eq!(tree(&repository).await, before);
    std::fs::remove_file(&index).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&index).status().unwrap();
    assert!(made.success());
    assert_eq!(tree(&repository).await, before);
}

/// CODE-18
#[tokio::test]
async fn a_commit_that_takes_the_place_of_the_base_hides_no_change() {
    let folder = folder();
    let repository = opened(folder.path()).await;
    let root = repository.root();
    std::fs::write(root.join("changed.txt"), "after\n").unwrap();
    plain_git(root, &["commit", "--quiet", "--all", "-m", "two"]);
    plain_git(root, &["replace", "HEAD~1", "HEAD"]);
    let changed = repository.snapshot().await.unwrap().changed_files().await.unwrap();
    let paths: Vec<_> = changed.into_iter().map(|file| file.path).collect();
    assert_eq!(paths, [PathBuf::from("changed.txt")]);
}

/// CODE-18
#[tokio::test]
async fn configuration_does_not_lead_to_files_elsewhere() {
    let folder = folder();
    let repository = opened(folder.path()).await;
    let (root, elsewhere) = (repository.root(), folder.path().join("home/elsewhere"));
    let copied = std::process::Command::new("cp").arg("-r").args([root, &elsewhere]).status();
    assert!(copied.unwrap().success());
    std::fs::write(root.join("changed.txt"), "after\n").unwrap();
    plain_git(root, &["config", "core.worktree", elsewhere.to_str().unwrap()]);
    let changed = repository.snapshot().await.unwrap().changed_files().await.unwrap();
    let paths: Vec<_> = changed.into_iter().map(|file| file.path).collect();
    assert_eq!(paths, [PathBuf::from("changed.txt")]);
    assert_eq!(repository.status().await.unwrap().changed, paths);
}
