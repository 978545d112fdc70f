use std::time::Duration;

use http::HeaderMap;
use jiff::Timestamp;
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;

/// 2025-07-01 12:00:00 UTC, a Tuesday.
fn now() -> Timestamp {
    Timestamp::from_second(1_751_371_200).unwrap()
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

fn refused(status: u16, body: &str) -> LlmError {
    from_response(status, &HeaderMap::new(), body, now())
}

/// KERN-16: pacing in each form; past, zero, huge and garbage too.
#[rstest]
#[case::seconds(429, &[("retry-after", "7")], Some(7_000))]
#[case::fraction(429, &[("retry-after", "0.5")], Some(500))]
#[case::zero(429, &[("retry-after", "0")], Some(0))]
#[case::negative(429, &[("retry-after", "-5")], Some(0))]
#[case::date(503, &[("retry-after", "Tue, 01 Jul 2025 12:00:09 GMT")], Some(9_000))]
#[case::past_date(429, &[("retry-after", "Tue, 01 Jul 2025 11:00:00 GMT")], Some(0))]
#[case::garbage(429, &[("retry-after", "soon")], None)]
#[case::not_a_number(429, &[("retry-after", "NaN")], None)]
#[case::milliseconds(429, &[("retry-after-ms", "1500"), ("retry-after", "9")], Some(1_500))]
#[case::garbage_beside_sense(429, &[("retry-after-ms", "x"), ("retry-after", "9")], Some(9_000))]
#[case::an_instant(429, &[("retry-after", "1751371260")], Some(60_000))]
#[case::an_instant_in_milliseconds(503, &[("retry-after", "1751371260000")], Some(60_000))]
#[case::a_past_instant(429, &[("retry-after", "1751371000")], Some(0))]
#[case::a_date_of_the_internet(429, &[("retry-after", "2025-07-01T12:01:00Z")], Some(60_000))]
#[case::unified(429, &[("anthropic-ratelimit-unified-reset", "1751371260")], Some(60_000))]
#[case::unified_garbage(429, &[("anthropic-ratelimit-unified-reset", "NaN")], None)]
#[case::unified_date(429, &[("anthropic-ratelimit-unified-reset", "2025-07-01T12:01:00Z")], Some(60_000))]
#[case::unified_on_a_server_error(500, &[("anthropic-ratelimit-unified-reset", "1751371260")], None)]
#[case::none(429, &[], None)]
fn the_servers_pacing_is_read(
    #[case] status: u16,
    #[case] pairs: &[(&'static str, &str)],
    #[case] milliseconds: Option<u64>,
) {
    let error = from_response(status, &headers(pairs), "", now());
    assert_eq!(error.retry_after, milliseconds.map(Duration::from_millis));
}

/// KERN-16: allowances that are spent say when they are full again; others say nothing.
#[rstest]
#[case::openai(429, &[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "6m0s"),
    ("x-ratelimit-remaining-tokens", "9"), ("x-ratelimit-reset-tokens", "9h")], Some(360_000))]
#[case::groq(429, &[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "7.66s")], Some(7_660))]
#[case::anthropic(429, &[("anthropic-ratelimit-input-tokens-remaining", "0"),
    ("anthropic-ratelimit-input-tokens-reset", "2025-07-01T12:00:30Z")], Some(30_000))]
#[case::milliseconds(429, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1751371205000")], Some(5_000))]
#[case::seconds(429, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1751371205")], Some(5_000))]
#[case::span(429, &[("ratelimit-remaining", "0"), ("ratelimit-reset", "5")], Some(5_000))]
#[case::outright(429, &[("retry-after", "2"), ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "50")], Some(2_000))]
#[case::not_spent(429, &[("x-ratelimit-remaining", "5"), ("x-ratelimit-reset", "50")], None)]
#[case::not_limited(503, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "50")], None)]
#[case::cerebras(429, &[("x-ratelimit-remaining-tokens-minute", "0"), ("x-ratelimit-reset-tokens-minute", "11.5")], Some(11_500))]
#[case::garbage(429, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "later")], None)]
#[case::a_span_after(429, &[("retry-after", "30 seconds")], Some(30_000))]
fn a_spent_allowance_says_when_it_is_full_again(
    #[case] status: u16,
    #[case] pairs: &[(&'static str, &str)],
    #[case] milliseconds: Option<u64>,
) {
    let error = from_response(status, &headers(pairs), "", now());
    assert_eq!(error.retry_after, milliseconds.map(Duration::from_millis));
}

/// KERN-16: pacing in bodies.
#[rstest]
#[case(r#"{"error": {"message": "Rate limit reached for gpt-5 on tokens per min (TPM). Please try again in 1m2.5s. Visit …"}}"#, Some(62_500))]
#[case(r#"{"error": {"message": "Rate limit reached. Please try again in 250ms."}}"#, Some(250))]
#[case(r#"{"error": {"message": "Please retry after 7 seconds."}}"#, Some(7_000))]
#[case(r#"{"error": {"message": "You have exhausted your capacity on this model. Your quota will reset after 1h2m3s."}}"#, Some(3_723_000))]
#[case(r#"{"error": {"message": "Please try again in a while."}}"#, None)]
#[case(r#"{"error": {"message": "x", "resets_at": 1751371260}}"#, Some(60_000))]
#[case(r#"{"error": {"message": "x", "resets_at": "2025-07-01T12:01:00Z"}}"#, Some(60_000))]
#[case(r#"{"message": "x", "retry_after": "4"}"#, Some(4_000))]
#[case(r#"{"error": {"message": "x", "retry_after_ms": 1200}}"#, Some(1_200))]
#[case(r#"[{"error": {"code": 429, "message": "x", "status": "RESOURCE_EXHAUSTED",
    "details": [{"@type": "y"}, {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]}}]"#, Some(34_000))]
#[case(r#"{"error": {"code": 429, "message": "x", "metadata": {"headers": {"X-RateLimit-Reset": "1751371205000"}}}}"#, Some(5_000))]
#[case(r#"{"error": {"message": "x", "resets_in_seconds": -5}}"#, Some(0))]
#[case(r#"{"error": {"message": "x", "resets_at": "soon"}}"#, None)]
fn a_body_says_when_to_ask_again(#[case] body: &str, #[case] milliseconds: Option<u64>) {
    assert_eq!(refused(429, body).retry_after, milliseconds.map(Duration::from_millis));
}

#[test]
fn a_pacing_beyond_sense_is_cut() {
    for value in ["1e300", "999999999", "99999999999999999"] {
        let error = from_response(429, &headers(&[("retry-after", value)]), "", now());
        assert_eq!(error.retry_after, Some(Duration::from_hours(366 * 24)));
    }
}

#[test]
fn a_date_is_measured_by_the_servers_own_clock() {
    let pairs = [
        ("date", "Tue, 01 Jul 2025 08:00:00 GMT"), // four hours behind ours
        ("retry-after", "Tue, 01 Jul 2025 08:00:05 GMT"),
    ];
    let error = from_response(429, &headers(&pairs), "", now());
    assert_eq!(error.retry_after, Some(Duration::from_secs(5)));
}

/// KERN-17
#[test]
fn the_message_holds_the_providers_own_reason() {
    let body = r#"{"error": {"type": "usage_limit_reached", "resets_in_seconds": 3600,
        "message": "The usage limit has been reached", "plan_type": "plus"}}"#;
    let expected = LlmError {
        kind: ErrorKind::Limited,
        status: Some(429),
        message: "HTTP 429: usage_limit_reached: The usage limit has been reached \
                  (resets_in_seconds 3600)"
            .to_owned(),
        retry_after: Some(Duration::from_hours(1)),
    };
    assert_eq!(refused(429, body), expected);
}

#[rstest]
#[case(r#"{"error": "model not loaded"}"#, "HTTP 404: model not loaded")]
#[case(r#"{"message": "no such model"}"#, "HTTP 404: no such model")]
#[case(r#"[{"error": {"code": 404, "message": "gone"}}]"#, "HTTP 404: gone")]
#[case(
    r#"{"type": "https://x.test/problems/unknown-model", "title": "Not found", "detail": "no Model gpt-5-mini; create one"}"#,
    "HTTP 404: unknown-model: no Model gpt-5-mini; create one"
)]
#[case(
    r#"{"error": {"message": "Provider returned error", "code": 404, "metadata": {"provider_name": "Anthropic",
        "raw": "{\"type\":\"error\",\"error\":{\"type\":\"not_found_error\",\"message\":\"model: claude-9\"}}"}}}"#,
    "HTTP 404: Provider returned error: not_found_error: model: claude-9"
)]
#[case(
    r#"{"error": {"message": "Provider returned error", "metadata": {"raw": "upstream timed out"}}}"#,
    "HTTP 404: Provider returned error: upstream timed out"
)]
#[case(
    r#"{"error": {"message": "{\"error\": {\"code\": 404, \"message\": \"gone\", \"status\": \"NOT_FOUND\"}}"}}"#,
    "HTTP 404: NOT_FOUND: gone"
)]
#[case(
    r#"{"detail": [{"type": "missing", "loc": ["body", "tools", 0], "msg": "Field required", "input": {"secret": 1}}]}"#,
    "HTTP 404: body.tools.0: Field required"
)]
#[case(r#"{"errors": [{"code": 7003, "message": "no route"}]}"#, "HTTP 404: no route")]
#[case(r#"{"error": "bad tool", "error_type": "validation"}"#, "HTTP 404: validation: bad tool")]
#[case("<html>404</html>", "HTTP 404: <html>404</html>")]
#[case("", "HTTP 404: Not Found")]
#[case("  ", "HTTP 404: Not Found")]
#[case("{}", "HTTP 404: {}")]
fn every_form_of_body_gives_its_words(#[case] body: &str, #[case] message: &str) {
    assert_eq!(refused(404, body).message, message);
}

#[test]
fn a_long_body_is_quoted_as_far_as_a_person_reads() {
    let message = refused(502, &"é".repeat(9000)).message;
    assert!(message.ends_with("é…") && message.chars().count() < 5100, "{message}");
    // A body that nobody wrote is not taken apart.
    let huge = format!(r#"{{"error": {{"message": "no", "x": [{}1]}}}}"#, "1,".repeat(40_000));
    assert!(refused(502, &huge).message.chars().count() < 5100);
}

/// KERN-19: by true upstream status.
#[rstest]
#[case(429, "", ErrorKind::Limited)]
#[case(529, "", ErrorKind::Overloaded)]
#[case(
    503,
    r#"{"error": {"type": "overloaded_error", "message": "Overloaded"}}"#,
    ErrorKind::Overloaded
)]
#[case(500, "", ErrorKind::Server)]
#[case(502, "<html>", ErrorKind::Server)]
#[case(503, "", ErrorKind::Server)]
#[case(503, r#"{"error": {"code": 503, "message": "The model is overloaded. Please try again later.", "status": "UNAVAILABLE"}}"#, ErrorKind::Overloaded)]
#[case(498, "", ErrorKind::Overloaded)]
#[case(408, "", ErrorKind::Stalled)]
#[case(413, "<html>413 Request Entity Too Large</html>", ErrorKind::Overflow)]
#[case(413, r#"{"error": {"code": "rate_limit_exceeded", "message": "Request too large for model x on tokens per minute (TPM): Limit 6000, Requested 7000, please reduce your message size and try again."}}"#, ErrorKind::BadRequest)]
#[case(401, "", ErrorKind::Auth)]
#[case(403, "", ErrorKind::Auth)]
#[case(400, "", ErrorKind::BadRequest)]
#[case(404, "", ErrorKind::BadRequest)]
#[case(307, "", ErrorKind::BadRequest)]
#[case(400, r#"{"error": {"code": "content_filter", "message": "no"}}"#, ErrorKind::Refused)]
#[case(
    402,
    r#"{"type": "about:blank", "reason": "budget_exhausted", "detail": "spent"}"#,
    ErrorKind::Budget
)]
#[case(429, r#"{"error": {"code": "budget_exhausted", "message": "spent"}}"#, ErrorKind::Budget)]
fn a_refusal_is_of_the_kind_of_its_status(
    #[case] status: u16,
    #[case] body: &str,
    #[case] kind: ErrorKind,
) {
    let error = refused(status, body);
    assert_eq!((error.kind, error.status), (kind, Some(status)), "{error}");
}

/// What each server truly says.
#[rstest]
#[case::anthropic(400, "prompt is too long: 210000 tokens > 200000 maximum", Some(200_000))]
#[case::with_cap(
    400,
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    Some(200_000)
)]
#[case::anthropic_bytes(413, "request_too_large: Request exceeds the maximum size", None)]
#[case::openai(
    400,
    "This model's maximum context length is 128,000 tokens. However, your messages resulted in 130000 tokens.",
    Some(128_000)
)]
#[case::openai_newer(400, "Your input exceeds the context window of this model.", None)]
#[case::openai_input(
    400,
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
    Some(272_000)
)]
#[case::llama_cpp(400, "the request exceeds the available context size (4096 tokens)", Some(4096))]
#[case::llama_cpp_older(
    500,
    "the request exceeds the available context size. try increasing it",
    None
)]
#[case::ollama(400, "prompt too long; exceeded max context length by 812 tokens", None)]
#[case::vllm(
    400,
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).",
    Some(4096)
)]
#[case::vllm_cap(
    400,
    "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 4096 tokens and your request has 100 input tokens",
    Some(4096)
)]
#[case::vllm_engine(
    400,
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
    Some(4096)
)]
#[case::vllm_none_left(400, "max_tokens must be at least 1, got -904.", None)]
#[case::lm_studio(
    400,
    "Trying to keep the first 5321 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
    Some(4096)
)]
#[case::lm_studio_older(
    400,
    "The number of tokens to keep from the initial prompt is greater than the context length.",
    None
)]
#[case::open_router(
    400,
    "This endpoint's maximum context length is 65536 tokens. However, you requested about 70000 tokens",
    Some(65_536)
)]
#[case::groq(400, "Please reduce the length of the messages or completion.", None)]
#[case::mistral(
    400,
    "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    Some(32_768)
)]
#[case::bedrock(400, "Input is too long for requested model.", None)]
#[case::vertex(
    400,
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).",
    Some(1_048_576)
)]
#[case::xai(
    400,
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    Some(131_072)
)]
#[case::moonshot(
    400,
    "Your request exceeded model token limit: 262144 (requested: 300000)",
    Some(262_144)
)]
#[case::sglang(
    400,
    "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
    Some(4096)
)]
#[case::copilot(400, "prompt token count of 150000 exceeds the limit of 128000", Some(128_000))]
#[case::dash_scope(400, "Range of input length should be [1, 30720]", Some(30_720))]
#[case::inference(
    422,
    "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000",
    Some(4095)
)]
#[case::fireworks(
    400,
    "The prompt is too long: 140000, model maximum context length: 131071",
    Some(131_071)
)]
#[case::litellm(400, "litellm.ContextWindowExceededError: too much", None)]
fn an_overflow_is_known_by_its_wording(
    #[case] status: u16,
    #[case] words: &str,
    #[case] window: Option<u64>,
) {
    let body = serde_json::json!({"error": {"message": words}}).to_string();
    let error = refused(status, &body);
    assert_eq!((error.kind, error.stated_window()), (ErrorKind::Overflow, window), "{error}");
}

#[test]
fn a_window_stated_in_a_field_of_its_own_is_read() {
    let body = r#"{"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it",
        "type": "exceed_context_size_error", "n_prompt_tokens": 5321, "n_ctx": 4096}}"#;
    let error = refused(400, body);
    assert_eq!((error.kind, error.stated_window()), (ErrorKind::Overflow, Some(4096)), "{error}");
}

#[test]
fn an_overflow_behind_a_gateway_is_one() {
    let body = r#"{"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw":
        "{\"error\":{\"message\":\"prompt is too long: 210000 tokens > 200000 maximum\"}}"}}}"#;
    let error = refused(400, body);
    assert_eq!(
        (error.kind, error.stated_window()),
        (ErrorKind::Overflow, Some(200_000)),
        "{error}"
    );
}

/// What only sounds like an overflow.
#[rstest]
#[case(
    400,
    r#"{"error": {"message": "Too many tokens, please wait before trying again."}}"#,
    ErrorKind::BadRequest
)]
#[case(
    400,
    r#"{"error": {"message": "Invalid 'tools': array too long, exceeds the limit of 128"}}"#,
    ErrorKind::BadRequest
)]
#[case(400, r#"{"error": {"message": "max_tokens: 99999 > 8192, which is the maximum allowed number of output tokens"}}"#, ErrorKind::BadRequest)]
#[case(
    400,
    r#"{"error": {"message": "no such field"}, "request": "prompt is too long"}"#,
    ErrorKind::BadRequest
)]
#[case(422, r#"{"detail": [{"loc": ["body"], "msg": "Field required", "input": "the maximum context length"}]}"#, ErrorKind::BadRequest)]
#[case(500, r#"{"error": {"message": "ThrottlingException: prompt is too long for the tokens per minute left"}}"#, ErrorKind::Server)]
#[case(404, r#"{"error": {"message": "maximum context length"}}"#, ErrorKind::BadRequest)]
fn what_only_sounds_like_an_overflow_is_none(
    #[case] status: u16,
    #[case] body: &str,
    #[case] kind: ErrorKind,
) {
    let error = refused(status, body);
    assert_eq!(error.kind, kind, "{error}");
}

#[test]
fn a_limit_of_tokens_a_minute_is_no_overflow() {
    let body = r#"{"error": {"message": "Request too large: maximum context length is not it; limit 30000 tokens per min"}}"#;
    assert_eq!(refused(429, body).kind, ErrorKind::Limited);
}

#[rstest]
#[case(
    r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
    ErrorKind::Overloaded,
    Some(529)
)]
#[case(r#"{"error":{"code":502,"message":"upstream"}}"#, ErrorKind::Server, Some(502))]
#[case(r#"{"error":{"type":"server_error","message":"sorry"}}"#, ErrorKind::Server, Some(500))]
#[case(
    r#"{"error":{"code":"rate_limit_exceeded","message":"slow"}}"#,
    ErrorKind::Limited,
    Some(429)
)]
#[case(
    r#"{"error":{"code":"context_length_exceeded","message":"big"}}"#,
    ErrorKind::Overflow,
    Some(400)
)]
#[case(r#"{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"The input token count (9) exceeds the maximum number of tokens allowed (8)."}}"#, ErrorKind::Overflow, Some(400))]
#[case(
    r#"{"error":{"message":"Service tier capacity exceeded","type":"unavailable"}}"#,
    ErrorKind::Server,
    Some(503)
)]
#[case(
    r#"{"object":"error","message":"engine died","type":"InternalServerError","code":500}"#,
    ErrorKind::Server,
    Some(500)
)]
#[case("engine died", ErrorKind::Server, None)]
#[case(r#"{"error":"gone"}"#, ErrorKind::Server, None)]
fn an_error_event_counts_as_the_status_its_type_stands_for(
    #[case] data: &str,
    #[case] kind: ErrorKind,
    #[case] status: Option<u16>,
) {
    let error = from_event(data);
    assert_eq!((error.kind, error.status), (kind, status), "{error}");
}

/// What gateways wrap into a list is an error under status 200 too.
#[rstest]
#[case(r#"[{"error": {"code": 429, "message": "Resource exhausted", "status": "RESOURCE_EXHAUSTED"}}]"#, ErrorKind::Limited, Some(429))]
#[case(
    r#"[{"error": {"code": 400, "message": "API key not valid", "status": "INVALID_ARGUMENT"}}]"#,
    ErrorKind::BadRequest,
    Some(400)
)]
#[case(r#"[{"choices": []}]"#, ErrorKind::Broken, Some(200))]
#[case("[]", ErrorKind::Broken, Some(200))]
fn an_error_in_a_list_is_one(
    #[case] data: &str,
    #[case] kind: ErrorKind,
    #[case] status: Option<u16>,
) {
    use crate::wire::document;
    for wire in [crate::Wire::Anthropic, crate::Wire::OpenAi] {
        let error = document(wire, data, &mut |_| ()).unwrap_err();
        assert_eq!((error.kind, error.status), (kind, status), "{wire:?}: {error}");
    }
}

/// KERN-16: a gateway that answers 200 keeps the headers of the refusal it hides.
#[test]
fn an_error_under_status_200_has_the_pacing_of_its_headers() {
    let event = |data: &str, pairs: &[(&'static str, &str)]| {
        paced(from_event(data), &headers(pairs), now()).retry_after
    };
    let limited = r#"{"error": {"code": 429, "message": "slow down"}}"#;
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    assert_eq!(event(limited, &[("retry-after", "7")]), seconds(7));
    assert_eq!(event(limited, &[("anthropic-ratelimit-unified-reset", "1751371260")]), seconds(60));
    assert_eq!(event(limited, &[]), None);
    let told = r#"{"error": {"code": 429, "message": "slow down", "retry_after": 3}}"#;
    assert_eq!(event(told, &[("retry-after", "7")]), seconds(3));
    let refused = r#"{"error": {"code": 400, "message": "no such field"}}"#;
    assert_eq!(event(refused, &[("retry-after", "7")]), None);
}
