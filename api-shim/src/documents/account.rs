//! The storage account, when one is configured (CODE-29).

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use object_store::{
    ClientOptions, CredentialProvider, RetryConfig,
    azure::{AzureAccessKey, AzureCredential, MicrosoftAzure, MicrosoftAzureBuilder},
};

use super::CONTAINER;

/// Longest time to get a connection to the account.
const CONNECT: Duration = Duration::from_secs(5);
/// Longest time for one of its answers.
const ANSWER: Duration = Duration::from_secs(15);
/// Tries after the first; a caller waits meanwhile.
const RETRIES: usize = 2;

/// A storage account and its key.
#[derive(Clone, Debug)]
pub struct Account {
    /// Name of the account.
    pub name: String,
    /// File with its key, read at each use, so that the key can be changed.
    pub key_file: PathBuf,
    /// Where it is, when it is not where the provider has it: the account's name is
    /// then part of this address.
    pub endpoint: Option<String>,
}

/// Why a storage account cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// The file with its key cannot be read.
    #[error("failed to read key file {}: {source}", path.display())]
    KeyFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: std::io::Error,
    },
    /// The key is none.
    #[error("key file {} holds no key in base64", path.display())]
    NotAKey {
        /// The file.
        path: PathBuf,
    },
    /// The client cannot be built.
    #[error("{0}")]
    Client(#[source] object_store::Error),
}

impl Account {
    /// A client of the account. Nothing is asked of it yet, but the key must be one.
    pub async fn open(&self) -> Result<MicrosoftAzure, AccountError> {
        let key = KeyFile(self.key_file.clone());
        key.read().await?;
        let options = ClientOptions::new().with_connect_timeout(CONNECT).with_timeout(ANSWER);
        let retry =
            RetryConfig { max_retries: RETRIES, retry_timeout: ANSWER, ..RetryConfig::default() };
        let builder = MicrosoftAzureBuilder::new()
            .with_account(&self.name)
            .with_container_name(CONTAINER)
            .with_credentials(Arc::new(key))
            .with_client_options(options)
            .with_retry(retry);
        let builder = match &self.endpoint {
            None => builder,
            // Whoever configures an address without TLS means it.
            Some(endpoint) => builder
                .with_endpoint(endpoint.clone())
                .with_allow_http(endpoint.starts_with("http://")),
        };
        builder.build().map_err(AccountError::Client)
    }
}

/// The account's key, read again at each use.
#[derive(Debug)]
struct KeyFile(PathBuf);

impl KeyFile {
    async fn read(&self) -> Result<AzureAccessKey, AccountError> {
        let text = tokio::fs::read_to_string(&self.0)
            .await
            .map_err(|source| AccountError::KeyFile { path: self.0.clone(), source })?;
        let not_a_key = || AccountError::NotAKey { path: self.0.clone() };
        match text.trim() {
            "" => Err(not_a_key()),
            key => AzureAccessKey::try_new(key).map_err(|_| not_a_key()),
        }
    }
}

#[async_trait]
impl CredentialProvider for KeyFile {
    type Credential = AzureCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AzureCredential>> {
        let key = self.read().await.map_err(|error| object_store::Error::Generic {
            store: "account key",
            source: Box::new(error),
        })?;
        Ok(Arc::new(AzureCredential::AccessKey(key)))
    }
}
