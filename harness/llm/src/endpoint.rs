//! Where a model is served, and how a call proves who makes it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use http::HeaderMap;
use secrecy::SecretString;
use url::Url;

use crate::dialect::Dialect;
use crate::message::Wire;

/// Why a transport could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The base URL cannot carry a route.
    #[error("{url} is no base URL of a model: give one that starts with http:// or https://")]
    BaseUrl {
        /// The URL as given.
        url: String,
    },
    /// TLS or the HTTP client could not be set up.
    #[error("failed to set up the HTTP client: {words}")]
    Client {
        /// The client's own words.
        words: String,
    },
}

/// A token could not be had; says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TokenError(pub String);

/// Gives the token of a call, anew for each call: tokens of pods are rotated.
#[async_trait]
pub trait TokenSource: Send + Sync {
    /// The token to send now.
    async fn token(&self) -> Result<SecretString, TokenError>;
}

/// A token that never changes.
struct Fixed(SecretString);

#[async_trait]
impl TokenSource for Fixed {
    async fn token(&self) -> Result<SecretString, TokenError> {
        Ok(self.0.clone())
    }
}

/// How a call proves who makes it.
#[derive(Clone)]
pub enum Auth {
    /// Not at all: a server that wants no key.
    None,
    /// `x-api-key`, Anthropic's own form.
    ApiKey(SecretString),
    /// `Authorization: Bearer`, asked for anew on each call.
    Bearer(Arc<dyn TokenSource>),
}

impl Auth {
    /// A key sent as `x-api-key`.
    pub fn api_key(key: impl Into<SecretString>) -> Self {
        Self::ApiKey(key.into())
    }

    /// A key that never changes, sent as `Authorization: Bearer`.
    pub fn bearer(key: impl Into<SecretString>) -> Self {
        Self::Bearer(Arc::new(Fixed(key.into())))
    }
}

impl fmt::Debug for Auth {
    /// Names the form only: a key is never printed (BIND-11).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::ApiKey(_) => "ApiKey(…)",
            Self::Bearer(_) => "Bearer(…)",
        })
    }
}

/// One place that serves models.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The protocol spoken there.
    pub wire: Wire,
    /// The whole URL of the route.
    pub url: Url,
    /// How calls prove who makes them.
    pub auth: Auth,
    /// Headers added to each call.
    pub headers: HeaderMap,
    /// What this server does differently.
    pub dialect: Dialect,
}

impl Endpoint {
    /// The wire's own route below `base`, for example
    /// `https://api.openai.com/v1` → `…/v1/chat/completions`.
    pub fn new(wire: Wire, base: &Url, auth: Auth) -> Result<Self, BuildError> {
        let refused = || BuildError::BaseUrl { url: base.to_string() };
        if !matches!(base.scheme(), "http" | "https") {
            return Err(refused());
        }
        let mut url = base.clone();
        let route: &[&str] = match wire {
            Wire::Anthropic => &["messages"],
            Wire::OpenAi => &["chat", "completions"],
        };
        url.path_segments_mut().map_err(|()| refused())?.pop_if_empty().extend(route);
        Ok(Self { wire, url, auth, headers: HeaderMap::new(), dialect: Dialect::default() })
    }

    /// The same place, with one more header on each call.
    #[must_use]
    pub fn with_header(mut self, name: http::HeaderName, value: http::HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }
}

#[cfg(test)]
mod tests;
