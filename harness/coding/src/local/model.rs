//! Model calls straight to a provider, with the person's own key.

use std::sync::Arc;

use async_trait::async_trait;
use foundry_llm::{Auth, BuildError, Endpoint, Limits, LlmError, Reply, Request, Transport, Wire};
use foundry_platform::clock::Clock;
use foundry_platform::relay::Broker;
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::arguments::Model;

const OPENAI: &str = "https://api.openai.com/v1";
const ANTHROPIC: &str = "https://api.anthropic.com/v1";

/// Why a model cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// There is no key for its provider.
    #[error("there is no key for {provider}: set {variable}, or give --base-url")]
    NoKey {
        /// The provider.
        provider: &'static str,
        /// Where its key is looked for.
        variable: &'static str,
    },
    /// The address cannot be used.
    #[error(transparent)]
    Address(#[from] BuildError),
    /// An address of ours is none.
    #[error("{0} is no address")]
    NoAddress(&'static str),
}

/// Where a model is served and with which key.
#[derive(Debug)]
pub struct Served {
    /// The model.
    pub model: Model,
    /// Where it is served, when that is not at its provider.
    pub base_url: Option<Url>,
    /// Key of `OpenAI`.
    pub openai_key: Option<SecretString>,
    /// Key of Anthropic.
    pub anthropic_key: Option<SecretString>,
}

/// Calls one model at one place.
#[derive(Debug)]
pub struct Direct(Transport);

impl Direct {
    /// A way to the model.
    pub fn new(served: Served, clock: &Clock) -> Result<Self, ModelError> {
        let Served { model, base_url, openai_key, anthropic_key } = served;
        let (provider, address, variable, key) = match model.wire {
            Wire::OpenAi => ("OpenAI", OPENAI, "OPENAI_API_KEY", openai_key),
            Wire::Anthropic => ("Anthropic", ANTHROPIC, "ANTHROPIC_API_KEY", anthropic_key),
        };
        // A variable that is set to nothing is none.
        let key = key.filter(|key| !key.expose_secret().trim().is_empty());
        let auth = match (key, &base_url) {
            (Some(key), _) if model.wire == Wire::Anthropic => Auth::api_key(key),
            (Some(key), _) => Auth::bearer(key),
            (None, Some(_)) => Auth::None,
            (None, None) => return Err(ModelError::NoKey { provider, variable }),
        };
        let base = match base_url {
            Some(base) => base,
            None => address.parse().map_err(|_| ModelError::NoAddress(address))?,
        };
        let endpoint = Endpoint::new(model.wire, &base, auth)?;
        let clock = clock.clone();
        Ok(Self(Transport::new(endpoint, Limits::default(), Arc::new(move || clock.now()))?))
    }
}

#[async_trait]
impl Broker for Direct {
    async fn ask(&self, _wire: Wire, request: &Request) -> Result<Reply, LlmError> {
        self.0.stream(request, &mut |_delta| ()).await
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn served(wire: Wire, base_url: Option<&str>, key: Option<&str>) -> Result<Direct, ModelError> {
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let key = key.map(SecretString::from);
        let served = Served {
            model: Model { wire, name: "m".to_owned() },
            base_url: base_url.map(|url| url.parse().unwrap()),
            openai_key: key.clone().filter(|_| wire == Wire::OpenAi),
            anthropic_key: key.filter(|_| wire == Wire::Anthropic),
        };
        Direct::new(served, &Clock::new(|| Timestamp::UNIX_EPOCH))
    }

    /// CODE-45
    #[test]
    fn a_provider_needs_its_key_and_an_address_of_ones_own_needs_none() {
        for wire in [Wire::OpenAi, Wire::Anthropic] {
            let error = served(wire, None, None).unwrap_err().to_string();
            assert!(error.contains("_API_KEY, or give --base-url"), "{error}");
            assert!(served(wire, None, Some(" ")).is_err());
            assert!(served(wire, None, Some("sk-1")).is_ok());
            assert!(served(wire, Some("http://127.0.0.1:8000/v1"), None).is_ok());
        }
        assert!(served(Wire::OpenAi, Some("ftp://127.0.0.1"), None).is_err());
    }
}
