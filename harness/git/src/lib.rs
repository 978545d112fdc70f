//! How a repository is reached: commands without a shell, git over SSH, pull requests.
//!
//! - [`Runner`] runs a program with arguments: in a session of its own, under a clock, in
//!   an environment made from an allow-list, its output bounded as it comes, and kept out
//!   of the folders of keys and tokens where the kernel can do that.
//! - [`Git`] calls the git program through it: [`Git::clone_repository`], [`Git::open`],
//!   and what a [`Repository`] offers.
//! - [`PullRequests`] opens pull requests at the host of a remote.

mod error;
mod failure;
mod git;
mod process;
mod pull_request;
mod reference;
mod remote;
mod repository;
mod ssh;

pub use error::{Class, GitError, PushRefusal, chain};
pub use git::{Access, Git, GitConfiguration};
pub use process::{
    Command, Confinement, Environment, Exit, FOREGROUND_LIMIT, Finished, FullText, Minded, Output,
    OutputLimits, RunError, Runner, RunnerSettings, adopt_orphans,
};
pub use pull_request::{
    FieldError, GitHub, NewPullRequest, Opened, PullRequest, PullRequestError, PullRequests,
    PullRequestsSettings, describe, pull_requests_of,
};
pub use reference::{FlowBranch, ObjectId, RefName, RefNameError, slug};
pub use remote::{Hosting, HostingSettings, Remote, RemoteError, Scheme};
pub use repository::{
    Base, Change, ChangedFile, CloneRequest, DiffText, Identity, Pushed, Repository, Snapshot,
    Status, Warning,
};
pub use ssh::SshKeys;
