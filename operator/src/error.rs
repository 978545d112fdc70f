//! Errors of this crate: what failed, who must act, and one stable word for it.

use std::error::Error as _;
use std::fmt::Write as _;
use std::time::Duration;

use kube::core::Status;

use crate::config::ConfigError;

/// What is wrong where the control plane keeps network policies from the operator.
const NOT_SHOWN: &str = "NetworkPolicies cannot be read; give foundry-operator the rights of \
                         crds/yaml/rbac.yaml, or set FOUNDRY_NETWORK_POLICIES to false";

/// Who must act on an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Nobody: it is tried again with backoff.
    Transient,
    /// Somebody must change something; a condition says what.
    Refused,
    /// Us.
    Bug,
}

/// Everything that ends a reconcile or this process early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting is missing or wrong.
    #[error("failed to read the settings")]
    Config(#[source] ConfigError),
    /// Neither a kubeconfig nor a pod's own configuration is there.
    #[error(
        "failed to find a cluster: this is not a pod and there is no kubeconfig; set KUBECONFIG to \
         a file that names a control plane"
    )]
    NoCluster,
    /// A kubeconfig cannot be used.
    #[error("failed to use kubeconfig {files}: {cause}; correct it, or set KUBECONFIG to another")]
    Kubeconfig {
        /// The files.
        files: String,
        /// What is wrong, on one line.
        cause: String,
    },
    /// The client could not be built from the configuration.
    #[error("failed to build the Kubernetes client")]
    Client(#[source] Box<kube::Error>),
    /// The client of the people service could not be built.
    #[error("failed to build the client of the people service")]
    People(#[source] reqwest::Error),
    /// The probe server's address could not be bound.
    #[error(
        "failed to listen on {address}: free the port or set FOUNDRY_OPERATOR_LISTEN to another"
    )]
    Listen {
        /// The address asked for.
        address: std::net::SocketAddr,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// The local runtime's folder could not be used.
    #[error("failed to prepare folder {path}: check that FOUNDRY_LOCAL_DIR is writable")]
    Folder {
        /// The folder.
        path: std::path::PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// The local runtime has nothing to run.
    #[error(
        "failed to find an executable {path}: set FOUNDRY_LOCAL_BIN_DIR to the folder that holds \
         `harness`"
    )]
    NoHarness {
        /// Where it should be.
        path: std::path::PathBuf,
    },
    /// A write to the cluster failed.
    #[error("failed to {verb} {kind} {name}")]
    Write {
        /// What was tried: apply, delete, ….
        verb: &'static str,
        /// Kind of the object.
        kind: String,
        /// Its name.
        name: String,
        /// What the cluster says.
        #[source]
        source: Box<kube::Error>,
    },
    /// A read from the cluster failed.
    #[error("failed to read {kind} {name}")]
    Read {
        /// Kind of the object.
        kind: &'static str,
        /// Its name.
        name: String,
        /// What the cluster says.
        #[source]
        source: Box<kube::Error>,
    },
    /// The control plane did not answer in time.
    #[error("failed to {verb} {kind} {name}: the control plane did not answer within {seconds} s")]
    Deadline {
        /// What was tried.
        verb: &'static str,
        /// Kind of the object.
        kind: String,
        /// Its name.
        name: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// Network policies cannot be laid, for the watch does not show those there are.
    #[error("failed to lay the network policies of namespace {namespace}: {NOT_SHOWN}")]
    PoliciesNotShown {
        /// The namespace.
        namespace: String,
    },
    /// Network policies are being laid for somebody else, and the control plane takes long.
    #[error(
        "failed to lay the network policies of namespace {namespace}: the control plane has yet to \
         answer an earlier try"
    )]
    PoliciesUnderWay {
        /// The namespace.
        namespace: String,
    },
    /// The agent that a pod was to be made for is gone, and no other is there.
    #[error(
        "failed to lay the network policies of namespace {namespace}: no agent is left that they \
         could be for"
    )]
    NobodyToFence {
        /// The namespace.
        namespace: String,
    },
    /// The first list of a watch is not complete.
    #[error("failed to read from the caches: the first list is not complete yet")]
    CachesNotReady,
    /// An object lacks what the control plane always sets.
    #[error("failed to use {kind} {name}: it has no {field}")]
    Incomplete {
        /// Kind of the object.
        kind: &'static str,
        /// Its name, as far as known.
        name: String,
        /// The missing field.
        field: &'static str,
    },
}

impl Error {
    /// Who must act.
    pub fn class(&self) -> Class {
        match self {
            Self::Config(_)
            | Self::NoCluster
            | Self::Kubeconfig { .. }
            | Self::People(_)
            | Self::Listen { .. }
            | Self::Folder { .. }
            | Self::NoHarness { .. }
            | Self::PoliciesNotShown { .. } => Class::Refused,
            Self::Write { .. } if self.refusal().is_some() => Class::Refused,
            Self::Write { .. }
            | Self::Read { .. }
            | Self::Deadline { .. }
            | Self::PoliciesUnderWay { .. }
            | Self::NobodyToFence { .. }
            | Self::CachesNotReady
            | Self::Client(_) => Class::Transient,
            Self::Incomplete { .. } => Class::Bug,
        }
    }

    /// One stable word for metrics, events and conditions.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Config(_) => "Settings",
            Self::NoCluster | Self::Kubeconfig { .. } | Self::Client(_) | Self::People(_) => {
                "Connection"
            }
            Self::Listen { .. } => "Listen",
            Self::Folder { .. } | Self::NoHarness { .. } => "Folder",
            Self::Write { .. } if self.is_conflict() => "Conflict",
            Self::Write { .. } if self.refusal().is_some() => "Refused",
            Self::PoliciesNotShown { .. } => "Refused",
            Self::Write { .. } => "Write",
            Self::Read { .. } => "Read",
            Self::Deadline { .. } | Self::PoliciesUnderWay { .. } => "Deadline",
            Self::CachesNotReady | Self::NobodyToFence { .. } => "Caches",
            Self::Incomplete { .. } => "Bug",
        }
    }

    /// Whether somebody else wrote first: normal, and no reason to warn.
    pub fn is_conflict(&self) -> bool {
        self.answer().is_some_and(|answer| answer.is_conflict() || answer.is_already_exists())
    }

    /// Whether the object is not there (any more).
    pub fn is_not_found(&self) -> bool {
        self.answer().is_some_and(Status::is_not_found)
    }

    /// What the cluster said, in its own words, when it refused a write (LIFE-15).
    pub fn refusal(&self) -> Option<&str> {
        match self {
            Self::PoliciesNotShown { .. } => return Some(NOT_SHOWN),
            Self::Write { .. } => {}
            _ => return None,
        }
        let answer = self.answer()?;
        (answer.is_forbidden() || answer.is_invalid() || answer.code == 422)
            .then_some(answer.message.as_str())
    }

    /// How long the control plane wants to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.answer()?.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds.into()))
    }

    /// The control plane's answer, when it gave one.
    fn answer(&self) -> Option<&Status> {
        match self {
            Self::Write { source, .. } | Self::Read { source, .. } => match &**source {
                kube::Error::Api(status) => Some(status),
                _ => None,
            },
            _ => None,
        }
    }
}

/// An error with all its causes on one line, for logs and events. What the control
/// plane answered is told in its own words alone; kube would add the whole answer.
pub fn chain(error: &Error) -> String {
    if let Some(answer) = error.answer() {
        return format!("{error}: {}", answer.message);
    }
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        // Writing to a String cannot fail.
        if write!(line, ": {next}").is_err() {
            break;
        }
        cause = next.source();
    }
    line
}
