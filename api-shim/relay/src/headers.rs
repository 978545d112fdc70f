//! Which headers travel on, in either direction: those named here, and no other.

use foundry_llm::Wire;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use secrecy::{ExposeSecret as _, SecretString};

use crate::redact::Redactor;

const ANTHROPIC_VERSION: &str = "anthropic-version";
const DEFAULT_ANTHROPIC_VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");
/// A caller's headers that a provider may see. Its own credentials are not among them.
const TO_PROVIDER: [&str; 4] = ["accept", ANTHROPIC_VERSION, "anthropic-beta", "openai-beta"];
/// A provider's headers that the caller sees: form, pacing (KERN-16) and request ids.
const TO_CALLER: [&str; 7] = [
    "content-type",
    "content-encoding",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
    "request-id",
    "x-request-id",
];
const TO_CALLER_PREFIXES: [&str; 2] = ["anthropic-ratelimit-", "x-ratelimit-"];

/// A key that no header can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnusableKey;

/// The headers of the provider's request.
pub(crate) fn to_provider(
    caller: &HeaderMap,
    wire: Wire,
    key: Option<&SecretString>,
) -> Result<HeaderMap, UnusableKey> {
    let mut headers = HeaderMap::new();
    for name in TO_PROVIDER {
        for value in caller.get_all(name) {
            headers.append(HeaderName::from_static(name), value.clone());
        }
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if wire == Wire::Anthropic {
        headers.entry(ANTHROPIC_VERSION).or_insert(DEFAULT_ANTHROPIC_VERSION);
    }
    if let Some(key) = key {
        let (name, value) = match wire {
            Wire::Anthropic => {
                (HeaderName::from_static("x-api-key"), key.expose_secret().to_owned())
            }
            Wire::OpenAi => (header::AUTHORIZATION, format!("Bearer {}", key.expose_secret())),
        };
        let mut value = HeaderValue::try_from(value).map_err(|_| UnusableKey)?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// The headers of the caller's response.
pub(crate) fn to_caller(provider: &HeaderMap, redactor: &Redactor) -> HeaderMap {
    let passes = |name: &HeaderName| {
        let name = name.as_str();
        TO_CALLER.contains(&name)
            || TO_CALLER_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    };
    let mut headers = HeaderMap::new();
    for (name, value) in provider {
        if passes(name) && !redactor.hides(value.as_bytes()) {
            headers.append(name.clone(), value.clone());
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn map(headers: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        headers.iter().map(pair).collect()
    }

    /// BIND-11
    #[test]
    fn a_caller_shows_the_provider_nothing_of_its_own_identity() {
        let caller = map(&[
            ("authorization", "Bearer pod-token"),
            ("cookie", "edge=1"),
            ("x-flow-agent-id", "ann"),
            ("x-flow-on-behalf-of", "ann@ai.example"),
            ("anthropic-beta", "context-1m"),
            ("accept", "text/event-stream"),
        ]);
        let key = SecretString::from("sk-1");
        let anthropic = to_provider(&caller, Wire::Anthropic, Some(&key)).unwrap();
        let expected = map(&[
            ("accept", "text/event-stream"),
            ("anthropic-beta", "context-1m"),
            ("anthropic-version", "2023-06-01"),
            ("content-type", "application/json"),
            ("x-api-key", "sk-1"),
        ]);
        assert_eq!(anthropic, expected);
        assert!(!format!("{anthropic:?}").contains("sk-1"), "marked as sensitive");
        let openai = to_provider(&HeaderMap::new(), Wire::OpenAi, Some(&key)).unwrap();
        let expected =
            map(&[("authorization", "Bearer sk-1"), ("content-type", "application/json")]);
        assert_eq!(openai, expected);
    }

    #[test]
    fn a_key_with_a_line_break_inside_is_unusable() {
        let key = SecretString::from("sk-1\nsk-2");
        assert_eq!(to_provider(&HeaderMap::new(), Wire::OpenAi, Some(&key)), Err(UnusableKey));
    }

    #[test]
    fn form_pacing_and_request_ids_come_back_and_hop_by_hop_headers_do_not() {
        let provider = map(&[
            ("content-type", "text/event-stream"),
            ("connection", "close"),
            ("transfer-encoding", "chunked"),
            ("content-length", "9"),
            ("set-cookie", "a=b"),
            ("openai-organization", "us"),
            ("retry-after", "7"),
            ("retry-after-ms", "7000"),
            ("anthropic-ratelimit-unified-reset", "1790000000"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("request-id", "req_1"),
        ]);
        let expected = map(&[
            ("content-type", "text/event-stream"),
            ("retry-after", "7"),
            ("retry-after-ms", "7000"),
            ("anthropic-ratelimit-unified-reset", "1790000000"),
            ("x-ratelimit-remaining-tokens", "0"),
            ("request-id", "req_1"),
        ]);
        assert_eq!(to_caller(&provider, &Redactor::new(None)), expected);
    }
}
