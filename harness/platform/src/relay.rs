//! The broker, as a harness calls it: one transport for each wire, both to the same
//! relay.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foundry_client::{ClientError, ModelView, Provider};
use foundry_llm::{
    Auth, BuildError, Clock, Endpoint, Limits, LlmError, Reply, Request, TokenError, Transport,
    Wire, wire_for,
};
use tokio::time::sleep;
use url::Url;

use crate::api::Api;

/// How often a model is looked for before it counts as unknown.
const LOOKS: u32 = 6;
/// Between two looks.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);

/// Answers model calls; injected, so that tests need no relay.
#[async_trait]
pub trait Broker: Send + Sync {
    /// Makes one exchange with the model that the request names.
    async fn ask(&self, wire: Wire, request: &Request) -> Result<Reply, LlmError>;
}

/// The relay of the Foundry API.
#[derive(Debug)]
pub struct Relay {
    anthropic: Transport,
    openai: Transport,
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
        let openai = Endpoint::new(Wire::OpenAi, base, auth.clone())?;
        let openai = Transport::new(openai, limits, clock)?;
        // The same server: one set of connections serves both.
        let anthropic = openai.with_endpoint(Endpoint::new(Wire::Anthropic, base, auth)?)?;
        Ok(Self { anthropic, openai })
    }
}

#[async_trait]
impl Broker for Relay {
    async fn ask(&self, wire: Wire, request: &Request) -> Result<Reply, LlmError> {
        let transport = match wire {
            Wire::Anthropic => &self.anthropic,
            Wire::OpenAi => &self.openai,
        };
        // Nobody watches, so the pieces of a reply go nowhere.
        transport.stream(request, &mut |_delta| ()).await
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The wire of its provider (KERN-03).
    pub wire: Wire,
    /// Its window in tokens, where it is known.
    pub window: Option<u64>,
}

/// The way of a model that is not in the catalog: the relay then says what is missing,
/// in words that name what to create.
pub const UNKNOWN: Route = Route { wire: Wire::OpenAi, window: None };

/// How to reach an agent's model. One that was made together with its agent may show in
/// the catalog a moment later, and is worth the moment.
pub async fn find_route(api: &dyn Api, model: &str) -> Result<Route, ClientError> {
    for _ in 0..LOOKS {
        if let Some(route) = route(&api.models().await?, model) {
            return Ok(route);
        }
        sleep(BETWEEN_LOOKS).await;
    }
    Ok(UNKNOWN)
}

/// How to reach an agent's model, when it is in the catalog.
pub fn route(models: &[ModelView], model: &str) -> Option<Route> {
    let found = match model {
        "auto" => models.iter().find(|candidate| candidate.is_auto),
        wire_id => models.iter().find(|candidate| candidate.wire_id == wire_id),
    }?;
    let provider = match found.provider {
        Provider::OpenAi => foundry_llm::Provider::OpenAi,
        Provider::Anthropic => foundry_llm::Provider::Anthropic,
        Provider::OpenAiCompatible => foundry_llm::Provider::OpenAiCompatible,
    };
    let window = found.max_context_tokens.and_then(|tokens| u64::try_from(tokens).ok());
    Some(Route { wire: wire_for(provider), window })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::fake;

    /// KERN-03
    #[rstest]
    #[case("auto", Some(Wire::OpenAi))]
    #[case("claude", Some(Wire::Anthropic))]
    #[case("local", Some(Wire::OpenAi))]
    #[case("unknown", None)]
    fn the_wire_is_picked_by_the_models_provider(#[case] model: &str, #[case] wire: Option<Wire>) {
        let other = |id, provider| ModelView { is_auto: false, ..fake::model(id, provider) };
        let models = [
            other("claude", Provider::Anthropic),
            other("local", Provider::OpenAiCompatible),
            fake::model("gpt-5-mini", Provider::OpenAi),
        ];
        assert_eq!(route(&models, model).map(|route| route.wire), wire);
    }
}
