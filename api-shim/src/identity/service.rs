//! Services, by the one service token.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{Actor, Claimed, Principal, is_jwt};
use crate::{cluster::Cluster, problem::Problem};

/// Role a service has: what a member of the workspace may, no more.
const SERVICE_ROLE: &str = "member";

/// Why the service token file is of no use.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(#[source] std::io::Error),
    /// It holds nothing.
    #[error("it is empty")]
    Empty,
    /// Its token would be taken for a person's or a pod's.
    #[error("its token has the form of a JWT; use random letters and digits without dots")]
    LooksLikeJwt,
}

/// Knows the service token: a file that is read again on each use, so that the token
/// can be rotated without a restart.
pub struct Services {
    path: PathBuf,
    cluster: Arc<Cluster>,
}

impl Services {
    /// Services that show the token in this file.
    pub fn new(path: PathBuf, cluster: Arc<Cluster>) -> Self {
        Self { path, cluster }
    }

    /// Whether the token can be read now, for the start to fail rather than each call.
    pub async fn check(path: &Path) -> Result<(), TokenFileError> {
        read_token(path).await.map(drop)
    }

    /// The service of this token; as the owner of the agent it names, when it names one
    /// (AUTHZ-04).
    pub async fn principal(&self, token: &str, claimed: Claimed) -> Result<Principal, Problem> {
        if !self.knows(token).await? {
            return Err(Problem::unauthenticated("the token is not known"));
        }
        let workspace = match claimed.workspace {
            Some(workspace) => self.cluster.workspace(&workspace)?,
            None => self.cluster.default_workspace(),
        };
        let subject = match &claimed.agent {
            None => "service".to_owned(),
            Some(agent) => self.cluster.find_agent(&workspace, agent).await?.spec.owner,
        };
        Ok(Principal {
            subject,
            workspace,
            roles: vec![SERVICE_ROLE.to_owned()],
            actor: Actor::Service { agent: claimed.agent },
        })
    }

    async fn knows(&self, token: &str) -> Result<bool, Problem> {
        let expected = read_token(&self.path).await.map_err(|error| {
            tracing::error!(path = %self.path.display(), cause = %error,
                "failed to check a service token");
            Problem::unavailable("ServiceTokenUnreadable", "the service token cannot be checked")
        })?;
        // Digests are compared, so that not even the length leaks through timing.
        let expected = Sha256::digest(expected.expose_secret().as_bytes());
        let given = Sha256::digest(token.as_bytes());
        Ok(expected.as_slice().ct_eq(given.as_slice()).into())
    }
}

/// The token that this file holds now.
pub async fn read_token(path: &Path) -> Result<SecretString, TokenFileError> {
    let content = tokio::fs::read_to_string(path).await.map_err(TokenFileError::Unreadable)?;
    match content.trim() {
        "" => Err(TokenFileError::Empty),
        token if is_jwt(token) => Err(TokenFileError::LooksLikeJwt),
        token => Ok(SecretString::from(token)),
    }
}
