//! Where the bearer token of a call comes from.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use secrecy::{ExposeSecret, SecretString};

/// Gives the token for one request.
#[async_trait]
pub trait TokenSource: Send + Sync {
    /// The token to send now.
    async fn token(&self) -> Result<SecretString, TokenError>;
}

/// Why there is no token to send.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("failed to read token file {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file holds nothing.
    #[error("token file {} is empty", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// A token in a file that somebody else renews: read again on each use, so that a
/// renewal or a rotation needs no restart.
#[derive(Clone, Debug)]
pub struct FileToken {
    path: PathBuf,
}

impl FileToken {
    /// Reads from `path` on each use.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self { path: path.as_ref().to_path_buf() }
    }
}

#[async_trait]
impl TokenSource for FileToken {
    async fn token(&self) -> Result<SecretString, TokenError> {
        let content = tokio::fs::read_to_string(&self.path)
            .await
            .map_err(|source| TokenError::Unreadable { path: self.path.clone(), source })?;
        match content.trim() {
            "" => Err(TokenError::Empty { path: self.path.clone() }),
            token => Ok(SecretString::from(token)),
        }
    }
}

/// A token that stays the same for the life of the process.
#[derive(Clone)]
pub struct StaticToken {
    token: SecretString,
}

impl StaticToken {
    /// Always sends `token`.
    pub fn new(token: impl Into<SecretString>) -> Self {
        Self { token: token.into() }
    }
}

#[async_trait]
impl TokenSource for StaticToken {
    async fn token(&self) -> Result<SecretString, TokenError> {
        Ok(SecretString::from(self.token.expose_secret()))
    }
}
