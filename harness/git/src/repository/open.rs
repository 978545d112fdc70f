//! Opening a repository that is there already: a person's own clone.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use tokio::sync::Mutex;

use super::push::AtRemote;
use super::{Base, Repository, status};
use crate::error::GitError;
use crate::failure;
use crate::git::{Call, Git};
use crate::reference::RefName;
use crate::remote::Remote;

impl Git {
    /// Opens the repository that `folder` is in. Two calls of git; the answer comes with
    /// how its work tree stands.
    pub async fn open(&self, folder: &Path) -> Result<(Repository, status::Status), GitError> {
        let action = "open the repository";
        let no_repository = || GitError::NotARepository { folder: folder.to_owned() };
        if !folder.is_dir() {
            return Err(no_repository());
        }
        let arguments = [
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--git-dir",
            "--git-path",
            "objects",
        ];
        let found = self.try_local(Call::new(action, folder, arguments)).await?;
        if !found.exit.passed() {
            return Err(if found.stderr.contains("dubious ownership") {
                failure::local(action, &found.stderr)
            } else {
                no_repository()
            });
        }
        let mut paths = found.stdout.split(|&byte| byte == b'\n').map(path);
        let (Some(root), Some(git_dir), Some(objects)) = (paths.next(), paths.next(), paths.next())
        else {
            return Err(no_repository());
        };
        let listed = self.local(Call::new(action, &root, status::ARGUMENTS)).await?;
        let status = status::parse(&listed);
        let Some(commit) = status.head.clone() else {
            let words = "it has no commit yet: make a first one".to_owned();
            return Err(GitError::Unfit { action, words });
        };
        let name = status.branch.clone().unwrap_or_else(|| "HEAD".to_owned());
        let repository = Repository {
            git: self.clone(),
            root,
            git_dir,
            objects,
            base: Base { name, commit },
            branch: None,
            remote: None,
            default_branch: None,
            warnings: Vec::new(),
            at_remote: Mutex::new(AtRemote::known(None)),
        };
        Ok((repository, status))
    }
}

fn path(line: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(line.to_vec()))
}

impl Repository {
    /// The remote. Of an opened repository it is `origin`, or the only one there is.
    pub async fn remote(&self) -> Result<Remote, GitError> {
        self.named_remote().await.map(|(_, remote)| remote)
    }

    /// The branch that pull requests go to: the default reference of the clone, else the
    /// one that the remote's HEAD names (CODE-06).
    pub async fn default_branch(&self) -> Result<RefName, GitError> {
        if let Some(branch) = &self.default_branch {
            return Ok(branch.clone());
        }
        let action = "find the default branch";
        let (name, remote) = self.named_remote().await?;
        let prefix = format!("refs/remotes/{name}/");
        let head = format!("{prefix}HEAD");
        let listed = ["for-each-ref", "--format=%(symref)", &head];
        let listed = self.git.local(self.call(action, listed)).await?;
        let listed = String::from_utf8_lossy(&listed);
        let known = listed.trim().strip_prefix(&prefix).and_then(|name| RefName::parse(name).ok());
        match known {
            Some(branch) => Ok(branch),
            None => self.ask_for_default_branch(action, &remote).await,
        }
    }

    async fn ask_for_default_branch(
        &self,
        action: &'static str,
        remote: &Remote,
    ) -> Result<RefName, GitError> {
        let asked = self.ask_remote(action, remote, &["--symref"], "HEAD").await?;
        let answer = asked.lines().find_map(|line| {
            let name = line.strip_prefix("ref: refs/heads/")?.strip_suffix("\tHEAD")?;
            RefName::parse(name).ok()
        });
        answer.ok_or_else(|| GitError::RefNotFound {
            name: "HEAD".to_owned(),
            remote: remote.to_string(),
            remedy: "its HEAD is on no branch; name the branch that pull requests go to".to_owned(),
        })
    }

    pub(super) async fn named_remote(&self) -> Result<(String, Remote), GitError> {
        if let Some(known) = &self.remote {
            return Ok(known.clone());
        }
        let action = "find the remote";
        let unfit = |words: &str| GitError::Unfit { action, words: words.to_owned() };
        let listed = self.git.local(self.call(action, ["remote"])).await?;
        let listed = String::from_utf8_lossy(&listed);
        let names: Vec<&str> = listed.lines().collect();
        let name = match names.as_slice() {
            [] => return Err(unfit("the repository has none: git remote add origin …")),
            [only] => *only,
            several if several.contains(&"origin") => "origin",
            _ => return Err(unfit("it has several and none is called origin: name one so")),
        };
        let url = ["remote", "get-url", "--push", "--", name];
        let url = self.git.local(self.call(action, url)).await?;
        let url = String::from_utf8_lossy(&url);
        let remote =
            Remote::parse_persons(url.trim()).map_err(|error| unfit(&error.to_string()))?;
        Ok((name.to_owned(), remote))
    }
}
