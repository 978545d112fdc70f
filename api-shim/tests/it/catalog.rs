use std::time::Duration;

use foundry_crds::model::Provider;
use http::StatusCode;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::app::TestApp;

/// ROUTE-17
#[tokio::test]
async fn every_tool_has_a_name_a_description_and_a_schema() {
    let app = TestApp::start().await;
    let tools = app.ann().get("/v1/tools").await.expect(StatusCode::OK);
    let tools = tools["items"].as_array().unwrap();
    for tool in tools {
        assert!(!tool["name"].as_str().unwrap().is_empty());
        assert!(!tool["description"].as_str().unwrap().is_empty(), "{tool}");
        assert_eq!(tool["input_schema"]["type"], "object", "{tool}");
    }
    let names = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>();
    assert!(names.contains(&"remember") && names.contains(&"recall"), "{names:?}");
}

/// BIND-07
#[tokio::test]
async fn models_are_a_catalog_with_what_each_takes() {
    let app = TestApp::start().await;
    app.cluster.create_model("gpt-5-mini", Provider::OpenAi, "http://127.0.0.1:9/v1").await;
    app.cluster.create_model("local", Provider::OpenAiCompatible, "http://127.0.0.1:9/v1").await;
    let models = testenv::eventually("both are listed", Duration::from_secs(10), || async {
        let models = app.ann().get("/v1/models").await.expect(StatusCode::OK)["items"].clone();
        if models.as_array().unwrap().len() == 2 { Ok(models) } else { Err(models.to_string()) }
    })
    .await;
    assert_eq!(
        models[0],
        json!({
            "name": "gpt-5-mini", "wire_id": "gpt-5-mini", "provider": "openai",
            "is_auto": true, "max_context_tokens": 128_000, "reasoning_efforts": ["low"],
            "ready": false, "reason": "NotChecked",
        })
    );
    assert_eq!(
        (&models[1]["is_auto"], &models[1]["provider"]),
        (&json!(false), &json!("openai_compatible"))
    );
}

#[tokio::test]
async fn a_harness_says_what_it_can_do_and_me_says_who_asks() {
    let app = TestApp::start().await;
    let harness = app.ann().get("/v1/harnesses/agent-v1").await.expect(StatusCode::OK);
    assert_eq!(harness["always_granted"], json!(["remember", "recall"]));
    app.ann().get("/v1/harnesses/none").await.problem(StatusCode::NOT_FOUND);
    let me = app.ann().get("/v1/me").await.expect(StatusCode::OK);
    assert_eq!(
        me,
        json!({
            "subject": "ann", "workspace": app.namespace.name,
            "roles": ["member"], "actor": "person",
        })
    );
}
