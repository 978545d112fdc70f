use foundry_client::Provider as Listed;
use foundry_llm::Wire;
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
        other("claude", Listed::Anthropic),
        other("local", Listed::OpenAiCompatible),
        fake::model("gpt-5-mini", Listed::OpenAi),
    ];
    let row = listed(&models, model);
    assert_eq!(row.map(|row| wire_for(route(Some(row)).provider)), wire);
}

/// CODE-39
#[rstest]
#[case::as_set(Some(32_000), Some(200_000), 32_000)]
#[case::as_the_catalog_says(None, Some(200_000), 200_000)]
#[case::where_nobody_says(None, None, 128_000)]
#[case::where_the_catalog_says_nonsense(None, Some(0), 128_000)]
#[case::where_the_catalog_says_less_than_nothing(None, Some(-1), 128_000)]
fn the_window_is_as_set_or_as_the_catalog_says_or_as_most_have(
    #[case] set: Option<u64>,
    #[case] max_context_tokens: Option<i64>,
    #[case] window: u64,
) {
    let row = ModelView { max_context_tokens, ..fake::model("gpt-5-mini", Listed::OpenAi) };
    assert_eq!(route(Some(&row)).window(set), window);
}

/// KERN-12
#[rstest]
#[case(128_000, 8192)]
#[case(24_576, 8192)]
#[case(8_192, 2730)]
fn the_output_cap_leaves_a_small_window_room_for_the_question(
    #[case] window: u64,
    #[case] cap: u32,
) {
    assert_eq!(output_cap(window), cap);
}

fn refusal(kind: ErrorKind, words: &str) -> LlmError {
    let message = format!("HTTP 400: {words}");
    LlmError { kind, status: Some(400), message, retry_after: None }
}

/// CODE-42
#[rstest]
#[case(
    ErrorKind::BadRequest,
    "Model m speaks the Anthropic form, and this is",
    Some(Provider::Anthropic)
)]
#[case(
    ErrorKind::BadRequest,
    "Model m speaks the OpenAI form, and this is",
    Some(Provider::OpenAi)
)]
#[case(ErrorKind::BadRequest, "messages: must begin with a user turn", None)]
#[case(ErrorKind::Server, "Model m speaks the OpenAI form", None)]
fn the_relays_refusal_of_a_wire_tells_the_right_one(
    #[case] kind: ErrorKind,
    #[case] words: &str,
    #[case] provider: Option<Provider>,
) {
    assert_eq!(spoken(&refusal(kind, words)), provider);
}

fn relay() -> Relay {
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let tokens = Arc::new(foundry_client::StaticToken::new("t"));
    let base = "http://127.0.0.1:9/v1/relay".parse().unwrap();
    Relay::new(&base, tokens, Limits::default(), Arc::new(|| jiff::Timestamp::UNIX_EPOCH)).unwrap()
}

fn request(model: &str) -> Request {
    Request {
        model: model.to_owned(),
        system: String::new(),
        messages: Vec::new(),
        tools: Vec::new(),
        tool_choice: foundry_llm::ToolChoice::Auto,
        max_output_tokens: 1,
        temperature: None,
        reasoning_effort: None,
        thinking_budget: None,
    }
}

/// CODE-42
#[test]
fn a_wrong_wire_is_another_form_of_the_request_and_is_known_from_then_on() {
    let relay = relay();
    let wrong = || refusal(ErrorKind::BadRequest, "Model m speaks the Anthropic form");
    let learnt = relay.learn(Provider::OpenAi, &request("m"), wrong());
    assert_eq!(learnt.kind, ErrorKind::Dialect);
    assert_eq!(relay.provider(Provider::OpenAi, "m"), Provider::Anthropic);
    assert_eq!(relay.provider(Provider::OpenAi, "other"), Provider::OpenAi);
    // Said of the very wire that was tried it is no help, and no reason to try again.
    let again = relay.learn(Provider::Anthropic, &request("m"), wrong());
    assert_eq!(again.kind, ErrorKind::BadRequest);
}
