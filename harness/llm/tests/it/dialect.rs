//! What a server demands with a 400, the next request does.

use fakes::model::{ModelServer, Reply};
use foundry_llm::{ErrorKind, Message, Provider, Reasoning, Request, Served, ToolCall, Wire};
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::Value;

use super::setup::{clock, limits, request, transport};

fn refusal(words: &str) -> Reply {
    Reply::failure(400, "invalid_request_error", words)
}

fn whole_request() -> Request {
    let mut request = request("When is high water?");
    request.temperature = Some(0.2);
    request.reasoning_effort = Some("low".to_owned());
    request
}

/// Calls until it is answered, and gives the bodies that were sent.
async fn bodies(replies: Vec<Reply>, request: &Request) -> (Vec<ErrorKind>, Vec<Value>) {
    let model = ModelServer::start().await;
    let count = replies.len();
    model.script(replies);
    let transport = transport(&model, Wire::OpenAi);
    let mut kinds = Vec::new();
    for _ in 0..count {
        // A clone learns what the others learned.
        if let Err(error) = transport.clone().stream(request, &mut |_| ()).await {
            assert!(error.message.contains("HTTP 400: "), "{error}");
            kinds.push(error.kind);
        }
    }
    model.finish().unwrap();
    (kinds, sent(&model))
}

fn sent(model: &ModelServer) -> Vec<Value> {
    let body = |raw: &str| serde_json::from_str(raw).unwrap();
    model.requests().iter().map(|request| body(&request.raw)).collect()
}

/// KERN-03, KERN-19: a refusal of the form is not one of the request.
#[rstest]
#[case(
    "Unsupported parameter: 'max_completion_tokens' is not supported with this model.",
    "max_completion_tokens"
)]
#[case("Unsupported value: 'temperature' does not support 0.2 with this model.", "temperature")]
#[case("Unrecognized request argument supplied: reasoning_effort", "reasoning_effort")]
#[case("Unrecognized request argument supplied: stream_options", "stream_options")]
#[tokio::test]
async fn a_field_that_was_refused_is_not_sent_again(#[case] words: &str, #[case] field: &str) {
    let replies = vec![refusal(words), Reply::text("six"), Reply::text("six")];
    let (kinds, bodies) = bodies(replies, &whole_request()).await;
    assert_eq!(kinds, [ErrorKind::Dialect]);
    let sent: Vec<bool> = bodies.iter().map(|body| body.get(field).is_some()).collect();
    assert_eq!(sent, [true, false, false]);
    let capped =
        |body: &Value| body.get("max_tokens").or(body.get("max_completion_tokens")).cloned();
    assert!(bodies.iter().all(|body| capped(body) == Some(8192.into())), "{bodies:?}");
}

/// KERN-40
#[tokio::test]
async fn reasoning_goes_back_once_a_server_demands_it() {
    let mut request = request("When is high water?");
    request.messages.push(Message::Assistant {
        text: Some("At six.".to_owned()),
        reasoning: vec![Reasoning::Text { text: "The moon…".to_owned() }],
        calls: Vec::<ToolCall>::new(),
    });
    let asked = request.messages[0].clone();
    request.messages.push(asked);
    let words = "The `reasoning_content` in the thinking mode must be passed back to the API.";
    let (kinds, bodies) = bodies(vec![refusal(words), Reply::text("yes")], &request).await;
    assert_eq!(kinds, [ErrorKind::Dialect]);
    let said = |body: &Value| body["messages"][2].get("reasoning_content").cloned();
    assert_eq!(bodies.iter().map(said).collect::<Vec<_>>(), [None, Some("The moon…".into())]);
}

#[tokio::test]
async fn several_demands_are_met_one_after_another_and_none_twice() {
    let cap = "Unsupported parameter: 'max_completion_tokens' is not supported with this model.";
    let newer_cap = "'max_tokens' is not supported with this model.";
    let temperature = "'temperature' is not supported with this model.";
    let replies = [cap, temperature, newer_cap, cap].map(refusal).to_vec();
    let (kinds, _) = bodies(replies, &whole_request()).await;
    assert_eq!(
        kinds,
        [ErrorKind::Dialect, ErrorKind::Dialect, ErrorKind::Dialect, ErrorKind::BadRequest]
    );
}

#[tokio::test]
async fn what_one_model_demands_another_is_spared() {
    let model = ModelServer::start().await;
    let words = "'temperature' is not supported with this model.";
    model.script([refusal(words), Reply::text("six"), refusal("temperature must be below 2")]);
    let transport = transport(&model, Wire::OpenAi);
    let mut other = whole_request();
    other.model = "other".to_owned();
    let error = transport.complete(&whole_request()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Dialect);
    transport.complete(&other).await.unwrap();
    let error = transport.complete(&other).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::BadRequest, "{error}");
    let hot: Vec<bool> =
        sent(&model).iter().map(|body| body.get("temperature").is_some()).collect();
    assert_eq!(hot, [true, true, true]);
}

/// BIND-08, KERN-03
#[tokio::test]
async fn a_chosen_model_is_called_at_its_address_in_its_form() {
    for (provider, cap) in [
        (Provider::OpenAi, "max_tokens"),
        (Provider::OpenAiCompatible, "max_tokens"),
        (Provider::Anthropic, "max_tokens"),
    ] {
        let model = ModelServer::start().await;
        model.require_key("sk-1234");
        model.script([Reply::text("six")]);
        let served = Served {
            provider,
            base_url: Some(model.url().trim_end_matches("/v1").parse().unwrap()),
            model: "scripted".to_owned(),
            key: Some("sk-1234\n".into()),
        };
        let endpoint = served.endpoint().unwrap();
        let transport = foundry_llm::Transport::new(endpoint, limits(), clock()).unwrap();
        let reply = transport.complete(&request("So?")).await.unwrap();
        assert_eq!(reply.text.as_deref(), Some("six"));
        assert_eq!(sent(&model)[0][cap], 8192);
        model.finish().unwrap();
    }
}
