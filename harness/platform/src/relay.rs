//! The broker, as a harness calls it: one transport for each kind of provider, all to the
//! same relay.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use foundry_client::{ClientError, ModelView};
use foundry_llm::{
    Auth, BuildError, Clock, Dialect, Endpoint, ErrorKind, Limits, LlmError, Provider, Reply,
    Request, TokenError, Transport, wire_for,
};
use tokio::time::sleep;
use url::Url;

use crate::api::Api;

/// How often a model is looked for before it counts as unknown.
const LOOKS: u32 = 6;
/// Between two looks.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);

/// The window of a model of which nobody says how large it is (CODE-39).
const DEFAULT_WINDOW: u64 = 128_000;

/// Output cap of a call in tokens (KERN-12).
const OUTPUT_CAP: u32 = 8192;

/// Answers model calls; injected, so that tests need no relay.
#[async_trait]
pub trait Broker: Send + Sync {
    /// Makes one exchange with the model that the request names, its reply streamed.
    /// `provider` serves the model, as far as the caller knows.
    async fn ask(&self, provider: Provider, request: &Request) -> Result<Reply, LlmError>;

    /// The same, with the reply in one piece (KERN-04).
    async fn complete(&self, provider: Provider, request: &Request) -> Result<Reply, LlmError>;
}

/// The relay of the Foundry API.
#[derive(Debug)]
pub struct Relay {
    anthropic: Transport,
    openai: Transport,
    compatible: Transport,
    /// Providers of models that turned out to speak another wire than the caller thought.
    found_out: Mutex<BTreeMap<String, Provider>>,
}

impl Relay {
    /// The relay at `base`, for example `http://foundry-api:8080/v1/relay`. `limits`
    /// bound one exchange; five minutes to its headers by default (LOOP-20).
    pub fn new(
        base: &Url,
        tokens: Arc<dyn foundry_client::TokenSource>,
        limits: Limits,
        clock: Clock,
    ) -> Result<Self, BuildError> {
        let auth = Auth::Bearer(Arc::new(PodToken(tokens)));
        let endpoint = |provider| -> Result<Endpoint, BuildError> {
            let mut endpoint = Endpoint::new(wire_for(provider), base, auth.clone())?;
            endpoint.dialect = Dialect::of(provider);
            Ok(endpoint)
        };
        let openai = Transport::new(endpoint(Provider::OpenAi)?, limits, clock)?;
        // The same server: one set of connections serves them all.
        let anthropic = openai.with_endpoint(endpoint(Provider::Anthropic)?)?;
        let compatible = openai.with_endpoint(endpoint(Provider::OpenAiCompatible)?)?;
        Ok(Self { anthropic, openai, compatible, found_out: Mutex::default() })
    }

    /// As whose a model is called: as the caller thinks, unless the relay has said
    /// otherwise since.
    fn provider(&self, provider: Provider, model: &str) -> Provider {
        self.found_out().get(model).copied().unwrap_or(provider)
    }

    fn transport(&self, provider: Provider) -> &Transport {
        match provider {
            Provider::Anthropic => &self.anthropic,
            Provider::OpenAi => &self.openai,
            Provider::OpenAiCompatible => &self.compatible,
        }
    }

    /// A wire that the relay refuses as the wrong one is another form of the request: the
    /// next call of this model has it. So a model can be called while the catalog, which
    /// tells its provider, cannot be read (CODE-42).
    fn learn(&self, tried: Provider, request: &Request, error: LlmError) -> LlmError {
        let right = spoken(&error).filter(|right| wire_for(*right) != wire_for(tried));
        let Some(right) = right else { return error };
        self.found_out().insert(request.model.clone(), right);
        LlmError { kind: ErrorKind::Dialect, ..error }
    }

    fn found_out(&self) -> MutexGuard<'_, BTreeMap<String, Provider>> {
        self.found_out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whose wire a model speaks, where the relay refuses the other one (its `WrongWire`).
fn spoken(error: &LlmError) -> Option<Provider> {
    if error.kind != ErrorKind::BadRequest {
        return None;
    }
    let says = |form| error.message.contains(&format!("speaks the {form} form"));
    if says("Anthropic") {
        Some(Provider::Anthropic)
    } else if says("OpenAI") {
        Some(Provider::OpenAi)
    } else {
        None
    }
}

#[async_trait]
impl Broker for Relay {
    async fn ask(&self, provider: Provider, request: &Request) -> Result<Reply, LlmError> {
        let provider = self.provider(provider, &request.model);
        // Nobody watches, so the pieces of a reply go nowhere.
        let asked = self.transport(provider).stream(request, &mut |_delta| ()).await;
        asked.map_err(|error| self.learn(provider, request, error))
    }

    async fn complete(&self, provider: Provider, request: &Request) -> Result<Reply, LlmError> {
        let provider = self.provider(provider, &request.model);
        let asked = self.transport(provider).complete(request).await;
        asked.map_err(|error| self.learn(provider, request, error))
    }
}

/// The pod's token, asked for anew on each call.
struct PodToken(Arc<dyn foundry_client::TokenSource>);

#[async_trait]
impl foundry_llm::TokenSource for PodToken {
    async fn token(&self) -> Result<secrecy::SecretString, TokenError> {
        self.0.token().await.map_err(|error| TokenError(error.to_string()))
    }
}

/// How to reach a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Who serves it; its wire follows from that (KERN-03).
    pub provider: Provider,
    /// Its window in tokens, where the catalog says.
    pub window: Option<u64>,
    /// The reasoning levels of its catalog row; nothing where the catalog was not read.
    pub efforts: Option<Vec<String>>,
}

impl Route {
    /// The way of a model that is not in the catalog: the relay then says what is
    /// missing, in words that name what to create.
    pub fn unlisted() -> Self {
        Self { efforts: Some(Vec::new()), ..Self::unread() }
    }

    /// The way of a model while the catalog cannot be read (CODE-42); the relay says so
    /// if its wire is another.
    pub fn unread() -> Self {
        Self { provider: Provider::OpenAi, window: None, efforts: None }
    }

    /// Tokens that fit the window: as set, as the catalog says, or as most models have
    /// (CODE-39).
    pub fn window(&self, set: Option<u64>) -> u64 {
        set.or(self.window).filter(|tokens| *tokens > 0).unwrap_or(DEFAULT_WINDOW)
    }
}

/// Output cap of one call in tokens: the usual one (KERN-12), but no more than a third of
/// the window, or a small model would have no room for what it is to answer.
pub fn output_cap(window: u64) -> u32 {
    u32::try_from(window / 3).unwrap_or(u32::MAX).min(OUTPUT_CAP)
}

/// The catalog's row of an agent's model, if it has one. A model that was made together
/// with its agent may show there a moment later, and is worth the moment.
pub async fn find(api: &dyn Api, model: &str) -> Result<Option<ModelView>, ClientError> {
    for _ in 0..LOOKS {
        if let Some(found) = look(api, model).await? {
            return Ok(Some(found));
        }
        sleep(BETWEEN_LOOKS).await;
    }
    Ok(None)
}

/// The same, looked for once.
pub async fn look(api: &dyn Api, model: &str) -> Result<Option<ModelView>, ClientError> {
    Ok(listed(&api.models().await?, model).cloned())
}

/// How to reach a model with this row in the catalog, or with none.
pub fn route(row: Option<&ModelView>) -> Route {
    let Some(found) = row else { return Route::unlisted() };
    let provider = match found.provider {
        foundry_client::Provider::OpenAi => Provider::OpenAi,
        foundry_client::Provider::Anthropic => Provider::Anthropic,
        foundry_client::Provider::OpenAiCompatible => Provider::OpenAiCompatible,
    };
    Route {
        provider,
        window: found.max_context_tokens.and_then(|tokens| u64::try_from(tokens).ok()),
        efforts: Some(found.reasoning_efforts.clone()),
    }
}

fn listed<'a>(models: &'a [ModelView], model: &str) -> Option<&'a ModelView> {
    match model {
        "auto" => models.iter().find(|candidate| candidate.is_auto),
        wire_id => models.iter().find(|candidate| candidate.wire_id == wire_id),
    }
}

#[cfg(test)]
mod tests;
