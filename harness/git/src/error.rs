//! What can go wrong with a repository, by what can be done about it.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::process::RunError;

/// What can be done about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Trying again later may work.
    Transient,
    /// Somebody must change something first.
    Refused,
    /// Foundry itself is at fault.
    Bug,
}

/// Why git did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Nobody vouches for the host's key.
    #[error("host key of {host} is unknown: add the line that {host} publishes to {known_hosts}")]
    HostKeyUnknown {
        /// The host, with its port when that is not 22.
        host: String,
        /// Where its line belongs.
        known_hosts: String,
    },
    /// The host shows another key than the one that is known.
    #[error(
        "host key of {host} has changed: if {host} announced it, replace its line in \
         {known_hosts}; if not, somebody may be in between"
    )]
    HostKeyChanged {
        /// The host, with its port when that is not 22.
        host: String,
        /// Where its line is.
        known_hosts: String,
    },
    /// There is no key for this host.
    #[error("{} holds no key for {host}: add {} to Secret foundry-harness-ssh", folder.display(), names.join(" or "))]
    NoKey {
        /// The host.
        host: String,
        /// Where keys are looked for.
        folder: PathBuf,
        /// Names of the files that would do.
        names: Vec<&'static str>,
    },
    /// The folder of keys cannot be used.
    #[error("failed to use key folder {}: {words}", folder.display())]
    KeyFolder {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it and what to do.
        words: String,
    },
    /// The host does not let this key in.
    #[error(
        "{host} refused {key}: {words}; add its public half to an account or repository there that may read and push"
    )]
    AuthRefused {
        /// The host.
        host: String,
        /// Which key was shown.
        key: String,
        /// The host's own words.
        words: String,
    },
    /// The repository does not exist, or not for this key.
    #[error(
        "repository {remote} was not found: {words}; check the remote and what the key may read"
    )]
    RepositoryNotFound {
        /// The remote.
        remote: String,
        /// The host's own words.
        words: String,
    },
    /// The remote has no such branch or tag.
    #[error("{remote} has no branch or tag {name}: {remedy}")]
    RefNotFound {
        /// What was looked for.
        name: String,
        /// The remote.
        remote: String,
        /// What to do.
        remedy: String,
    },
    /// The host could not be reached, or went away.
    #[error("failed to reach {host}: {words}")]
    Unreachable {
        /// The host.
        host: String,
        /// What SSH or git said.
        words: String,
    },
    /// It took too long.
    #[error("failed to {action}: not done within {} s", after.as_secs())]
    TimedOut {
        /// What was being done.
        action: &'static str,
        /// How long it was let run.
        after: Duration,
        /// Whether another host was waited for.
        remote: bool,
    },
    /// The branch was not pushed.
    #[error("failed to push {branch}: {reason}")]
    PushRefused {
        /// The branch, as it was asked for.
        branch: String,
        /// Why.
        reason: PushRefusal,
    },
    /// The branch is there already.
    #[error("branch {branch} exists already: delete or rename it, or take another name")]
    BranchExists {
        /// The branch.
        branch: String,
    },
    /// Not a work tree of git.
    #[error("{} is no git repository with a work tree: run git init and commit, or choose another folder", folder.display())]
    NotARepository {
        /// The folder.
        folder: PathBuf,
    },
    /// The repository has nothing that this could be done with.
    #[error("failed to {action}: {words}")]
    Unfit {
        /// What was being done.
        action: &'static str,
        /// What is missing and what to do.
        words: String,
    },
    /// Git failed in a way that has no name here.
    #[error("failed to {action}: git said: {words}")]
    Failed {
        /// What was being done.
        action: &'static str,
        /// Git's own words.
        words: String,
    },
    /// A file could not be read or written.
    #[error("failed to {action} {}", path.display())]
    File {
        /// What was being done.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Git itself could not be run.
    #[error("failed to {action}")]
    Run {
        /// What was being done.
        action: &'static str,
        /// Why.
        source: RunError,
    },
}

/// Why a branch was not pushed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PushRefusal {
    /// It is the branch that the pull request goes to.
    #[error("it is the branch that the pull request goes to; push {own} instead")]
    TargetBranch {
        /// The branch that may be pushed.
        own: String,
    },
    /// It is not this run's branch.
    #[error("only {own} may be pushed")]
    NotOwnBranch {
        /// The branch that may be pushed.
        own: String,
    },
    /// Commits that the work began from are no longer below it.
    #[error(
        "it no longer contains {base}, the commit that the work began from: commits that were \
         there before must stay as they are; git reflog shows where the branch was"
    )]
    Rewritten {
        /// That commit.
        base: String,
    },
    /// The remote's branch moved on since it was seen last.
    #[error("the remote has commits on it that were not made here; take another branch name")]
    Moved,
    /// The host refused it.
    #[error("the host said: {words}")]
    Host {
        /// The host's own words.
        words: String,
    },
}

impl GitError {
    /// What can be done about it.
    pub fn class(&self) -> Class {
        match self {
            Self::Unreachable { .. } => Class::Transient,
            Self::TimedOut { remote, .. } => {
                if *remote {
                    Class::Transient
                } else {
                    Class::Refused
                }
            }
            Self::HostKeyUnknown { .. }
            | Self::HostKeyChanged { .. }
            | Self::NoKey { .. }
            | Self::KeyFolder { .. }
            | Self::AuthRefused { .. }
            | Self::RepositoryNotFound { .. }
            | Self::RefNotFound { .. }
            | Self::PushRefused { .. }
            | Self::BranchExists { .. }
            | Self::NotARepository { .. }
            | Self::Unfit { .. }
            | Self::Failed { .. }
            | Self::File { .. } => Class::Refused,
            Self::Run { source, .. } => source.class(),
        }
    }

    /// One stable word for logs, metrics and conditions.
    pub fn category(&self) -> &'static str {
        match self {
            Self::HostKeyUnknown { .. } => "HostKeyUnknown",
            Self::HostKeyChanged { .. } => "HostKeyChanged",
            Self::NoKey { .. } => "NoKey",
            Self::KeyFolder { .. } => "KeyFolder",
            Self::AuthRefused { .. } => "AuthRefused",
            Self::RepositoryNotFound { .. } => "RepositoryNotFound",
            Self::RefNotFound { .. } => "RefNotFound",
            Self::Unreachable { .. } => "Unreachable",
            Self::TimedOut { .. } => "TimedOut",
            Self::PushRefused { .. } => "PushRefused",
            Self::BranchExists { .. } => "BranchExists",
            Self::NotARepository { .. } => "NotARepository",
            Self::Unfit { .. } => "Unfit",
            Self::Failed { .. } => "GitFailed",
            Self::File { .. } => "FileFailed",
            Self::Run { source, .. } => source.category(),
        }
    }
}

/// An error with its causes, each said once: for logs, events and tool results.
pub fn chain(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_words = cause.to_string();
        if !words.contains(&cause_words) {
            words.push_str(": ");
            words.push_str(&cause_words);
        }
        source = cause.source();
    }
    words
}

/// Most characters of another's words that an error repeats.
const QUOTED: usize = 1000;

/// Another's words on one line, as far as a person will read, without control characters.
pub(crate) fn quoted(words: &str) -> String {
    let mut line = String::new();
    for part in words.split(|c: char| c.is_control()).map(str::trim).filter(|part| !part.is_empty())
    {
        if !line.is_empty() {
            line.push_str("; ");
        }
        line.push_str(part);
    }
    if line.is_empty() {
        return "nothing".to_owned();
    }
    match line.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
