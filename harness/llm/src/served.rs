//! A model as it was chosen: who serves it, where, under which name and key (BIND-08).

use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::dialect::Dialect;
use crate::endpoint::{Auth, BuildError, Endpoint};
use crate::message::Wire;
use crate::wire::{Provider, wire_for};

const OPENAI: &str = "https://api.openai.com/v1";
const ANTHROPIC: &str = "https://api.anthropic.com/v1";

/// A model, who serves it, and with which key.
#[derive(Clone, Debug)]
pub struct Served {
    /// Who serves it, and so the protocol.
    pub provider: Provider,
    /// Where, when that is not at the provider itself.
    pub base_url: Option<Url>,
    /// Its name there.
    pub model: String,
    /// The key, as its Secret or variable holds it.
    pub key: Option<SecretString>,
}

/// Why a model cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum ServedError {
    /// The provider's own address takes no call without a key.
    #[error("model {model} has no key, and {provider} asks for one: give its key, or a base URL")]
    NoKey {
        /// The model.
        model: String,
        /// Who serves it.
        provider: &'static str,
    },
    /// Nobody knows where it is.
    #[error(
        "model {model} has no base URL, and an OpenAI-compatible server has none by itself: give one"
    )]
    NoBaseUrl {
        /// The model.
        model: String,
    },
    /// The address holds a user or password.
    #[error("the base URL of model {model} holds credentials: give them as its key")]
    Credentials {
        /// The model.
        model: String,
    },
    /// The address cannot be used.
    #[error(transparent)]
    Address(#[from] BuildError),
}

impl Served {
    /// Where its calls go and how they prove who makes them.
    ///
    /// A base URL is what stands before the route. As people copy it from a provider's
    /// documents, `/v1` may be left out: for the OpenAI form where there is no path at
    /// all, for the Anthropic form where the path does not end in a version.
    pub fn endpoint(&self) -> Result<Endpoint, ServedError> {
        let Self { provider, base_url, model, key } = self;
        let wire = wire_for(*provider);
        // A Secret made from a file ends in a line break; one with nothing in it is none.
        let key = key.as_ref().map(|key| key.expose_secret().trim()).filter(|key| !key.is_empty());
        let auth = match (key, wire) {
            (Some(key), Wire::Anthropic) => Auth::api_key(key),
            (Some(key), Wire::OpenAi) => Auth::bearer(key),
            (None, _) => Auth::None,
        };
        if key.is_none() && base_url.is_none() && *provider != Provider::OpenAiCompatible {
            let provider = name(*provider);
            return Err(ServedError::NoKey { model: model.clone(), provider });
        }
        let base = self.base()?;
        if !base.username().is_empty() || base.password().is_some() {
            return Err(ServedError::Credentials { model: model.clone() });
        }
        let mut endpoint = Endpoint::new(wire, &with_version(base, wire), auth)?;
        // At an address of one's own it is a compatible server, whoever it claims to be.
        endpoint.dialect = match (provider, base_url) {
            (Provider::OpenAi, Some(url)) if !is_openai(url) => {
                Dialect::of(Provider::OpenAiCompatible)
            }
            (provider, _) => Dialect::of(*provider),
        };
        Ok(endpoint)
    }

    fn base(&self) -> Result<Url, ServedError> {
        let own = match (&self.base_url, self.provider) {
            (Some(url), _) => return Ok(url.clone()),
            (None, Provider::OpenAi) => OPENAI,
            (None, Provider::Anthropic) => ANTHROPIC,
            (None, Provider::OpenAiCompatible) => {
                return Err(ServedError::NoBaseUrl { model: self.model.clone() });
            }
        };
        own.parse().map_err(|_| BuildError::BaseUrl { url: own.to_owned() }.into())
    }
}

fn name(provider: Provider) -> &'static str {
    match provider {
        Provider::Anthropic => "Anthropic",
        Provider::OpenAi => "OpenAI",
        Provider::OpenAiCompatible => "an OpenAI-compatible server",
    }
}

/// OpenAI's own hosts, and Azure's, which speak as they do.
fn is_openai(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    host == "openai.com" || host.ends_with(".openai.com") || host.ends_with(".openai.azure.com")
}

fn with_version(mut base: Url, wire: Wire) -> Url {
    let last = base.path().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let lacks = match wire {
        Wire::OpenAi => last.is_empty(),
        Wire::Anthropic => {
            let version = last.strip_prefix('v').and_then(|rest| rest.chars().next());
            !version.is_some_and(|first| first.is_ascii_digit())
        }
    };
    if lacks && let Ok(mut path) = base.path_segments_mut() {
        path.pop_if_empty().push("v1");
    }
    base
}

#[cfg(test)]
mod tests;
