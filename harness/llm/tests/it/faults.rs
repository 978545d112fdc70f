//! Each way in which a model call fails gives its kind, its true status and the
//! provider's own words.

use std::time::Duration;

use fakes::model::{Break, Gate, ModelServer, Overflow, Pacing, Point, Raw, Reply, Stop};
use foundry_llm::{Auth, Endpoint, ErrorKind, Limits, LlmError, Transport, Wire};
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::setup::{KEY, clock, endpoint, limits, request, transport};

async fn failing(wire: Wire, reply: Reply) -> LlmError {
    let model = ModelServer::start().await;
    model.script([reply]);
    let called = transport(&model, wire).stream(&request("So?"), &mut |_| ()).await;
    model.finish().unwrap();
    called.unwrap_err()
}

/// KERN-16
#[rstest]
#[case(Pacing::RetryAfter("7".to_owned()), Some(7_000))]
#[case(Pacing::Date(9), Some(9_000))]
#[case(Pacing::Date(-60), Some(0))]
#[case(Pacing::Milliseconds(250), Some(250))]
#[case(Pacing::UnifiedReset(3600), Some(3_600_000))]
#[case(Pacing::Body(12), Some(12_000))]
#[case(Pacing::RetryAfter("in a while".to_owned()), None)]
#[tokio::test]
async fn a_limited_call_says_when_to_ask_again(
    #[values(Wire::Anthropic, Wire::OpenAi)] wire: Wire,
    #[case] pacing: Pacing,
    #[case] milliseconds: Option<u64>,
) {
    let error = failing(wire, Reply::limited(pacing)).await;
    assert_eq!((error.kind, error.status), (ErrorKind::Limited, Some(429)));
    assert_eq!(error.retry_after, milliseconds.map(Duration::from_millis));
    let words = "HTTP 429: usage_limit_reached: The usage limit has been reached";
    assert!(error.message.starts_with(words), "{error}"); // KERN-17
}

/// KERN-19
#[rstest]
#[case(Reply::failure(500, "api_error", "Internal server error"), ErrorKind::Server, 500)]
#[case(Reply::failure(502, "api_error", "Bad gateway"), ErrorKind::Server, 502)]
#[case(Reply::failure(503, "api_error", "Unavailable"), ErrorKind::Server, 503)]
#[case(Reply::overloaded(529), ErrorKind::Overloaded, 529)]
#[case(Reply::overloaded(503), ErrorKind::Overloaded, 503)]
#[case(Reply::failure(400, "invalid_request_error", "no such field"), ErrorKind::BadRequest, 400)]
#[case(Reply::failure(401, "authentication_error", "invalid key"), ErrorKind::Auth, 401)]
#[case(Reply::overflow(Overflow::Native), ErrorKind::Overflow, 400)]
#[case(Reply::overflow(Overflow::LlamaCpp), ErrorKind::Overflow, 400)]
#[case(Reply::overflow(Overflow::Vllm), ErrorKind::Overflow, 400)]
#[case(Reply::overflow(Overflow::Window), ErrorKind::Overflow, 400)]
#[tokio::test]
async fn a_refusal_keeps_its_true_status(
    #[values(Wire::Anthropic, Wire::OpenAi)] wire: Wire,
    #[case] reply: Reply,
    #[case] kind: ErrorKind,
    #[case] status: u16,
) {
    let error = failing(wire, reply).await;
    assert_eq!((error.kind, error.status), (kind, Some(status)), "{error}");
    assert!(error.message.starts_with(&format!("HTTP {status}: ")), "{error}");
}

#[rstest]
#[tokio::test]
async fn an_error_event_ends_a_reply_with_the_status_it_stands_for(
    #[values(Wire::Anthropic, Wire::OpenAi)] wire: Wire,
    #[values(Point::Text, Point::Arguments)] point: Point,
) {
    let event = Break::Error("overloaded_error".to_owned(), "Overloaded".to_owned());
    let reply = Reply::call("recall", serde_json::json!({"query": "high water tomorrow"}))
        .and_text("A text of more than one piece.");
    let error = failing(wire, reply.broken(point, event)).await;
    assert_eq!((error.kind, error.status), (ErrorKind::Overloaded, Some(529)));
    assert!(
        error.message.starts_with("HTTP 529 in the stream: overloaded_error: Overloaded ("),
        "{error}"
    );
}

/// KERN-15
#[rstest]
#[tokio::test]
async fn a_reply_without_content_calls_or_stop_reason_is_no_completion(
    #[values(Wire::Anthropic, Wire::OpenAi)] wire: Wire,
) {
    let error = failing(wire, Reply::empty(Stop::Missing)).await;
    assert_eq!((error.kind, error.status), (ErrorKind::NoCompletion, Some(200)));
    assert!(error.message.contains("the provider sent: "), "{error}"); // CODE-44
    let html = Raw::new(200, "text/html", "<html>Please sign in to the Wi-Fi</html>");
    let error = failing(wire, Reply::raw(html)).await;
    assert_eq!(error.kind, ErrorKind::NoCompletion);
    assert!(error.message.contains("sign in to the Wi-Fi"), "{error}");
    let error = failing(wire, Reply::raw(Raw::new(200, "text/event-stream", ""))).await;
    assert!(error.message.contains("an empty body"), "{error}");
}

#[rstest]
#[case(Break::Reset, ErrorKind::Network)]
#[case(Break::ResetInCharacter, ErrorKind::Network)]
#[case(Break::Close, ErrorKind::Broken)]
#[tokio::test]
async fn a_reply_cut_in_the_middle_is_no_reply(
    #[values(Wire::Anthropic, Wire::OpenAi)] wire: Wire,
    #[case] how: Break,
    #[case] kind: ErrorKind,
) {
    let reply = Reply::text("High water at six, and 潮汐 🌊 again at noon, they say.");
    let error = failing(wire, reply.broken(Point::Text, how)).await;
    assert_eq!((error.kind, error.status), (kind, Some(200)), "{error}");
}

/// Short clocks, for what never comes.
fn impatient(model: &ModelServer, wire: Wire, limits: Limits) -> Transport {
    Transport::new(endpoint(model, wire), limits, clock()).unwrap()
}

/// KERN-13, LOOP-20
#[rstest]
#[tokio::test]
async fn a_call_without_response_headers_is_stalled(
    #[values(Wire::Anthropic, Wire::OpenAi)] wire: Wire,
) {
    assert_eq!(Limits::default().headers, Duration::from_mins(5));
    let model = ModelServer::start().await;
    let gate = Gate::new();
    model.script([Reply::text("late").held(Point::Headers, &gate)]);
    let limits = Limits { headers: Duration::from_millis(200), ..limits() };
    let transport = impatient(&model, wire, limits);
    let error = transport.stream(&request("So?"), &mut |_| ()).await.unwrap_err();
    assert_eq!((error.kind, error.status), (ErrorKind::Stalled, None));
    assert!(error.message.starts_with("no response headers within 0.2 s ("), "{error}");
}

/// KERN-14
#[rstest]
#[tokio::test]
async fn a_silent_stream_is_stalled(
    #[values(Wire::Anthropic, Wire::OpenAi)] wire: Wire,
    #[values(
        (Point::Body, Break::Silence),
        (Point::Text, Break::Silence),
        (Point::Text, Break::SilenceInEvent),
    )]
    silence: (Point, Break),
) {
    let model = ModelServer::start().await;
    let text = "A text of more than one piece.";
    model.script([Reply::text(text).broken(silence.0, silence.1)]);
    let limits = Limits { idle: Duration::from_millis(200), ..limits() };
    let transport = impatient(&model, wire, limits);
    let error = transport.stream(&request("So?"), &mut |_| ()).await.unwrap_err();
    assert_eq!((error.kind, error.status), (ErrorKind::Stalled, Some(200)));
    assert!(error.message.starts_with("no bytes for 0.2 s ("), "{error}");
}

#[tokio::test]
async fn an_error_under_status_200_is_an_error() {
    let body = r#"{"error": {"code": 429, "message": "Provider returned error"}}"#;
    let raw = Raw::new(200, "application/json; charset=utf-8", body);
    let error = failing(Wire::OpenAi, Reply::raw(raw)).await;
    assert_eq!((error.kind, error.status), (ErrorKind::Limited, Some(429)));
    assert!(
        error.message.starts_with("HTTP 429 in the stream: Provider returned error ("),
        "{error}"
    );
}

#[tokio::test]
async fn a_server_that_never_streams_is_understood() {
    let model = ModelServer::start().await;
    let body = r#"{"model": "m", "choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}"#;
    model.script([Reply::raw(Raw::new(200, "application/json", body))]);
    let mut seen = Vec::new();
    let transport = transport(&model, Wire::OpenAi);
    let reply = transport
        .stream(&request("So?"), &mut |delta| seen.push(delta.into_owned()))
        .await
        .unwrap();
    assert_eq!(reply.text.as_deref(), Some("hello"));
    assert_eq!(seen, [foundry_llm::Delta::Text("hello".into())]);
}

#[tokio::test]
async fn a_redirect_is_never_followed() {
    let model = ModelServer::start().await;
    let mut raw = Raw::new(307, "text/plain", "");
    raw.headers.push(("location".to_owned(), "http://elsewhere.test/".to_owned()));
    model.script([Reply::raw(raw)]);
    let called = transport(&model, Wire::OpenAi).complete(&request("So?")).await;
    let error = called.unwrap_err();
    assert_eq!((error.kind, error.status), (ErrorKind::BadRequest, Some(307)));
    assert!(error.message.contains("a redirect to http://elsewhere.test/"), "{error}");
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_network_error_that_names_it() {
    let model = ModelServer::start().await;
    let base = model.url();
    model.stop().await;
    drop(model);
    let endpoint = Endpoint::new(Wire::OpenAi, &base.parse().unwrap(), Auth::None).unwrap();
    let transport = Transport::new(endpoint, limits(), clock()).unwrap();
    let error = transport.complete(&request("So?")).await.unwrap_err();
    assert_eq!((error.kind, error.status), (ErrorKind::Network, None));
    assert!(error.message.starts_with("failed to reach the server: "), "{error}");
    assert!(error.message.contains("Connection refused"), "{error}");
    assert!(error.message.contains("(scripted at http://127.0.0.1:"), "{error}");
    assert!(error.message.ends_with("; check the address, and that its server runs)"), "{error}");
}

/// Single bytes over a real connection.
#[tokio::test]
async fn a_reply_in_single_bytes_is_whole() {
    let body = "data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"潮汐 🌊\"},\
                \"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let model = ModelServer::start().await;
    model.script([Reply::raw(Raw::new(200, "text/event-stream", body).in_chunks_of(1))]);
    let transport = transport(&model, Wire::OpenAi);
    let reply = transport.stream(&request("So?"), &mut |_| ()).await.unwrap();
    assert_eq!(reply.text.as_deref(), Some("潮汐 🌊"));
}

/// KERN-17: who, where and what to do, behind the provider's own words.
#[tokio::test]
async fn an_error_names_its_model_and_place_and_says_what_to_do() {
    let model = ModelServer::start().await;
    model.script([Reply::failure(404, "model_not_found", "The model `scripted` does not exist")]);
    let error = transport(&model, Wire::OpenAi).complete(&request("So?")).await.unwrap_err();
    let expected = format!(
        "HTTP 404: model_not_found: The model `scripted` does not exist (scripted at http://{}; \
         check the name of the model and the base URL)",
        model.address()
    );
    assert_eq!(error.message, expected);
}

/// BIND-11: a quote is cut, but no half of a key comes through.
#[tokio::test]
async fn a_key_at_the_edge_of_a_quote_is_taken_out_whole() {
    for place in [980, 990, 995, 999, 4990, 8180] {
        for status in [200, 500] {
            let model = ModelServer::start().await;
            let body = format!("{}{KEY}{}", "x".repeat(place), "y".repeat(9000));
            model.script([Reply::raw(Raw::new(status, "text/html", body))]);
            let called = transport(&model, Wire::OpenAi).complete(&request("So?")).await;
            let message = called.unwrap_err().message;
            assert!(!message.contains(&KEY[..4]), "{message}");
            assert!(message.chars().count() < 1300, "{}", message.len());
        }
    }
}

/// An event far beyond its limit, over a real connection.
#[tokio::test]
async fn an_event_without_end_is_refused() {
    let model = ModelServer::start().await;
    let mut body = b"data: {\"choices\":[{\"delta\":{\"content\":\"".to_vec();
    body.resize(12 << 20, b'x');
    model.script([Reply::raw(Raw::new(200, "text/event-stream", body).in_chunks_of(64 * 1024))]);
    let called = transport(&model, Wire::OpenAi).stream(&request("So?"), &mut |_| ()).await;
    let error = called.unwrap_err();
    assert_eq!((error.kind, error.status), (ErrorKind::Broken, Some(200)));
    assert!(error.message.contains("one event of the stream is larger than 8388608"), "{error}");
}

#[tokio::test]
async fn a_reply_beyond_all_bounds_is_refused() {
    let model = ModelServer::start().await;
    let event = "data: {\"choices\":[{\"delta\":{\"content\":\"0123456789\"}}]}\n\n";
    model.script([Reply::raw(Raw::new(200, "text/event-stream", event.repeat(100)))]);
    let limits = Limits { bytes: 2000, ..limits() };
    let transport = impatient(&model, Wire::OpenAi, limits);
    let error = transport.stream(&request("So?"), &mut |_| ()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Broken);
    assert!(error.message.contains("larger than 2000 bytes"), "{error}");
}

/// A token that never comes, say from a disk that hangs.
struct Never;

#[async_trait::async_trait]
impl foundry_llm::TokenSource for Never {
    async fn token(&self) -> Result<secrecy::SecretString, foundry_llm::TokenError> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_that_never_comes_is_waited_for_as_long_as_headers() {
    let base = "http://127.0.0.1:9/v1".parse().unwrap();
    let endpoint =
        Endpoint::new(Wire::OpenAi, &base, Auth::Bearer(std::sync::Arc::new(Never))).unwrap();
    let transport = Transport::new(endpoint, limits(), clock()).unwrap();
    let error = transport.complete(&request("So?")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Stalled);
    assert!(error.message.starts_with("no token within 20 s (scripted at "), "{error}");
}

/// Headers that are wrong or missing do not decide what a body is.
#[rstest]
#[case("text/event-stream", r#"{"error": {"code": 503, "message": "loading model"}}"#)]
#[case("text/plain", r#"{"error": {"code": 503, "message": "loading model"}}"#)]
#[case(
    "application/json",
    "data: {\"error\": {\"code\": 503, \"message\": \"loading model\"}}\n\n"
)]
#[tokio::test]
async fn an_error_under_status_200_is_one_whatever_its_type(
    #[values(Wire::Anthropic, Wire::OpenAi)] wire: Wire,
    #[case] content_type: &str,
    #[case] body: &str,
) {
    let error = failing(wire, Reply::raw(Raw::new(200, content_type, body))).await;
    assert_eq!((error.kind, error.status), (ErrorKind::Server, Some(503)), "{error}");
    assert!(error.message.contains("loading model"), "{error}");
}

/// KERN-16
#[rstest]
#[tokio::test]
async fn an_error_under_status_200_is_paced_by_its_headers(
    #[values(Wire::Anthropic, Wire::OpenAi)] wire: Wire,
    #[values("application/json", "text/event-stream")] content_type: &str,
) {
    let body = r#"{"error": {"code": 429, "message": "slow down"}}"#;
    let body = match content_type {
        "application/json" => body.to_owned(),
        _ => format!("data: {body}\n\n"),
    };
    let raw = Raw::new(200, content_type, body).with_header("retry-after", "7");
    let error = failing(wire, Reply::raw(raw)).await;
    assert_eq!((error.kind, error.status), (ErrorKind::Limited, Some(429)), "{error}");
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
}

/// KERN-13: no part of a call takes longer than the whole of it may.
#[tokio::test]
async fn the_last_clock_bounds_the_wait_for_headers_too() {
    let model = ModelServer::start().await;
    let gate = Gate::new();
    model.script([Reply::text("late").held(Point::Headers, &gate)]);
    let limits = Limits { total: Duration::from_millis(200), ..limits() };
    let transport = impatient(&model, Wire::OpenAi, limits);
    let error = transport.stream(&request("So?"), &mut |_| ()).await.unwrap_err();
    assert_eq!((error.kind, error.status), (ErrorKind::Stalled, None));
    assert!(error.message.starts_with("no response headers within 0.2 s ("), "{error}");
}

#[tokio::test]
async fn clocks_that_never_end_are_no_fault() {
    let model = ModelServer::start().await;
    model.script([Reply::text("six")]);
    let never = Duration::MAX;
    let limits = Limits { headers: never, idle: never, total: never, ..limits() };
    let reply = impatient(&model, Wire::OpenAi, limits).complete(&request("So?")).await.unwrap();
    assert_eq!(reply.text.as_deref(), Some("six"));
}

/// Servers without keys are called with any word as one, and it takes nothing of the reason.
#[rstest]
#[tokio::test]
async fn a_word_in_place_of_a_key_leaves_a_refusal_readable(
    #[values("x", "null", "EMPTY", "context")] key: &'static str,
) {
    let model = ModelServer::start().await;
    let body = r#"{"error": {"message": "This model's maximum context length is 4096 tokens",
        "param": null, "retry_after": 3}}"#;
    model.script([Reply::raw(Raw::new(400, "application/json", body))]);
    let base = model.url().parse().unwrap();
    let endpoint = Endpoint::new(Wire::OpenAi, &base, Auth::bearer(key)).unwrap();
    let transport = Transport::new(endpoint, limits(), clock()).unwrap();
    let error = transport.complete(&request("So?")).await.unwrap_err();
    assert_eq!((error.kind, error.status), (ErrorKind::Overflow, Some(400)), "{error}");
    assert_eq!(error.retry_after, Some(Duration::from_secs(3)));
    assert!(error.message.contains("length is 4096 tokens (scripted at "), "{error}");
}

/// KERN-17: a line for a person, whatever a server sends.
#[tokio::test]
async fn an_error_is_one_line_that_moves_no_cursor() {
    let page = "<html>\r\n  <h1>Bad \u{1b}[2J\u{7}gateway</h1>\n\n</html>\n";
    let error = failing(Wire::OpenAi, Reply::raw(Raw::new(502, "text/html", page))).await;
    let words = "HTTP 502: <html> <h1>Bad [2J gateway</h1> </html> (";
    assert!(error.message.starts_with(words), "{error:?}");
}
