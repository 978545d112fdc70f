//! Services, by the one service token.

use std::{path::PathBuf, sync::Arc};

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{Actor, Claimed, Principal};
use crate::{cluster::Cluster, problem::Problem};

/// Role a service has: what a member of the workspace may, no more.
const SERVICE_ROLE: &str = "member";

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

    /// Whether this is the service token.
    pub async fn knows(&self, token: &str) -> Result<bool, Problem> {
        let expected = self.read().await?;
        // Digests are compared, so that not even the length leaks through timing.
        let expected = Sha256::digest(expected.expose_secret().as_bytes());
        let given = Sha256::digest(token.as_bytes());
        Ok(expected.as_slice().ct_eq(given.as_slice()).into())
    }

    /// The service; as the owner of the agent it names, when it names one (AUTHZ-04).
    pub async fn principal(&self, claimed: Claimed) -> Result<Principal, Problem> {
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

    async fn read(&self) -> Result<SecretString, Problem> {
        let content = tokio::fs::read_to_string(&self.path).await.map_err(|error| {
            tracing::error!(path = %self.path.display(), cause = %error,
                "failed to read the service token file");
            Problem::unavailable("ServiceTokenUnreadable", "the service token cannot be checked")
        })?;
        match content.trim() {
            "" => Err(Problem::unavailable("ServiceTokenEmpty", "the service token file is empty")),
            token => Ok(SecretString::from(token)),
        }
    }
}
