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

/// Why there is no base URL to call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    /// There is none, and the provider has none of its own.
    #[error("there is no base URL, and the provider has none of its own")]
    Missing,
    /// It cannot be read as a URL.
    #[error("{0} is no URL")]
    Unreadable(&'static str),
    /// It holds a user or password.
    #[error("the base URL holds credentials")]
    Credentials,
}

impl Served {
    /// Where its calls go ([`base_url`]) and how they prove who makes them.
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
        let base = self::base_url(*provider, base_url.as_ref()).map_err(|error| match error {
            BaseUrlError::Missing => ServedError::NoBaseUrl { model: model.clone() },
            BaseUrlError::Credentials => ServedError::Credentials { model: model.clone() },
            BaseUrlError::Unreadable(url) => BuildError::BaseUrl { url: url.to_owned() }.into(),
        })?;
        let mut endpoint = Endpoint::new(wire, &base, auth)?;
        // At an address of one's own it is a compatible server, whoever it claims to be.
        endpoint.dialect = match (provider, base_url) {
            (Provider::OpenAi, Some(url)) if !is_openai(url) => {
                Dialect::of(Provider::OpenAiCompatible)
            }
            (provider, _) => Dialect::of(*provider),
        };
        Ok(endpoint)
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

/// What stands before a provider's route: its own address, or the one that is given.
///
/// As people copy it from their provider's documents, each wire follows its provider's
/// habit where `/v1` is left out: for the OpenAI form a URL without any path gets it, and
/// every other path is taken as it is; for the Anthropic form every path gets it that does
/// not end in a version (`/v1`, `/v2beta`).
pub fn base_url(provider: Provider, given: Option<&Url>) -> Result<Url, BaseUrlError> {
    let mut base = match (given, provider) {
        (Some(url), _) => url.clone(),
        (None, Provider::OpenAi) => own(OPENAI)?,
        (None, Provider::Anthropic) => own(ANTHROPIC)?,
        (None, Provider::OpenAiCompatible) => return Err(BaseUrlError::Missing),
    };
    if !base.username().is_empty() || base.password().is_some() {
        return Err(BaseUrlError::Credentials);
    }
    if lacks_version(&base, wire_for(provider))
        && let Ok(mut path) = base.path_segments_mut()
    {
        path.pop_if_empty().push("v1");
    }
    Ok(base)
}

fn own(address: &'static str) -> Result<Url, BaseUrlError> {
    address.parse().map_err(|_| BaseUrlError::Unreadable(address))
}

fn lacks_version(base: &Url, wire: Wire) -> bool {
    let last = base.path().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    match wire {
        Wire::OpenAi => last.is_empty(),
        Wire::Anthropic => {
            let version = last.strip_prefix('v').and_then(|rest| rest.chars().next());
            !version.is_some_and(|first| first.is_ascii_digit())
        }
    }
}

#[cfg(test)]
mod tests;
