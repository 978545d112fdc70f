use axum::body::Body;
use http::{Method, StatusCode};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::app::TestApp;

#[test]
fn the_checked_in_document_is_that_of_the_routes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");
    let checked_in = std::fs::read_to_string(path).unwrap();
    assert!(
        checked_in == foundry_api::openapi(),
        "api-shim/openapi.json is not that of the routes; run `cargo xtask generate`"
    );
}

#[tokio::test]
async fn health_and_metrics_are_open_and_readiness_names_what_is_missing() {
    let app = TestApp::start().await;
    assert_eq!(app.nobody().get("/livez").await.text, "ok");
    assert_eq!(app.nobody().get("/readyz").await.text, "ok");
    app.ann().get("/v1/tools").await.expect(StatusCode::OK);
    let metrics = app.nobody().get("/metrics").await.text;
    for line in [
        "foundry_api_requests_total{route=\"/v1/tools\",method=\"Get\",status=\"Success\"} 1",
        "foundry_api_decisions_total{action=\"ReadCatalog\",decision=\"Allowed\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    app.shutdown.cancel();
    let problem = app.nobody().get("/readyz").await.expect(StatusCode::SERVICE_UNAVAILABLE);
    assert!(problem["detail"].as_str().unwrap().starts_with("shutdown"), "{problem}");
}

#[tokio::test]
async fn a_store_that_is_gone_makes_the_api_unready_and_each_request_a_problem() {
    let app = TestApp::start().await;
    app.app.store.close().await;
    let problem = app.nobody().get("/readyz").await.expect(StatusCode::SERVICE_UNAVAILABLE);
    assert!(problem["detail"].as_str().unwrap().starts_with("store"), "{problem}");
    let tools = app.ann().get("/v1/tools").await;
    assert_eq!(tools.problem(StatusCode::SERVICE_UNAVAILABLE), "DatabaseUnreachable");
}

#[tokio::test]
async fn whatever_is_wrong_with_a_request_is_answered_with_a_problem() {
    let app = TestApp::start().await;
    let ann = app.ann();
    assert_eq!(ann.get("/v1/nothing").await.problem(StatusCode::NOT_FOUND), "NotFound");
    let method = ann.delete("/v1/tools").await;
    assert_eq!(method.problem(StatusCode::METHOD_NOT_ALLOWED), "MethodNotAllowed");
    let broken = ann.send(Method::POST, "/v1/agents", Body::from("{]")).await;
    assert_eq!(broken.problem(StatusCode::BAD_REQUEST), "Malformed");
    let query = ann.get("/v1/agents?limit=many").await;
    query.problem(StatusCode::UNPROCESSABLE_ENTITY);
    let long = json!({"name": "x".repeat(2 * 1024 * 1024), "harness_id": "agent-v1"});
    let long = ann.post("/v1/agents", &long).await;
    assert_eq!(long.problem(StatusCode::PAYLOAD_TOO_LARGE), "BodyTooLarge");
    // A path that is no name asks nothing of the API server.
    ann.get("/v1/agents/..%2f..%2fpods").await.problem(StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_request_keeps_the_id_its_caller_gave_and_gets_one_otherwise() {
    let app = TestApp::start().await;
    let given = app.nobody().header("x-request-id", "abc-1").get("/v1/me").await;
    assert_eq!(given.headers["x-request-id"], "abc-1");
    assert_eq!(given.json()["request_id"], "abc-1");
    let odd = app.nobody().header("x-request-id", "a b\"c").get("/v1/me").await;
    assert_ne!(odd.headers["x-request-id"], "a b\"c");
}
