//! Where Models and their keys come from; the API answers from Kubernetes.

use std::sync::Arc;

use async_trait::async_trait;
use foundry_crds::Model;
use secrecy::SecretString;

/// What the relay must know to serve a call.
#[async_trait]
pub trait ModelSource: Send + Sync {
    /// The Models of a namespace.
    async fn models(&self, namespace: &str) -> Result<Vec<Arc<Model>>, SourceError>;

    /// The value at `key` of Secret `name`, read anew for each call, so that a
    /// rotated key needs no restart.
    async fn secret(
        &self,
        namespace: &str,
        name: &str,
        key: &str,
    ) -> Result<SecretString, SourceError>;
}

/// Why Models or a key could not be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// There is no such Secret, or it has no such key.
    #[error("not found")]
    NotFound,
    /// The cluster did not answer, or refused; in words for a person.
    #[error("{0}")]
    Unavailable(String),
}
