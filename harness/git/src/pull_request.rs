//! Pull requests at the host of a remote (CODE-06, CODE-07).

mod description;
mod github;

use std::time::Duration;

use async_trait::async_trait;
use secrecy::SecretString;
use url::Url;

pub use description::describe;
pub use github::GitHub;

use crate::error::Class;
use crate::remote::{Hosting, HostingSettings, Remote};

/// A pull request to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPullRequest {
    /// One line.
    pub title: String,
    /// The description, as [`describe`] makes it.
    pub body: String,
    /// The branch with the work, in its short form.
    pub head: String,
    /// The branch that it goes to, in its short form.
    pub base: String,
}

/// A pull request at its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    /// Its number there.
    pub number: u64,
    /// Where a person reads it.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Its description.
    pub body: String,
    /// The branch with the work.
    pub head: String,
    /// The branch that it goes to.
    pub base: String,
    /// Whether it is open.
    pub open: bool,
}

/// A pull request that is open now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    /// It is new.
    Created(PullRequest),
    /// One was open for that branch already; its title and description are the new ones.
    Updated(PullRequest),
}

impl Opened {
    /// The pull request.
    pub fn pull_request(&self) -> &PullRequest {
        match self {
            Self::Created(pull_request) | Self::Updated(pull_request) => pull_request,
        }
    }
}

/// Pull requests of one repository.
#[async_trait]
pub trait PullRequests: Send + Sync {
    /// Opens a pull request. When one is open for that branch already, that one gets the
    /// new title and description.
    async fn open(&self, new: &NewPullRequest) -> Result<Opened, PullRequestError>;

    /// Reads one.
    async fn get(&self, number: u64) -> Result<PullRequest, PullRequestError>;
}

/// Where pull requests are opened, and as whom.
#[derive(Clone, Debug)]
pub struct PullRequestsSettings {
    /// Which hosts are GitHub.
    pub hosting: HostingSettings,
    /// Base of GitHub's API; from `FOUNDRY_GITHUB_API_URL`.
    pub github_api: Url,
    /// From `GITHUB_TOKEN`.
    pub github_token: Option<SecretString>,
}

/// The pull requests of a remote, chosen by its host (CODE-06).
pub fn pull_requests_of(
    remote: &Remote,
    settings: &PullRequestsSettings,
) -> Result<Box<dyn PullRequests>, PullRequestError> {
    let PullRequestsSettings { hosting, github_api, github_token } = settings;
    match Hosting::of(remote, hosting) {
        Hosting::GitHub => {
            let (owner, name) = remote
                .owner_and_name()
                .ok_or_else(|| PullRequestError::NoRepository { remote: remote.to_string() })?;
            let token = github_token.clone().ok_or(PullRequestError::NoToken {
                host: remote.host().to_owned(),
                variable: "GITHUB_TOKEN",
            })?;
            Ok(Box::new(GitHub::new(github_api, owner, name, token)?))
        }
        Hosting::AzureDevOps => {
            Err(PullRequestError::NotSupported { host: "Azure DevOps".to_owned() })
        }
        Hosting::Other => Err(PullRequestError::NotSupported { host: remote.host().to_owned() }),
    }
}

/// What a host says about one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The field; empty when it is about the whole.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

/// Why a pull request was not opened or read. Tokens are in none of these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PullRequestError {
    /// Nobody here speaks to that host.
    #[error(
        "pull requests at {host} are not supported yet: open it there by hand, the branch is pushed"
    )]
    NotSupported {
        /// The host.
        host: String,
    },
    /// There is no token.
    #[error(
        "there is no token for {host}: add {variable} to Secret foundry-harness-git, or to the environment"
    )]
    NoToken {
        /// The host.
        host: String,
        /// Where it is looked for.
        variable: &'static str,
    },
    /// The remote names no repository as the host knows it.
    #[error("{remote} names no owner and repository: write ssh://git@host/owner/repository")]
    NoRepository {
        /// The remote.
        remote: String,
    },
    /// The settings make no client.
    #[error(
        "failed to make a client of {url}: {words}; check FOUNDRY_GITHUB_API_URL and GITHUB_TOKEN"
    )]
    Client {
        /// The API.
        url: String,
        /// Why not.
        words: String,
    },
    /// The host does not take the token.
    #[error(
        "{host} refused the token ({status}): {message}; it must be valid and may write pull requests"
    )]
    TokenRefused {
        /// The host.
        host: String,
        /// HTTP status.
        status: u16,
        /// The host's own words.
        message: String,
    },
    /// The host refused the request.
    #[error("{host} refused the pull request ({status}): {message}{}", listed(fields))]
    Refused {
        /// The host.
        host: String,
        /// HTTP status.
        status: u16,
        /// The host's own words.
        message: String,
        /// The host's own words about fields.
        fields: Vec<FieldError>,
    },
    /// Too many requests for now.
    #[error("{host} takes no more requests for now ({status}): {message}; again in {} s", retry_after.as_secs())]
    Limited {
        /// The host.
        host: String,
        /// HTTP status.
        status: u16,
        /// The host's own words.
        message: String,
        /// How long to wait.
        retry_after: Duration,
    },
    /// The host could not be reached, or failed.
    #[error("failed to reach {host}: {words}")]
    Unreachable {
        /// The host.
        host: String,
        /// What happened.
        words: String,
    },
    /// The host answered what this client does not know.
    #[error("{host} gave an answer that was not understood: {words}")]
    NotUnderstood {
        /// The host.
        host: String,
        /// What was wrong with it.
        words: String,
    },
}

fn listed(fields: &[FieldError]) -> String {
    let listed = fields.iter().map(|FieldError { field, message }| {
        if field.is_empty() { format!("; {message}") } else { format!("; {field}: {message}") }
    });
    listed.collect()
}

impl PullRequestError {
    /// What can be done about it.
    pub fn class(&self) -> Class {
        match self {
            Self::Limited { .. } | Self::Unreachable { .. } => Class::Transient,
            Self::NotSupported { .. }
            | Self::NoToken { .. }
            | Self::NoRepository { .. }
            | Self::Client { .. }
            | Self::TokenRefused { .. }
            | Self::Refused { .. } => Class::Refused,
            Self::NotUnderstood { .. } => Class::Bug,
        }
    }

    /// One stable word for logs, metrics and conditions.
    pub fn category(&self) -> &'static str {
        match self {
            Self::NotSupported { .. } => "HostNotSupported",
            Self::NoToken { .. } => "NoToken",
            Self::NoRepository { .. } => "NoRepository",
            Self::Client { .. } => "ClientFailed",
            Self::TokenRefused { .. } => "TokenRefused",
            Self::Refused { .. } => "PullRequestRefused",
            Self::Limited { .. } => "Limited",
            Self::Unreachable { .. } => "Unreachable",
            Self::NotUnderstood { .. } => "NotUnderstood",
        }
    }

    /// How long to wait before trying again, when the host said so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Limited { retry_after, .. } => Some(*retry_after),
            _ => None,
        }
    }
}
