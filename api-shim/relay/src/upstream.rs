//! Where a provider's route is.

use foundry_crds::ModelSpec;
use foundry_crds::model::Provider;
use foundry_llm::{Auth, Endpoint, Wire};
use url::Url;

use crate::resolve::wire_of;

const OPENAI: &str = "https://api.openai.com/v1";
const ANTHROPIC: &str = "https://api.anthropic.com/v1";

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

/// The URL of the provider's chat route.
///
/// `baseUrl` is what stands before `/chat/completions` or `/messages`. As people copy
/// it from their provider's documents, each wire follows its provider's habit where
/// `/v1` is left out: for the OpenAI form a URL without any path gets `/v1`, and
/// every other path is taken as it is; for the Anthropic form every path that does
/// not end in a version (`/v1`, `/v2beta`) gets `/v1`.
pub fn upstream_url(spec: &ModelSpec) -> Result<Url, BadBaseUrl> {
    let wire = wire_of(spec.provider);
    let base = match (spec.base_url.as_deref(), spec.provider) {
        (Some(base), _) => base.trim(),
        (None, Provider::OpenAi) => OPENAI,
        (None, Provider::Anthropic) => ANTHROPIC,
        (None, Provider::OpenAiCompatible) => return Err(BadBaseUrl::Missing),
    };
    let mut base: Url = base.parse().map_err(|_| BadBaseUrl::Unreadable)?;
    if !base.username().is_empty() || base.password().is_some() {
        return Err(BadBaseUrl::Credentials);
    }
    if lacks_version(&base, wire) {
        let mut path = base.path_segments_mut().map_err(|()| BadBaseUrl::Unreadable)?;
        path.pop_if_empty().push("v1");
    }
    let endpoint = Endpoint::new(wire, &base, Auth::None).map_err(|_| BadBaseUrl::Unreadable)?;
    Ok(endpoint.url)
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
mod tests {
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
