//! Cloning: one connection, three or four calls of git.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::Mutex;

use super::push::AtRemote;
use super::refs::{self, Wanted};
use super::{Identity, Repository, checkout};
use crate::error::GitError;
use crate::git::{Call, Git};
use crate::reference::{FlowBranch, RefName};
use crate::remote::Remote;

/// What is cloned, and what for.
#[derive(Clone, Debug)]
pub struct CloneRequest {
    /// The remote.
    pub remote: Remote,
    /// Where the work tree goes. It is made anew: whatever was there is removed.
    pub folder: PathBuf,
    /// Branch or tag to start from (CODE-02).
    pub base_ref: Option<RefName>,
    /// Branch to start from without one, and target of the pull request.
    pub default_ref: Option<RefName>,
    /// The branch to work on.
    pub branch: FlowBranch,
    /// Who commits.
    pub identity: Identity,
    /// How long the transfer may take.
    pub limit: Duration,
}

impl CloneRequest {
    /// How long a transfer may usually take.
    pub const USUAL_LIMIT: Duration = Duration::from_mins(10);
}

impl Git {
    /// Clones a repository and checks out the branch to work on (CODE-01..04).
    ///
    /// The clone is whole: every branch, tag and commit. One branch alone would be
    /// faster for a few repositories, but then a base that is a tag, the remote's HEAD,
    /// what the remote has on our own branch (the lease of a push), `git describe` in
    /// builds and a look at other branches would each need another connection.
    pub async fn clone_repository(&self, request: &CloneRequest) -> Result<Repository, GitError> {
        let CloneRequest { remote, folder, base_ref, default_ref, branch, identity, limit } =
            request;
        let parent = make_room(folder)?;
        let setting = |name: &str| format!("{name}={}", identity.mailbox());
        let mut arguments: Vec<OsString> = [
            "clone",
            "--quiet",
            "--origin=origin",
            "--no-checkout",
            "--no-recurse-submodules",
            "--template=",
            "--config",
            &setting("user.name"),
            "--config",
            &setting("user.email"),
            "--",
            remote.url(),
        ]
        .map(OsString::from)
        .to_vec();
        arguments.push(folder.into());
        let action = "clone the repository";
        let cloned = self.remote(Call::new(action, &parent, arguments), remote, *limit).await?;
        if !cloned.exit.passed() {
            return Err(self.remote_failure(action, remote, &cloned));
        }
        let root = folder.canonicalize().map_err(|source| file("find", folder, source))?;
        let wanted = Wanted {
            remote: remote.url(),
            base_ref: base_ref.as_ref(),
            default_ref: default_ref.as_ref(),
            branch,
        };
        let mut arguments = vec!["for-each-ref".to_owned(), refs::FORMAT.to_owned()];
        arguments.extend(wanted.patterns());
        let listed = self.local(Call::new("list branches and tags", &root, arguments)).await?;
        let found = wanted.find(&refs::parse(&listed))?;
        if found.own_branch.is_some() {
            self.check_own(&root, branch, identity).await?;
        }
        checkout::switch(self, &root, branch, Some(&found.base.commit)).await?;
        let warnings = checkout::verify(self, &root).await?;
        let git_dir = root.join(".git");
        Ok(Repository {
            git: self.clone(),
            objects: git_dir.join("objects"),
            git_dir,
            root,
            base: found.base,
            branch: Some(branch.clone()),
            remote: Some(("origin".to_owned(), remote.clone())),
            default_branch: found.default_branch,
            warnings,
            at_remote: Mutex::new(AtRemote::known(found.own_branch)),
        })
    }
}

impl Git {
    /// What an earlier start of the run has left on its branch will be replaced by a push;
    /// what somebody else has added must not be.
    async fn check_own(
        &self,
        root: &Path,
        branch: &FlowBranch,
        identity: &Identity,
    ) -> Result<(), GitError> {
        let own = format!("refs/remotes/origin/{branch}");
        let exclude = format!("--exclude=origin/{branch}");
        // Merges bring what is elsewhere, too.
        let arguments =
            ["log", "--no-merges", "--format=%ae", &own, "--not", &exclude, "--remotes=origin"];
        let listed = self.local(Call::new("look at the remote's branch", root, arguments)).await?;
        let listed = String::from_utf8_lossy(&listed);
        match listed.lines().find(|author| *author != identity.mailbox()) {
            None => Ok(()),
            Some(author) => {
                let branch = format!("{branch} of the remote, with commits by {author},");
                Err(GitError::BranchExists { branch })
            }
        }
    }
}

/// Removes what is at `folder`, and gives the folder above it, which is made.
fn make_room(folder: &Path) -> Result<PathBuf, GitError> {
    let parent = folder.parent().filter(|_| folder.is_absolute()).ok_or_else(|| {
        let words = format!("{} is no absolute path", folder.display());
        GitError::Unfit { action: "clone the repository", words }
    })?;
    match std::fs::symlink_metadata(folder) {
        Ok(what) if what.is_dir() => {
            std::fs::remove_dir_all(folder).map_err(|source| file("remove", folder, source))?;
        }
        Ok(_) => std::fs::remove_file(folder).map_err(|source| file("remove", folder, source))?,
        Err(_) => {}
    }
    std::fs::create_dir_all(parent).map_err(|source| file("make", parent, source))?;
    Ok(parent.to_owned())
}

pub(super) fn file(action: &'static str, path: &Path, source: std::io::Error) -> GitError {
    GitError::File { action, path: path.to_owned(), source }
}
