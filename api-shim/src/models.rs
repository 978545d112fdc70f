//! Models and their keys, as the relay asks for them.

use std::sync::Arc;

use async_trait::async_trait;
use foundry_crds::Model;
use foundry_relay::{ModelSource, SourceError};
use secrecy::SecretString;

use crate::cluster::Cluster;

/// Models from the cache of the cluster, keys from its Secrets.
pub struct ClusterModels {
    cluster: Arc<Cluster>,
}

impl ClusterModels {
    /// The models of this cluster.
    pub fn new(cluster: Arc<Cluster>) -> Self {
        Self { cluster }
    }
}

#[async_trait]
impl ModelSource for ClusterModels {
    async fn models(&self, namespace: &str) -> Result<Vec<Arc<Model>>, SourceError> {
        if !self.cluster.models.is_ready() {
            return Err(SourceError::Unavailable("models are not listed yet".to_owned()));
        }
        Ok(self.cluster.models.select(namespace, |model| Some(Arc::new(model.clone()))))
    }

    async fn secret(
        &self,
        namespace: &str,
        name: &str,
        key: &str,
    ) -> Result<SecretString, SourceError> {
        match self.cluster.secret(namespace, name, key).await {
            Ok(Some(secret)) => Ok(secret),
            Ok(None) => Err(SourceError::NotFound),
            Err(problem) => Err(SourceError::Unavailable(problem.detail().to_owned())),
        }
    }
}
