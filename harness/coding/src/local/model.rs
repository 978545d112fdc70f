//! Model calls straight to a provider, with the person's own key.

use std::sync::Arc;

use async_trait::async_trait;
use foundry_llm::{
    BuildError, Limits, LlmError, Provider, Reply, Request, Served, ServedError, Transport,
};
use foundry_platform::clock::Clock;
use foundry_platform::relay::Broker;
use secrecy::SecretString;
use url::Url;

use super::arguments::Model;

/// Why a model cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// There is no key for its provider.
    #[error("{source} (set {variable}, or give {flag})")]
    NoKey {
        /// Where its key is looked for.
        variable: &'static str,
        /// What says where else it is served.
        flag: &'static str,
        /// Whose key.
        source: ServedError,
    },
    /// It cannot be served like this.
    #[error(transparent)]
    Served(ServedError),
    /// It cannot be told apart from the model it is to take over for.
    #[error("{0} cannot take over for a model of its own name: give another --fallback-model")]
    SameName(String),
    /// The HTTP client cannot be set up.
    #[error(transparent)]
    Client(#[from] BuildError),
}

/// The models of a run, and where they are served.
#[derive(Debug)]
pub struct Models {
    /// The model.
    pub model: Model,
    /// Where it is served, when that is not at its provider.
    pub base_url: Option<Url>,
    /// The model that takes over for it (KERN-42).
    pub fallback: Option<Model>,
    /// Where that one is served, when that is not at its provider.
    pub fallback_base_url: Option<Url>,
    /// Keys of providers.
    pub keys: Keys,
}

/// Keys of providers.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    /// Key of `OpenAI`.
    pub openai: Option<SecretString>,
    /// Key of Anthropic.
    pub anthropic: Option<SecretString>,
}

/// Calls the models of a run.
#[derive(Debug)]
pub struct Direct {
    transport: Transport,
    fallback: Option<(String, Transport)>,
}

impl Direct {
    /// A way to the models.
    pub fn new(models: Models, clock: &Clock) -> Result<Self, ModelError> {
        let Models { model, base_url, fallback, fallback_base_url, keys } = models;
        if let Some(fallback) = fallback.as_ref().filter(|fallback| fallback.name == model.name) {
            return Err(ModelError::SameName(fallback.name.clone()));
        }
        let transport = way_to(model, base_url, "--base-url", &keys, clock)?;
        let fallback = match fallback {
            None => None,
            Some(fallback) => {
                let name = fallback.name.clone();
                let flag = "--fallback-base-url";
                Some((name, way_to(fallback, fallback_base_url, flag, &keys, clock)?))
            }
        };
        Ok(Self { transport, fallback })
    }

    fn transport(&self, request: &Request) -> &Transport {
        match &self.fallback {
            Some((name, transport)) if *name == request.model => transport,
            Some(_) | None => &self.transport,
        }
    }
}

fn way_to(
    model: Model,
    base_url: Option<Url>,
    flag: &'static str,
    keys: &Keys,
    clock: &Clock,
) -> Result<Transport, ModelError> {
    let Model { provider, name } = model;
    let (key, variable) = match provider {
        Provider::OpenAi | Provider::OpenAiCompatible => (&keys.openai, "OPENAI_API_KEY"),
        Provider::Anthropic => (&keys.anthropic, "ANTHROPIC_API_KEY"),
    };
    let served = Served { provider, base_url, model: name, key: key.clone() };
    let endpoint = served.endpoint().map_err(|source| match source {
        ServedError::NoKey { .. } => ModelError::NoKey { variable, flag, source },
        ServedError::NoBaseUrl { .. }
        | ServedError::Credentials { .. }
        | ServedError::Address(_) => ModelError::Served(source),
    })?;
    let clock = clock.clone();
    Ok(Transport::new(endpoint, Limits::default(), Arc::new(move || clock.now()))?)
}

#[async_trait]
impl Broker for Direct {
    async fn ask(&self, _: Provider, request: &Request) -> Result<Reply, LlmError> {
        self.transport(request).stream(request, &mut |_delta| ()).await
    }

    async fn complete(&self, _: Provider, request: &Request) -> Result<Reply, LlmError> {
        self.transport(request).complete(request).await
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn models(provider: Provider, base_url: Option<&str>, key: Option<&str>) -> Models {
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let key = key.map(SecretString::from);
        Models {
            model: Model { provider, name: "m".to_owned() },
            base_url: base_url.map(|url| url.parse().unwrap()),
            fallback: None,
            fallback_base_url: None,
            keys: Keys {
                openai: key.clone().filter(|_| provider == Provider::OpenAi),
                anthropic: key.filter(|_| provider == Provider::Anthropic),
            },
        }
    }

    fn built(models: Models) -> Result<Direct, String> {
        let clock = Clock::new(|| Timestamp::UNIX_EPOCH);
        Direct::new(models, &clock).map_err(|error| error.to_string())
    }

    /// CODE-45, BIND-08
    #[test]
    fn a_provider_needs_its_key_and_an_address_of_ones_own_needs_none() {
        for provider in [Provider::OpenAi, Provider::Anthropic] {
            let error = built(models(provider, None, None)).unwrap_err();
            assert!(error.contains("_API_KEY, or give --base-url"), "{error}");
            assert!(built(models(provider, None, Some(" "))).is_err());
            assert!(built(models(provider, None, Some("sk-1"))).is_ok());
            assert!(built(models(provider, Some("http://127.0.0.1:8000/v1"), None)).is_ok());
        }
        assert!(built(models(Provider::OpenAi, Some("ftp://127.0.0.1"), None)).is_err());
    }

    /// KERN-42
    #[test]
    fn a_fallback_needs_its_own_key_and_another_name() {
        let with = |fallback: &str, provider| Models {
            fallback: Some(Model { provider, name: fallback.to_owned() }),
            ..models(Provider::OpenAi, None, Some("sk-1"))
        };
        assert!(built(with("other", Provider::OpenAi)).is_ok());
        let error = built(with("other", Provider::Anthropic)).unwrap_err();
        assert!(error.contains("ANTHROPIC_API_KEY, or give --fallback-base-url"), "{error}");
        let error = built(with("m", Provider::OpenAi)).unwrap_err();
        assert!(error.contains("--fallback-model"), "{error}");
    }
}
