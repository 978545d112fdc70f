//! Where a provider's route is.

use foundry_crds::ModelSpec;
use foundry_llm::{Auth, BaseUrlError, Endpoint, base_url, wire_for};
use url::Url;

use crate::resolve::provider_of;

/// A Model whose `baseUrl` cannot be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBaseUrl {
    /// There is none, and the provider has none of its own.
    #[error("spec.baseUrl is missing; an openaiCompatible Model needs one")]
    Missing,
    /// It is no http or https URL.
    #[error("spec.baseUrl is not an http or https URL")]
    Unreadable,
    /// It holds a user or password.
    #[error("spec.baseUrl holds credentials; put the key into a Secret and name it in spec.apiKey")]
    Credentials,
}

/// The URL of the provider's chat route; what may be left out of `baseUrl` is said at
/// [`base_url`].
pub fn upstream_url(spec: &ModelSpec) -> Result<Url, BadBaseUrl> {
    let provider = provider_of(spec.provider);
    let given = spec.base_url.as_deref().map(|given| given.trim().parse()).transpose();
    let given: Option<Url> = given.map_err(|_| BadBaseUrl::Unreadable)?;
    let base = base_url(provider, given.as_ref()).map_err(|error| match error {
        BaseUrlError::Missing => BadBaseUrl::Missing,
        BaseUrlError::Unreadable(_) => BadBaseUrl::Unreadable,
        BaseUrlError::Credentials => BadBaseUrl::Credentials,
    })?;
    let endpoint = Endpoint::new(wire_for(provider), &base, Auth::None);
    endpoint.map(|endpoint| endpoint.url).map_err(|_| BadBaseUrl::Unreadable)
}

#[cfg(test)]
mod tests {
    use foundry_crds::model::Provider;
    use pretty_assertions::assert_eq;
    use rstest::rstest;

    use super::*;

    fn spec(provider: Provider, base_url: Option<&str>) -> ModelSpec {
        ModelSpec {
            wire_id: "m".into(),
            provider,
            upstream_model: None,
            base_url: base_url.map(Into::into),
            api_key: None,
            max_context_tokens: None,
            reasoning_efforts: Vec::new(),
            prices: None,
        }
    }

    #[rstest]
    #[case(Provider::OpenAi, None, "https://api.openai.com/v1/chat/completions")]
    #[case(Provider::Anthropic, None, "https://api.anthropic.com/v1/messages")]
    #[case(
        Provider::OpenAiCompatible,
        Some("http://llama:8080"),
        "http://llama:8080/v1/chat/completions"
    )]
    #[case(
        Provider::OpenAiCompatible,
        Some("http://llama:8080/"),
        "http://llama:8080/v1/chat/completions"
    )]
    #[case(
        Provider::OpenAiCompatible,
        Some("http://llama:8080/v1"),
        "http://llama:8080/v1/chat/completions"
    )]
    #[case(
        Provider::OpenAiCompatible,
        Some("http://llama:8080/v1/ "),
        "http://llama:8080/v1/chat/completions"
    )]
    #[case(
        Provider::OpenAiCompatible,
        Some("https://h/v1beta/openai"),
        "https://h/v1beta/openai/chat/completions"
    )]
    #[case(
        Provider::OpenAi,
        Some("https://h/api/paas/v4"),
        "https://h/api/paas/v4/chat/completions"
    )]
    #[case(Provider::Anthropic, Some("http://h:1"), "http://h:1/v1/messages")]
    #[case(Provider::Anthropic, Some("https://h/anthropic/"), "https://h/anthropic/v1/messages")]
    #[case(Provider::Anthropic, Some("https://h/v1"), "https://h/v1/messages")]
    fn a_base_url_is_taken_with_or_without_its_version(
        #[case] provider: Provider,
        #[case] base: Option<&str>,
        #[case] expected: &str,
    ) {
        assert_eq!(upstream_url(&spec(provider, base)).unwrap().as_str(), expected);
    }

    #[rstest]
    #[case(None, BadBaseUrl::Missing)]
    #[case(Some("llama:8080"), BadBaseUrl::Unreadable)]
    #[case(Some("ftp://llama"), BadBaseUrl::Unreadable)]
    #[case(Some(""), BadBaseUrl::Unreadable)]
    #[case(Some("http://me:sesame@llama/v1"), BadBaseUrl::Credentials)]
    fn a_base_url_that_cannot_be_called_is_refused(
        #[case] base: Option<&str>,
        #[case] expected: BadBaseUrl,
    ) {
        let refused = upstream_url(&spec(Provider::OpenAiCompatible, base));
        assert_eq!(refused, Err(expected));
    }
}
