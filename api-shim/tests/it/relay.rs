use std::time::Duration;

use fakes::model::{ModelServer, Reply};
use foundry_crds::model::Provider;
use http::StatusCode;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::app::TestApp;

const PROVIDER_KEY: &str = "sk-planted-4f1d9a";

async fn app_with_models(model: &ModelServer) -> TestApp {
    let app = TestApp::start().await;
    app.cluster.create_secret("provider", "apiKey", PROVIDER_KEY).await;
    app.cluster.create_model("gpt-5-mini", Provider::OpenAi, &model.url()).await;
    app.cluster.create_model("claude", Provider::Anthropic, &model.url()).await;
    app.create("scout").await;
    testenv::eventually("both models are listed", Duration::from_secs(10), || async {
        let models = app.ann().get("/v1/models").await.expect(StatusCode::OK);
        let count = models["items"].as_array().unwrap().len();
        if count == 2 { Ok(()) } else { Err(count.to_string()) }
    })
    .await;
    app
}

fn openai(model: &str) -> Value {
    json!({"model": model, "messages": [{"role": "user", "content": "hello"}]})
}

/// ROUTE-19, BIND-02, BIND-11
#[tokio::test]
async fn a_pods_call_is_forwarded_with_the_providers_key_and_metered_to_its_agent() {
    let model = ModelServer::start().await;
    model.script([Reply::text("good day"), Reply::text("good evening")]);
    let app = app_with_models(&model).await;
    let pod = app.pod("scout").await;

    let answer = pod.post("/v1/relay/chat/completions", &openai("auto")).await;
    let answer_text = answer.text.clone();
    assert_eq!(answer.expect(StatusCode::OK)["choices"][0]["message"]["content"], "good day");
    let anthropic = json!({
        "model": "claude", "max_tokens": 100,
        "messages": [{"role": "user", "content": "hello"}],
    });
    let other = pod.post("/v1/relay/messages", &anthropic).await;
    assert_eq!(other.expect(StatusCode::OK)["content"][0]["text"], "good evening");

    let requests = model.requests();
    assert_eq!(requests[0].key(), Some(PROVIDER_KEY));
    assert_eq!(requests[0].model(), "gpt-5-mini");
    assert!(!answer_text.contains(PROVIDER_KEY) && !other.text.contains(PROVIDER_KEY));
    let usage = app.ann().get("/v1/agents/scout/usage").await.expect(StatusCode::OK);
    assert_eq!(usage["calls"], 2);
    model.finish().unwrap();
}

/// ROUTE-19
#[tokio::test]
async fn a_providers_refusal_passes_as_it_is() {
    let model = ModelServer::start().await;
    model.script([Reply::failure(429, "rate_limit_exceeded", "slow down, please")]);
    let app = app_with_models(&model).await;
    let pod = app.pod("scout").await;
    let refused = pod.post("/v1/relay/chat/completions", &openai("auto")).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(refused.text.contains("slow down, please"), "{}", refused.text);
}

/// ROUTE-19, AUTHZ-03
#[tokio::test]
async fn a_person_calls_a_model_only_for_an_agent_they_may_change() {
    let model = ModelServer::start().await;
    model.script([Reply::text("good day")]);
    let app = app_with_models(&model).await;
    let nameless = app.ann().post("/v1/relay/chat/completions", &openai("auto")).await;
    assert_eq!(nameless.problem(StatusCode::UNPROCESSABLE_ENTITY), "NoAgent");
    let stranger = app.person("sam", &["member"]).header("x-flow-agent-id", "scout");
    let refused = stranger.post("/v1/relay/chat/completions", &openai("auto")).await;
    refused.problem(StatusCode::FORBIDDEN);
    let ann = app.ann().header("x-flow-agent-id", "scout");
    ann.post("/v1/relay/chat/completions", &openai("auto")).await.expect(StatusCode::OK);
    let unknown = ann.post("/v1/relay/chat/completions", &openai("gpt-0")).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND, "{}", unknown.text);
}

/// BIND-04
#[tokio::test]
async fn a_coding_agents_call_reaches_the_broker_with_the_service_token_and_its_mailbox() {
    const TOKEN: &str = "broker-planted-77c1";
    let model = ModelServer::start().await;
    model.script([Reply::text("good day")]);
    let url = model.url().parse().unwrap();
    let app = TestApp::start_configured(|config| {
        let file = config.data_dir.join("broker token");
        std::fs::write(&file, TOKEN).unwrap();
        config.broker_url = Some(url);
        config.broker_token_file = Some(file);
    })
    .await;
    app.create_run("mend", |_| {}).await;
    app.cluster.create_keyless_model("gpt-5-mini", Provider::OpenAi, &model.url()).await;
    testenv::eventually("the model is listed", Duration::from_secs(10), || async {
        let models = app.ann().get("/v1/models").await.expect(StatusCode::OK);
        let count = models["items"].as_array().unwrap().len();
        if count == 1 { Ok(()) } else { Err(count.to_string()) }
    })
    .await;
    let pod = app.pod("mend").await.header("x-flow-on-behalf-of", "bob@dev-ai.flow.life");
    let answer = pod.post("/v1/relay/chat/completions", &openai("auto")).await;
    answer.expect(StatusCode::OK);
    let sent = &model.requests()[0];
    assert_eq!(sent.header("authorization"), Some(&*format!("Bearer {TOKEN}")));
    assert_eq!(sent.header("x-flow-on-behalf-of"), Some("mend@dev-ai.flow.life"));
    assert!(!answer.text.contains(TOKEN), "the pod never sees it");
    let usage = app.app.store.usage_totals_of_mailbox("mend@dev-ai.flow.life").await.unwrap();
    assert_eq!(usage.calls, 1);
}
