use std::sync::Arc;

use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;
use crate::transport::{Limits, Transport};

fn at(wire: Wire, base: &str) -> Result<Endpoint, BuildError> {
    Endpoint::new(wire, &base.parse().unwrap(), Auth::None)
}

#[rstest]
#[case(Wire::Anthropic, "https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages")]
#[case(Wire::OpenAi, "http://localhost:8080/v1/", "http://localhost:8080/v1/chat/completions")]
#[case(Wire::OpenAi, "http://localhost:8080", "http://localhost:8080/chat/completions")]
#[case(Wire::OpenAi, "https://x.test/v1?version=2", "https://x.test/v1/chat/completions?version=2")]
fn the_route_stands_below_the_base_url(
    #[case] wire: Wire,
    #[case] base: &str,
    #[case] whole: &str,
) {
    assert_eq!(at(wire, base).unwrap().url.as_str(), whole);
}

#[rstest]
#[case("ftp://x.test/v1")]
#[case("data:text/plain,hello")]
fn a_base_url_that_carries_no_route_is_refused_with_its_words(#[case] base: &str) {
    let error = at(Wire::OpenAi, base).unwrap_err().to_string();
    assert!(error.starts_with(base) && error.contains("http://"), "{error}");
}

#[rstest]
#[case("http://localhost:8080/v1")]
#[case("https://api.openai.com/v1")]
fn a_transport_is_built_with_and_without_tls(#[case] base: &str) {
    let clock: crate::Clock = Arc::new(|| jiff::Timestamp::UNIX_EPOCH);
    let endpoint = at(Wire::OpenAi, base).unwrap();
    Transport::new(endpoint, Limits::default(), clock).unwrap();
}

/// BIND-11
#[test]
fn a_key_is_never_printed() {
    let base = "http://x.test/v1".parse().unwrap();
    for auth in [Auth::api_key("sk-secret"), Auth::bearer("sk-secret")] {
        let endpoint = Endpoint::new(Wire::OpenAi, &base, auth).unwrap();
        assert!(!format!("{endpoint:?}").contains("sk-secret"));
    }
}
