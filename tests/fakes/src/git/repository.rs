//! Bare repositories: made so that ids are the same each time, and read back.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// Who wrote every commit made here.
const AUTHOR: (&str, &str) = ("Ann Author", "ann@example.com");
/// When the first one was written; each later one on a branch is a minute younger.
const FIRST: u64 = 1_767_225_600;
/// The branch that the first commit is on.
const BRANCH: &str = "main";

/// A bare repository on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BareRepository {
    path: PathBuf,
}

/// A commit, as it can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub id: String,
    /// `user.name` of its author.
    pub author_name: String,
    /// `user.email` of its author.
    pub author_email: String,
    /// The whole message.
    pub message: String,
}

impl BareRepository {
    /// Makes a repository with one commit on `main`: the files of this folder, all of
    /// them, whatever they say is to be ignored. The same files give the same commit.
    pub fn make(path: impl Into<PathBuf>, files: &Path) -> Result<Self> {
        let made = Self { path: path.into() };
        if made.path.exists() {
            bail!("{} is there already; remove it first", made.path.display());
        }
        fs::create_dir_all(&made.path)
            .with_context(|| format!("failed to make the folder {}", made.path.display()))?;
        let branch = format!("--initial-branch={BRANCH}");
        made.git(["init", "--quiet", "--bare", "--template=", &branch])?;
        let index = made.index("making")?;
        let add = [
            OsStr::new("--work-tree"),
            files.as_os_str(),
            OsStr::new("add"),
            OsStr::new("--all"),
            OsStr::new("--force"),
            OsStr::new("."),
        ];
        made.run(made.command(add).current_dir(files).env("GIT_INDEX_FILE", &index))?;
        made.commit_index(&index, BRANCH, "Begin", None)?;
        Ok(made)
    }

    /// The repository at this path.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let opened = Self { path: path.into() };
        let there = opened.path.join("HEAD").is_file() && opened.path.join("objects").is_dir();
        anyhow::ensure!(there, "{} is no bare repository", opened.path.display());
        Ok(opened)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a commit to a branch, which begins at `HEAD` when it is new. A change is a
    /// path and its new content, or none to remove it.
    pub fn commit(
        &self,
        branch: &str,
        message: &str,
        changes: &[(&str, Option<&[u8]>)],
    ) -> Result<String> {
        let parent = match self.head(branch)? {
            Some(parent) => parent,
            None => self.id("HEAD")?.context("HEAD names no commit")?,
        };
        let index = self.index("committing")?;
        let staged = |command: &mut Command| {
            command.env("GIT_INDEX_FILE", &index);
        };
        let mut read = self.command(["read-tree", &parent]);
        staged(&mut read);
        self.run(&mut read)?;
        for (path, content) in changes {
            let mut update = self.command(["update-index", "--add", "--index-info"]);
            staged(&mut update);
            let line = match content {
                Some(content) => {
                    let mut hash = self.command(["hash-object", "-w", "--stdin"]);
                    let blob = self.fed(&mut hash, content)?;
                    format!("100644 {blob}\t{path}\n")
                }
                None => format!("0 {}\t{path}\n", "0".repeat(parent.len())),
            };
            self.fed(&mut update, line.as_bytes())?;
        }
        self.commit_index(&index, branch, message, Some(&parent))
    }

    /// What the remote's `HEAD` names.
    pub fn set_head(&self, branch: &str) -> Result<()> {
        self.git(["symbolic-ref", "HEAD", &format!("refs/heads/{branch}")]).map(drop)
    }

    /// Every ref and what it points to.
    pub fn refs(&self) -> Result<BTreeMap<String, String>> {
        let listed = self.git(["for-each-ref", "--format=%(refname) %(objectname)"])?;
        let pair = |line: &str| line.split_once(' ').map(|(name, id)| (name.into(), id.into()));
        Ok(listed.lines().filter_map(pair).collect())
    }

    /// The newest commit of a branch, if there is such a branch.
    pub fn head(&self, branch: &str) -> Result<Option<String>> {
        // Not rev-parse: `main~1` is no branch.
        self.found(&["show-ref", "--verify", "--hash", &format!("refs/heads/{branch}")])
    }

    /// The commits of a revision, newest first.
    pub fn log(&self, revision: &str) -> Result<Vec<Commit>> {
        let format = "--format=%H%x00%an%x00%ae%x00%B%x01";
        let listed = self.git(["log", format, revision, "--"])?;
        let commit = |text: &str| {
            let mut parts = text.trim_start_matches('\n').splitn(4, '\0').map(str::to_owned);
            Some(Commit {
                id: parts.next()?,
                author_name: parts.next()?,
                author_email: parts.next()?,
                message: parts.next()?.trim_end().to_owned(),
            })
        };
        Ok(listed.split('\u{1}').filter_map(commit).collect())
    }

    /// How many commits the second revision has that the first has not.
    pub fn ahead(&self, base: &str, head: &str) -> Result<usize> {
        let range = format!("{base}..{head}");
        let counted = self.git(["rev-list", "--count", &range, "--"])?;
        counted.trim().parse().context("git counted no commits")
    }

    /// The paths of a revision's files.
    pub fn files(&self, revision: &str) -> Result<Vec<String>> {
        let listed = self.git(["ls-tree", "-r", "-z", "--name-only", revision])?;
        Ok(listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
    }

    /// The content of a file at a revision.
    pub fn file(&self, revision: &str, path: &str) -> Result<Vec<u8>> {
        self.run(&mut self.command(["cat-file", "blob", &format!("{revision}:{path}")]))
    }

    /// What changed from one revision to another.
    pub fn diff(&self, from: &str, to: &str) -> Result<String> {
        self.git(["diff", "--no-color", "--no-ext-diff", from, to, "--"])
    }

    /// The commit that a revision names.
    fn id(&self, revision: &str) -> Result<Option<String>> {
        self.found(&["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")])
    }

    fn found(&self, arguments: &[&str]) -> Result<Option<String>> {
        let output = self.command(arguments).output().context("failed to run git")?;
        let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(output.status.success().then_some(id))
    }

    /// An index file of its own, not there yet.
    fn index(&self, purpose: &str) -> Result<PathBuf> {
        let index = self.path.join(format!("index-{purpose}-{}", std::process::id()));
        match fs::remove_file(&index) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("failed to remove {}", index.display()))
            }
            _ => Ok(index),
        }
    }

    fn commit_index(
        &self,
        index: &Path,
        branch: &str,
        message: &str,
        parent: Option<&str>,
    ) -> Result<String> {
        let mut write = self.command(["write-tree"]);
        write.env("GIT_INDEX_FILE", index);
        let tree = text(self.run(&mut write)?)?;
        let mut arguments = vec!["commit-tree", tree.trim(), "-m", message];
        let mut at = FIRST;
        if let Some(parent) = parent {
            arguments.extend(["-p", parent]);
            at += 60 * u64::try_from(self.log(parent)?.len()).unwrap_or(0);
        }
        let mut commit = self.command(arguments);
        let (name, email) = AUTHOR;
        for (role, value) in [("NAME", name), ("EMAIL", email), ("DATE", &format!("{at} +0000"))] {
            commit.env(format!("GIT_AUTHOR_{role}"), value);
            commit.env(format!("GIT_COMMITTER_{role}"), value);
        }
        let id = text(self.run(&mut commit)?)?.trim().to_owned();
        self.git(["update-ref", &format!("refs/heads/{branch}"), &id])?;
        fs::remove_file(index).with_context(|| format!("failed to remove {}", index.display()))?;
        Ok(id)
    }

    fn git<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Result<String> {
        text(self.run(&mut self.command(arguments))?)
    }

    /// git on this repository, without the settings of person and machine.
    fn command(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = super::git(&self.path);
        // Ids must not follow the settings of whoever runs the tests.
        for setting in ["core.autocrlf=false", "core.fileMode=true", "core.excludesFile=/dev/null"]
        {
            command.args(["-c", setting]);
        }
        command.arg("--git-dir").arg(&self.path).args(arguments);
        command
    }

    fn run(&self, command: &mut Command) -> Result<Vec<u8>> {
        let output = command.stdin(Stdio::null()).output().context("failed to run git")?;
        self.checked(output)
    }

    fn fed(&self, command: &mut Command, input: &[u8]) -> Result<String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("failed to run git")?;
        let mut stdin = child.stdin.take().context("git has no stdin")?;
        stdin.write_all(input).context("failed to write to git")?;
        drop(stdin);
        let output = child.wait_with_output().context("failed to read from git")?;
        Ok(text(self.checked(output)?)?.trim().to_owned())
    }

    fn checked(&self, output: std::process::Output) -> Result<Vec<u8>> {
        if output.status.success() {
            return Ok(output.stdout);
        }
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("git failed on {} ({}): {}", self.path.display(), output.status, words.trim())
    }
}

fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).context("git wrote what is no UTF-8")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn made(folder: &Path, name: &str) -> BareRepository {
        let files = folder.join(format!("{name} files"));
        fs::create_dir_all(files.join("sub")).unwrap();
        fs::write(files.join("greeting.go"), "package greeting\r\n").unwrap();
        fs::write(files.join("sub/.gitignore"), "*.log\n").unwrap();
        fs::write(files.join("sub/kept.log"), "kept\n").unwrap();
        BareRepository::make(folder.join(name), &files).unwrap()
    }

    #[test]
    fn the_same_files_give_the_same_commit() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (made(folder.path(), "one.git"), made(folder.path(), "two.git"));
        assert_eq!(one.refs().unwrap(), two.refs().unwrap());
        assert_eq!(one.head("main").unwrap().unwrap(), "1ed89252c9a7278c2070f06cb69826550ec694ea");
        assert_eq!(one.files("main").unwrap(), ["greeting.go", "sub/.gitignore", "sub/kept.log"]);
        assert_eq!(one.file("main", "greeting.go").unwrap(), b"package greeting\r\n");
        let error = BareRepository::make(one.path(), folder.path()).unwrap_err();
        assert!(format!("{error:#}").contains("is there already"), "{error:#}");
    }

    #[test]
    fn a_commit_can_be_added_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let repository = made(folder.path(), "one.git");
        let changes: [(&str, Option<&[u8]>); 2] =
            [("new file.txt", Some(b"new\n")), ("sub/kept.log", None)];
        let id = repository.commit("work", "Change things\n\nWith a body.", &changes).unwrap();
        assert_eq!(repository.head("work").unwrap().as_deref(), Some(id.as_str()));
        assert_eq!(repository.ahead("main", "work").unwrap(), 1);
        assert_eq!(repository.head("other").unwrap(), None);
        let commits = repository.log("work").unwrap();
        let newest = Commit {
            id,
            author_name: AUTHOR.0.to_owned(),
            author_email: AUTHOR.1.to_owned(),
            message: "Change things\n\nWith a body.".to_owned(),
        };
        assert_eq!((commits.len(), &commits[0]), (2, &newest));
        let diff = repository.diff("main", "work").unwrap();
        assert!(diff.contains("+new\n") && diff.contains("-kept\n"), "{diff}");
        repository.set_head("work").unwrap();
        assert_eq!(repository.id("HEAD").unwrap(), repository.head("work").unwrap());
    }
}
