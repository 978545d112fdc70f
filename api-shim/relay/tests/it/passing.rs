//! What passes through, and that it passes as it comes.

use std::time::Duration;

use fakes::model::{Gate, ModelServer, Point, Raw, Reply, Usage};
use foundry_crds::model::Provider;
use foundry_relay::Wire;
use futures::StreamExt as _;
use http::{HeaderMap, HeaderValue};
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;

use crate::setup::{KEY, MAILBOX, ann, read, request, setup, streamed};

fn provider(wire: Wire) -> Provider {
    match wire {
        Wire::Anthropic => Provider::Anthropic,
        Wire::OpenAi => Provider::OpenAi,
    }
}

/// ROUTE-19, BIND-04
#[rstest]
#[tokio::test]
async fn a_call_reaches_its_provider_and_is_metered_to_the_mailbox(
    #[values(Wire::OpenAi, Wire::Anthropic)] wire: Wire,
    #[values(true, false)] stream: bool,
) {
    let (model, setup) = (ModelServer::start().await, setup().await);
    setup.model("house", provider(wire), &model.url());
    model.require_key(KEY);
    let used = Usage { input: 100, output: 20, cache_read: 1_000, cache_write: 0 };
    model.script([Reply::text("Good morning.").with_usage(used)]);

    let answer = setup.forward(wire, request(wire, "house", stream)).await;
    let form = answer.headers()["content-type"].to_str().unwrap().to_owned();
    let (status, body) = read(answer).await;
    let body = String::from_utf8(body.unwrap()).unwrap();
    assert_eq!(status, 200, "{body}");
    assert_eq!(form.starts_with("text/event-stream"), stream, "{form}");
    assert!(body.contains("morning"), "{body}");

    let sent = model.request(1).await;
    assert_eq!(sent.model(), "house-upstream");
    assert_eq!(sent.key(), Some(KEY));
    model.finish().unwrap();

    let usage = setup.usage().await.remove(0);
    let wire_name = if wire == Wire::OpenAi { "openai" } else { "anthropic" };
    assert_eq!(usage.mailbox.as_deref(), Some(MAILBOX));
    assert_eq!((usage.model.as_str(), usage.upstream_model.as_str()), ("house", "house-upstream"));
    assert_eq!((usage.wire.as_str(), usage.outcome.as_str()), (wire_name, "completed"));
    assert_eq!((usage.status, usage.request_id.as_str()), (200, "req-7"));
    assert_eq!((usage.input_tokens, usage.output_tokens), (100, 20));
    assert_eq!((usage.cache_read_tokens, usage.cache_savings_micros), (1_000, 900));
    assert_eq!((usage.cost_micros, usage.estimated), (100 + 40 + 100, false));
    let totals = setup.store.usage_totals_of_mailbox(MAILBOX).await.unwrap();
    assert_eq!(totals, setup.store.usage_totals(&ann()).await.unwrap());
}

/// BIND-02
#[tokio::test]
async fn auto_goes_to_gpt_5_mini_of_openai() {
    let (model, setup) = (ModelServer::start().await, setup().await);
    setup.model("gpt-5", Provider::OpenAi, &model.url());
    setup.model("other", Provider::OpenAiCompatible, &model.url());
    {
        let mut models = setup.cluster.models.lock().unwrap();
        let mut mini = (*models[0]).clone();
        mini.metadata.name = Some("mini".into());
        mini.spec.wire_id = "gpt-5-mini".into();
        mini.spec.upstream_model = None;
        models.push(mini.into());
    }
    model.script([Reply::text("Hello.")]);
    let (status, _) = read(setup.forward(Wire::OpenAi, streamed(Wire::OpenAi, "auto")).await).await;
    assert_eq!(status, 200);
    assert_eq!(model.request(1).await.model(), "gpt-5-mini");
    assert_eq!(setup.usage().await[0].model, "gpt-5-mini");
}

/// ROUTE-19
#[rstest]
#[tokio::test]
async fn bytes_pass_unchanged_whatever_their_chunks(#[values(1, 7, 4_096)] size: usize) {
    let (model, setup) = (ModelServer::start().await, setup().await);
    setup.model("house", Provider::OpenAi, &model.url());
    let body = concat!(
        ": hello\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"Gr\u{fc}\u{df}e \u{1f600}\"}}]}\n\n",
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4}}\n\n",
        "data: [DONE]\n\n",
    );
    let raw = Raw::new(200, "text/event-stream", body).in_chunks_of(size);
    model.script([Reply::raw(raw)]);
    let answer = setup.forward(Wire::OpenAi, streamed(Wire::OpenAi, "house")).await;
    let (_, bytes) = read(answer).await;
    assert_eq!(String::from_utf8(bytes.unwrap()).unwrap(), body);
    let usage = setup.usage().await.remove(0);
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.estimated), (9, 4, false));
}

/// ROUTE-19
#[tokio::test]
async fn the_first_words_pass_before_the_provider_is_done() {
    let (model, setup) = (ModelServer::start().await, setup().await);
    setup.model("house", Provider::Anthropic, &model.url());
    let gate = Gate::new();
    model.script([Reply::text("A long answer follows.").held(Point::Text, &gate)]);
    let answer = setup.forward(Wire::Anthropic, streamed(Wire::Anthropic, "house")).await;
    let mut body = answer.into_body();
    let mut seen = String::new();
    let first_words = async {
        while !seen.contains("text_delta") {
            seen.push_str(std::str::from_utf8(&body.next().await.unwrap().unwrap()).unwrap());
        }
    };
    tokio::time::timeout(Duration::from_secs(10), first_words).await.expect("not held back");
    assert!(!seen.contains("message_stop"));
    gate.open();
    while let Some(chunk) = body.next().await {
        seen.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
    }
    assert!(seen.contains("message_stop"), "{seen}");
}

/// ROUTE-19
#[tokio::test]
async fn a_providers_refusal_passes_byte_for_byte_with_its_pacing() {
    let (model, setup) = (ModelServer::start().await, setup().await);
    setup.model("house", Provider::OpenAi, &model.url());
    let body =
        "{\"error\" : {\"message\":\"slow\\u0020down\",\"type\":\"usage_limit_reached\"}}\n ";
    let mut raw = Raw::new(429, "application/json", body);
    for (name, value) in [("retry-after", "7"), ("x-request-id", "up-1"), ("set-cookie", "a=b")] {
        raw.headers.push((name.into(), value.into()));
    }
    model.script([Reply::raw(raw)]);
    let answer = setup.forward(Wire::OpenAi, streamed(Wire::OpenAi, "house")).await;
    let headers = answer.headers().clone();
    let (status, bytes) = read(answer).await;
    assert_eq!(status, 429);
    assert_eq!(String::from_utf8(bytes.unwrap()).unwrap(), body);
    assert_eq!(headers["retry-after"], "7");
    assert_eq!(headers["x-request-id"], "up-1");
    assert!(!headers.contains_key("set-cookie"));
    assert_eq!(model.requests().len(), 1, "never tried again");
    setup.relay.close().await;
    assert_eq!(setup.usage().await, [], "a refusal uses nothing");
}

/// ROUTE-19
#[tokio::test]
async fn a_redirect_is_passed_on_and_not_followed() {
    let (model, setup) = (ModelServer::start().await, setup().await);
    setup.model("house", Provider::OpenAi, &model.url());
    let mut raw = Raw::new(307, "text/plain", "elsewhere");
    raw.headers.push(("location".into(), format!("{}/chat/completions", model.url())));
    model.script([Reply::raw(raw)]);
    let (status, _) =
        read(setup.forward(Wire::OpenAi, streamed(Wire::OpenAi, "house")).await).await;
    assert_eq!(status, 307);
    assert_eq!(model.requests().len(), 1);
}

/// ROUTE-19
#[tokio::test]
async fn the_body_keeps_its_bytes_and_the_caller_its_credentials() {
    let (model, setup) = (ModelServer::start().await, setup().await);
    setup.model("house", Provider::Anthropic, &model.url());
    model.script([Reply::text("Hi.")]);
    let body = "{ \"max_tokens\":64,\"model\" :\"house\",\"messages\":[{\"role\":\"user\",\"content\":\"caf\\u00e9 1.50\"}] }";
    let headers: HeaderMap = [
        ("authorization", "Bearer pod-token"),
        ("anthropic-beta", "context-1m"),
        ("x-flow-agent-id", "ann"),
    ]
    .into_iter()
    .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)))
    .collect();
    read(setup.forward_with(Wire::Anthropic, &headers, body).await).await.1.unwrap();
    let sent = model.request(1).await;
    assert_eq!(sent.raw, body.replace("\"house\"", "\"house-upstream\""));
    assert_eq!(sent.header("authorization"), None);
    assert_eq!(sent.header("x-flow-agent-id"), None);
    assert_eq!(sent.header("anthropic-beta"), Some("context-1m"));
    assert_eq!(sent.header("anthropic-version"), Some("2023-06-01"));
}

#[tokio::test]
async fn a_rotated_key_serves_the_next_call() {
    let (model, setup) = (ModelServer::start().await, setup().await);
    setup.model("house", Provider::OpenAi, &model.url());
    for key in ["sk-first-first-first-first\n", "sk-second-second-second"] {
        model.script([Reply::text("Hi.")]);
        setup.key(key);
        read(setup.forward(Wire::OpenAi, streamed(Wire::OpenAi, "house")).await).await.1.unwrap();
    }
    let keys: Vec<_> =
        model.requests().iter().map(|sent| sent.key().unwrap_or_default().to_owned()).collect();
    assert_eq!(keys, ["sk-first-first-first-first", "sk-second-second-second"]);
}

#[tokio::test]
async fn a_server_that_wants_no_key_gets_none() {
    let (model, setup) = (ModelServer::start().await, setup().await);
    setup.model("house", Provider::OpenAiCompatible, &model.url());
    {
        let mut models = setup.cluster.models.lock().unwrap();
        let mut keyless = (*models[0]).clone();
        keyless.spec.api_key = None;
        models[0] = keyless.into();
    }
    let document = json!({"choices": [{"message": {"content": "x".repeat(40)}}]}).to_string();
    model.script([Reply::raw(Raw::new(200, "application/json", document))]);
    let body = request(Wire::OpenAi, "house", false);
    let length = i64::try_from(body.len()).unwrap();
    read(setup.forward(Wire::OpenAi, body).await).await.1.unwrap();
    assert_eq!(model.request(1).await.key(), None);
    let usage = setup.usage().await.remove(0);
    assert_eq!((usage.input_tokens, usage.output_tokens), ((length + 3) / 4, 10));
    assert!(usage.estimated, "the server counted nothing");
}
