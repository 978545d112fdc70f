//! The upstream broker that wants the shared service token and the agent's mailbox
//! instead of a key of a Model's own (BIND-04).

use std::path::PathBuf;

use foundry_crds::Model;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

/// Header that names whose usage a call is.
const ON_BEHALF_OF: HeaderName = HeaderName::from_static("x-flow-on-behalf-of");

/// The broker, and the token it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    /// Where it is. The token goes to this origin and to no other.
    pub url: Url,
    /// File with the token, read at each use, so that the token can be rotated.
    pub token_file: PathBuf,
}

/// Why the broker cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum BrokerError {
    /// The file with the token cannot be read.
    #[error("failed to read broker token file {}: {source}", path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: std::io::Error,
    },
    /// The file holds nothing that a header can carry.
    #[error("broker token file {} holds no token on one line", path.display())]
    NotAToken {
        /// The file.
        path: PathBuf,
    },
    /// The agent has no mailbox yet, and usage is a mailbox's.
    #[error("the agent has no mailbox yet, and the broker counts usage by mailbox")]
    NoMailbox,
}

impl Broker {
    /// Whether a call of this Model at this address is for the broker: it is of the
    /// broker's origin, and the Model brings no key of its own.
    pub(crate) fn serves(&self, model: &Model, url: &Url) -> bool {
        model.spec.api_key.is_none() && url.origin() == self.url.origin()
    }

    /// Whether the token can be read now, for a start to fail rather than each call.
    pub async fn check(&self) -> Result<(), BrokerError> {
        self.token().await.map(drop)
    }

    /// Adds what the broker wants to see, whichever wire is spoken, and gives the token,
    /// which must not come back. A caller's own headers of these names never got here.
    pub(crate) async fn sign(
        &self,
        headers: &mut HeaderMap,
        mailbox: Option<&str>,
    ) -> Result<SecretString, BrokerError> {
        let mailbox = mailbox.and_then(|mailbox| HeaderValue::from_str(mailbox).ok());
        let mailbox = mailbox.ok_or(BrokerError::NoMailbox)?;
        let (token, bearer) = self.token().await?;
        headers.insert(header::AUTHORIZATION, bearer);
        headers.insert(ON_BEHALF_OF, mailbox);
        Ok(token)
    }

    /// The token as it is now, alone and as a header.
    async fn token(&self) -> Result<(SecretString, HeaderValue), BrokerError> {
        let path = || self.token_file.clone();
        let text = tokio::fs::read_to_string(&self.token_file)
            .await
            .map_err(|source| BrokerError::TokenFile { path: path(), source })?;
        let token = SecretString::from(text.trim());
        let not_a_token = || BrokerError::NotAToken { path: path() };
        if token.expose_secret().is_empty() {
            return Err(not_a_token());
        }
        let bearer = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()));
        let mut bearer = bearer.map_err(|_| not_a_token())?;
        bearer.set_sensitive(true);
        Ok((token, bearer))
    }
}
