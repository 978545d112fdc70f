use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;
use crate::dialect::OutputCap;

fn served(provider: Provider, base_url: Option<&str>, key: Option<&str>) -> Served {
    Served {
        provider,
        base_url: base_url.map(|url| url.parse().unwrap()),
        model: "m".to_owned(),
        key: key.map(SecretString::from),
    }
}

/// BIND-08, KERN-03
#[rstest]
#[case(Provider::OpenAi, None, "https://api.openai.com/v1/chat/completions")]
#[case(Provider::Anthropic, None, "https://api.anthropic.com/v1/messages")]
#[case(Provider::OpenAi, Some("http://h:1"), "http://h:1/v1/chat/completions")]
#[case(Provider::OpenAi, Some("http://h:1/v1/"), "http://h:1/v1/chat/completions")]
#[case(Provider::OpenAiCompatible, Some("http://h/api/v4"), "http://h/api/v4/chat/completions")]
#[case(Provider::Anthropic, Some("http://h:1"), "http://h:1/v1/messages")]
#[case(Provider::Anthropic, Some("https://h/anthropic/"), "https://h/anthropic/v1/messages")]
#[case(Provider::Anthropic, Some("https://h/v1"), "https://h/v1/messages")]
fn a_chosen_model_has_its_address(
    #[case] provider: Provider,
    #[case] base_url: Option<&str>,
    #[case] url: &str,
) {
    let endpoint = served(provider, base_url, Some("sk-1")).endpoint().unwrap();
    assert_eq!((endpoint.wire, endpoint.url.as_str()), (wire_for(provider), url));
}

fn key_of(endpoint: &Endpoint) -> Option<(&'static str, String)> {
    match &endpoint.auth {
        Auth::None => None,
        Auth::ApiKey(key) => Some(("x-api-key", key.expose_secret().to_owned())),
        Auth::Bearer(source) => {
            let key = futures::executor::block_on(source.token()).unwrap();
            Some(("bearer", key.expose_secret().to_owned()))
        }
    }
}

/// BIND-08
#[rstest]
#[case(Provider::OpenAi, "bearer")]
#[case(Provider::OpenAiCompatible, "bearer")]
#[case(Provider::Anthropic, "x-api-key")]
fn a_key_goes_in_its_providers_header_without_the_line_break_of_its_file(
    #[case] provider: Provider,
    #[case] header: &'static str,
) {
    let endpoint = served(provider, Some("http://h/v1"), Some("sk-1\n")).endpoint().unwrap();
    assert_eq!(key_of(&endpoint), Some((header, "sk-1".to_owned())));
    for nothing in [None, Some(""), Some(" \n")] {
        let endpoint = served(provider, Some("http://h/v1"), nothing).endpoint().unwrap();
        assert_eq!(key_of(&endpoint), None);
    }
}

/// BIND-08
#[rstest]
#[case(Provider::OpenAi, None, None, "model m has no key, and OpenAI asks for one")]
#[case(Provider::Anthropic, None, Some("\n"), "model m has no key, and Anthropic asks for one")]
#[case(Provider::OpenAiCompatible, None, Some("k"), "model m has no base URL")]
#[case(Provider::OpenAi, Some("ftp://h"), Some("k"), "ftp://h/v1 is no base URL")]
#[case(Provider::OpenAi, Some("http://me:sesame@h/v1"), None, "model m holds credentials")]
fn what_cannot_be_called_says_what_to_do(
    #[case] provider: Provider,
    #[case] base_url: Option<&str>,
    #[case] key: Option<&str>,
    #[case] words: &str,
) {
    let error = served(provider, base_url, key).endpoint().unwrap_err().to_string();
    assert!(error.contains(words), "{error}");
    assert!(error.contains("give") && !error.contains("sesame"), "{error}");
}

/// KERN-03
#[rstest]
#[case(Provider::OpenAi, None, OutputCap::MaxCompletionTokens)]
#[case(Provider::OpenAi, Some("https://eu.api.openai.com/v1"), OutputCap::MaxCompletionTokens)]
#[case(
    Provider::OpenAi,
    Some("https://x.openai.azure.com/openai/v1"),
    OutputCap::MaxCompletionTokens
)]
#[case(Provider::OpenAi, Some("http://openai.com.evil.test/v1"), OutputCap::MaxTokens)]
#[case(Provider::OpenAi, Some("http://127.0.0.1:8000/v1"), OutputCap::MaxTokens)]
#[case(Provider::OpenAiCompatible, Some("http://127.0.0.1:8000/v1"), OutputCap::MaxTokens)]
fn a_base_url_of_ones_own_uses_the_compatible_form(
    #[case] provider: Provider,
    #[case] base_url: Option<&str>,
    #[case] cap: OutputCap,
) {
    let endpoint = served(provider, base_url, Some("k")).endpoint().unwrap();
    assert_eq!(endpoint.dialect.output_cap, cap);
}

/// BIND-11
#[test]
fn the_key_is_never_printed() {
    let served = served(Provider::OpenAi, None, Some("sk-secret"));
    assert!(!format!("{served:?} {:?}", served.endpoint()).contains("sk-secret"));
}
