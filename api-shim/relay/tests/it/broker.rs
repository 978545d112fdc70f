//! The broker that takes the shared service token and the agent's mailbox (BIND-04),
//! as a real HTTP server that keeps what it is sent.

use std::sync::Arc;

use fakes::model::{ModelServer, Reply};
use foundry_crds::model::Provider;
use foundry_crds::{Model, ModelSpec};
use foundry_relay::{Broker, CallerContext, Limits, Wire};
use http::{HeaderMap, HeaderValue, StatusCode};
use pretty_assertions::assert_eq;
use rstest::rstest;
use url::Url;

use crate::setup::{KEY, MAILBOX, NAMESPACE, Setup, caller, read, read_json, request, setup_of};

const TOKEN: &str = "broker-planted-0123456789-abcdef";
const ON_BEHALF_OF: &str = "x-flow-on-behalf-of";

/// A relay whose broker is this server, with the token in a file.
async fn with_broker(server: &ModelServer) -> Setup {
    let folder = tempfile::tempdir().unwrap();
    let token_file = folder.path().join("token");
    std::fs::write(&token_file, format!("{TOKEN}\n")).unwrap();
    let broker = Broker { url: server.url().parse::<Url>().unwrap(), token_file };
    let mut setup = setup_of(Limits::default(), Some(broker)).await;
    setup.folders.push(folder);
    setup
}

/// Adds a Model without a key.
fn keyless(setup: &Setup, wire_id: &str, provider: Provider, base_url: &str) {
    let spec = ModelSpec {
        wire_id: wire_id.into(),
        provider,
        upstream_model: None,
        base_url: Some(base_url.into()),
        api_key: None,
        max_context_tokens: None,
        reasoning_efforts: Vec::new(),
        prices: None,
    };
    setup.cluster.models.lock().unwrap().push(Arc::new(Model::new(wire_id, spec)));
}

/// A caller's attempt to say itself whose usage this is.
fn forged() -> HeaderMap {
    let pair = |name: &'static str, value: &'static str| {
        (name.parse::<http::HeaderName>().unwrap(), HeaderValue::from_static(value))
    };
    HeaderMap::from_iter([
        pair(ON_BEHALF_OF, "bob@dev-ai.example"),
        pair("authorization", "Bearer of-the-pod"),
        pair("x-api-key", "of-the-pod"),
    ])
}

/// BIND-04
#[rstest]
#[case::openai(Wire::OpenAi, Provider::OpenAiCompatible)]
#[case::anthropic(Wire::Anthropic, Provider::Anthropic)]
#[tokio::test]
async fn the_broker_sees_the_service_token_as_bearer_and_the_agents_mailbox(
    #[case] wire: Wire,
    #[case] provider: Provider,
) {
    let server = ModelServer::start().await;
    server.script([Reply::text("Fine.")]);
    let setup = with_broker(&server).await;
    keyless(&setup, "house", provider, &server.url());
    let answer = setup.forward_with(wire, &forged(), request(wire, "house", false)).await;
    let (status, body) = read(answer).await;
    assert_eq!(status, StatusCode::OK, "{:?}", String::from_utf8(body.unwrap()));

    let sent = &server.requests()[0];
    assert_eq!(sent.header("authorization"), Some(&*format!("Bearer {TOKEN}")));
    assert_eq!(sent.header(ON_BEHALF_OF), Some(MAILBOX));
    assert_eq!(sent.header("x-api-key"), None);
    assert_eq!(setup.settled_usage().await.mailbox.as_deref(), Some(MAILBOX));
}

/// BIND-04, BIND-11
#[tokio::test]
async fn the_token_goes_to_the_brokers_origin_alone_and_to_no_model_with_a_key_of_its_own() {
    let broker = ModelServer::start().await;
    let other = ModelServer::start().await;
    broker.script([Reply::text("Fine.")]);
    other.script([Reply::text("Fine.")]);
    let setup = with_broker(&broker).await;
    // Another port of the same host is another origin.
    keyless(&setup, "elsewhere", Provider::OpenAiCompatible, &other.url());
    setup.model("keyed", Provider::OpenAiCompatible, &broker.url());
    for model in ["elsewhere", "keyed"] {
        let body = request(Wire::OpenAi, model, false);
        let answer = setup.forward_with(Wire::OpenAi, &forged(), body).await;
        assert_eq!(read(answer).await.0, StatusCode::OK, "{model}");
    }
    let elsewhere = &other.requests()[0];
    assert_eq!((elsewhere.header("authorization"), elsewhere.header(ON_BEHALF_OF)), (None, None));
    let keyed = &broker.requests()[0];
    assert_eq!(keyed.header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!(keyed.header(ON_BEHALF_OF), None);
}

/// BIND-04
#[tokio::test]
async fn a_rotated_token_is_used_at_the_next_call_and_a_missing_one_is_told_without_a_call() {
    let server = ModelServer::start().await;
    server.script([Reply::text("Fine."), Reply::text("Fine.")]);
    let setup = with_broker(&server).await;
    keyless(&setup, "house", Provider::OpenAiCompatible, &server.url());
    let file = setup.folders[0].path().join("token");
    let call = || setup.forward(Wire::OpenAi, request(Wire::OpenAi, "house", false));
    assert_eq!(read(call().await).await.0, StatusCode::OK);
    std::fs::write(&file, "rotated").unwrap();
    assert_eq!(read(call().await).await.0, StatusCode::OK);
    for broken in [Some(""), Some("two\nlines"), None] {
        match broken {
            Some(text) => std::fs::write(&file, text).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        let (status, body) = read_json(call().await).await;
        assert_eq!(
            (status.as_u16(), body["reason"].as_str()),
            (503, Some("BrokerTokenUnreadable"))
        );
        assert!(body["remedy"].as_str().unwrap().contains("FOUNDRY_BROKER_TOKEN_FILE"), "{body}");
    }
    let tokens = server.requests();
    let tokens = tokens.iter().map(|sent| sent.key().unwrap()).collect::<Vec<_>>();
    assert_eq!(tokens, [TOKEN, "rotated"]);
}

/// BIND-04
#[tokio::test]
async fn an_agent_without_a_mailbox_does_not_call_the_broker_as_nobody() {
    let server = ModelServer::start().await;
    let setup = with_broker(&server).await;
    keyless(&setup, "house", Provider::OpenAiCompatible, &server.url());
    let nobody = CallerContext { mailbox: None, ..caller(NAMESPACE) };
    let body = request(Wire::OpenAi, "house", false).into();
    let answer = setup.relay.forward(nobody, Wire::OpenAi, &HeaderMap::new(), body).await;
    let (status, body) = read_json(answer).await;
    assert_eq!((status.as_u16(), body["reason"].as_str()), (503, Some("NoMailbox")));
    assert_eq!(server.requests().len(), 0);
}

/// BIND-11
#[tokio::test]
async fn a_broker_that_says_the_token_back_is_struck_out() {
    let server = ModelServer::start().await;
    server.script([Reply::failure(401, "invalid_api_key", format!("no such token: {TOKEN}"))]);
    let setup = with_broker(&server).await;
    keyless(&setup, "house", Provider::OpenAiCompatible, &server.url());
    let answer = setup.forward(Wire::OpenAi, request(Wire::OpenAi, "house", false)).await;
    let (status, body) = read(answer).await;
    let text = String::from_utf8(body.unwrap()).unwrap();
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert!(text.contains("no such token") && !text.contains(TOKEN), "{text}");
}
