//! One repository with its work tree: where its work began, what has changed, and how it
//! gets to the remote.

mod changes;
mod checkout;
mod clone;
mod courier;
mod lock;
mod open;
mod push;
mod refs;
mod snapshot;
mod status;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tokio::sync::Mutex;

pub use changes::{Change, ChangedFile};
pub use checkout::Warning;
pub use clone::CloneRequest;
pub use push::Pushed;
pub use snapshot::{DiffText, Snapshot};
pub use status::Status;

use crate::error::GitError;
use crate::git::{Call, Git};
use crate::reference::{FlowBranch, ObjectId, RefName};
use crate::remote::Remote;
use push::AtRemote;

/// Who commits (CODE-04).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    mailbox: String,
}

impl Identity {
    /// An agent, by its mailbox, which is both its name and its address.
    pub fn of_mailbox(mailbox: &str) -> Result<Self, GitError> {
        let illegal = |c: char| c.is_control() || c.is_whitespace() || "<>".contains(c);
        if mailbox.is_empty() || mailbox.contains(illegal) {
            let words = format!("{mailbox:?} is no mailbox: it must be like name@host");
            return Err(GitError::Unfit { action: "commit as this agent", words });
        }
        Ok(Self { mailbox: mailbox.to_owned() })
    }

    /// The mailbox.
    pub fn mailbox(&self) -> &str {
        &self.mailbox
    }

    /// What commands see, so that every commit is the agent's, whatever any
    /// configuration says.
    pub fn environment(&self) -> [(&'static str, &str); 4] {
        let mailbox = self.mailbox.as_str();
        [
            ("GIT_AUTHOR_NAME", mailbox),
            ("GIT_AUTHOR_EMAIL", mailbox),
            ("GIT_COMMITTER_NAME", mailbox),
            ("GIT_COMMITTER_EMAIL", mailbox),
        ]
    }
}

/// What the work began from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The branch or tag, in its short form; for an opened repository its branch, or
    /// `HEAD` when it is on none.
    pub name: String,
    /// The commit.
    pub commit: ObjectId,
}

/// A repository with its work tree, cloned by [`Git::clone_repository`] or opened by
/// [`Git::open`].
#[derive(Debug)]
pub struct Repository {
    git: Git,
    root: PathBuf,
    git_dir: PathBuf,
    objects: PathBuf,
    base: Base,
    branch: Option<FlowBranch>,
    /// Known from the clone on; of an opened repository, when it is asked for.
    remote: Option<(String, Remote)>,
    default_branch: Option<RefName>,
    warnings: Vec<Warning>,
    at_remote: Mutex<AtRemote>,
}

impl Repository {
    /// The root of the work tree, links resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What the work began from.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// The one branch that may be pushed; none before [`create_branch`](Self::create_branch)
    /// of an opened repository.
    pub fn branch(&self) -> Option<&FlowBranch> {
        self.branch.as_ref()
    }

    /// What a person should know about the checkout.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The git program.
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// Creates the branch where HEAD is, following no remote branch, and checks it out.
    /// Changes in the work tree stay (CODE-03).
    pub async fn create_branch(&mut self, branch: FlowBranch) -> Result<(), GitError> {
        self.remove_stale_locks()?;
        checkout::switch(&self.git, &self.root, &branch, None).await?;
        self.branch = Some(branch);
        self.at_remote = Mutex::new(AtRemote::known(None));
        Ok(())
    }

    /// Whether a remote is known to have a branch of this name: it is somebody else's.
    pub async fn is_taken(&self, branch: &FlowBranch) -> Result<bool, GitError> {
        let tracked = format!("refs/remotes/*/{branch}");
        let listed = ["for-each-ref", "--count=1", "--format=%(refname)", &tracked];
        let listed = self.git.local(self.call("look for the branch", listed)).await?;
        Ok(!listed.is_empty())
    }

    /// The commit that is checked out.
    pub async fn head(&self) -> Result<ObjectId, GitError> {
        self.commit("read HEAD", "HEAD").await
    }

    /// The newest commit of the branch that may be pushed.
    pub async fn branch_head(&self) -> Result<ObjectId, GitError> {
        let action = "read the branch";
        let branch = self.own_branch(action)?;
        self.commit(action, &branch.full()).await.map_err(|error| match error {
            GitError::Failed { words, .. } => {
                let words = format!("{branch} is gone ({words}): git switch -c {branch}");
                GitError::Unfit { action, words }
            }
            other => other,
        })
    }

    /// How many commits HEAD has that the base has not.
    pub async fn commits_since_base(&self) -> Result<u64, GitError> {
        let action = "count commits";
        let range = format!("{}..HEAD", self.base.commit);
        let arguments = ["rev-list", "--count", &range, "--"];
        let stdout = self.git.local(self.call(action, arguments)).await?;
        let text = String::from_utf8_lossy(&stdout);
        text.trim().parse().map_err(|_| GitError::Failed { action, words: text.into_owned() })
    }

    /// Every file in which the branch that may be pushed differs from the base.
    pub async fn committed_files(&self) -> Result<Vec<ChangedFile>, GitError> {
        let action = "list committed files";
        let (base, branch) = (self.base.commit.as_str(), self.own_branch(action)?.full());
        let arguments = ["diff-tree", "-r", "-z", "-M", "--name-status", base, &branch, "--"];
        Ok(changes::parse(&self.git.local(self.call(action, arguments)).await?))
    }

    fn own_branch(&self, action: &'static str) -> Result<&FlowBranch, GitError> {
        self.branch.as_ref().ok_or_else(|| {
            let words = "this repository has no branch of its own yet: create one first";
            GitError::Unfit { action, words: words.to_owned() }
        })
    }

    async fn commit(&self, action: &'static str, name: &str) -> Result<ObjectId, GitError> {
        let name = format!("{name}^{{commit}}");
        let stdout = self.git.local(self.call(action, ["rev-parse", "--verify", &name])).await?;
        let text = String::from_utf8_lossy(&stdout);
        let words = || text.trim().to_owned();
        ObjectId::parse(&text).ok_or_else(|| GitError::Failed { action, words: words() })
    }

    /// A call in this repository, wherever its configuration may say that its files are.
    fn call(
        &self,
        action: &'static str,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Call<'_> {
        Call::new(action, &self.root, arguments)
            .env("GIT_DIR", &self.git_dir)
            .env("GIT_WORK_TREE", &self.root)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    /// CODE-04
    #[test]
    fn name_and_address_are_the_mailbox() {
        let identity = Identity::of_mailbox("scout@dev-ai.flow.life").unwrap();
        for (name, value) in identity.environment() {
            assert!(name.starts_with("GIT_"), "{name}");
            assert_eq!(value, "scout@dev-ai.flow.life");
        }
    }

    /// CODE-04
    #[test]
    fn a_mailbox_that_git_would_change_is_refused() {
        for mailbox in ["", "a b@c", "a@b\nc", "<a@b>"] {
            assert!(Identity::of_mailbox(mailbox).is_err(), "{mailbox:?}");
        }
    }
}
