//! What speaks SSH: the server in this crate, or a real sshd.

use std::sync::Arc;

use anyhow::Result;
use tokio::net::TcpStream;
use tokio_util::task::TaskTracker;

use super::embedded::Embedded;
use super::faults::Faults;
use super::keys::Keys;
use super::openssh::{OpenSsh, Sshd};
use super::pump::Limits;
use super::server::{Session, State};

/// One connection to serve.
pub(super) struct Serving {
    pub state: Arc<State>,
    pub number: usize,
    pub faults: Arc<Faults>,
    pub tasks: TaskTracker,
}

#[derive(Debug)]
pub(super) enum Backend {
    Embedded(Embedded),
    OpenSsh(OpenSsh),
}

impl Backend {
    pub(super) fn new(keys: &Keys, openssh: Option<Sshd>) -> Result<Self> {
        Ok(match openssh {
            None => Self::Embedded(Embedded::new(keys.folder())?),
            Some(sshd) => Self::OpenSsh(OpenSsh::new(sshd, keys.folder())?),
        })
    }

    /// The user that clients log in as.
    pub(super) fn user(&self) -> &str {
        match self {
            Self::Embedded(_) => super::embedded::USER,
            Self::OpenSsh(openssh) => openssh.user(),
        }
    }

    /// The commands that an sshd ran, which does not tell us itself.
    pub(super) fn sessions(&self) -> Vec<Session> {
        match self {
            Self::Embedded(_) => Vec::new(),
            Self::OpenSsh(openssh) => openssh.sessions(),
        }
    }

    /// Serves until the connection ends.
    pub(super) async fn serve(
        &self,
        stream: TcpStream,
        limits: Limits,
        serving: Serving,
    ) -> Result<()> {
        match self {
            Self::Embedded(embedded) => embedded.serve(stream, limits, serving).await,
            Self::OpenSsh(openssh) => openssh.serve(stream, limits, serving).await,
        }
    }
}
