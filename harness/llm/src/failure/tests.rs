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
#[case::unified(429, &[("anthropic-ratelimit-unified-reset", "1751371260")], Some(60_000))]
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

#[test]
fn a_pacing_beyond_sense_is_cut() {
    for value in ["1e300", "999999999999"] {
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
#[case("<html>404</html>", "HTTP 404: <html>404</html>")]
#[case("", "HTTP 404: Not Found")]
#[case("  ", "HTTP 404: Not Found")]
#[case("{}", "HTTP 404: {}")]
fn every_form_of_body_gives_its_words(#[case] body: &str, #[case] message: &str) {
    assert_eq!(refused(404, body).message, message);
}

#[test]
fn a_long_body_is_quoted_as_far_as_a_person_reads() {
    let message = refused(502, &"é".repeat(5000)).message;
    assert!(message.ends_with("é…") && message.chars().count() < 1100, "{message}");
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

#[rstest]
#[case(400, "prompt is too long: 210000 tokens > 200000 maximum", Some(200_000))]
#[case(
    400,
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    Some(200_000)
)]
#[case(400, "This model's maximum context length is 128,000 tokens. However, …", Some(128_000))]
#[case(400, "Your input exceeds the context window of this model.", None)]
#[case(400, "the request exceeds the available context size (4096 tokens)", Some(4096))]
#[case(500, "the request exceeds the available context size. try increasing it", None)]
#[case(413, "request_too_large: Request exceeds the maximum size", None)]
#[case(
    400,
    "The input token count (5) exceeds the maximum number of tokens allowed (1048576).",
    Some(1_048_576)
)]
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
#[case(r#"{"error":"gone"}"#, ErrorKind::Server, None)]
fn an_error_event_counts_as_the_status_its_type_stands_for(
    #[case] data: &str,
    #[case] kind: ErrorKind,
    #[case] status: Option<u16>,
) {
    let error = from_event(data);
    assert_eq!((error.kind, error.status), (kind, status), "{error}");
}
