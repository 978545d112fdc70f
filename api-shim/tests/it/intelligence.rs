//! The dead-letter queue of the intelligence service, from a stub of it.

use std::sync::{Arc, Mutex};

use axum::{Router, extract::Request, response::IntoResponse};
use http::{HeaderMap, StatusCode};
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use super::app::{SERVICE_TOKEN, TestApp};

/// What a request showed: path with query, and headers.
type Seen = Arc<Mutex<Vec<(String, HeaderMap)>>>;

/// An intelligence service that answers every request so.
async fn stub(
    status: StatusCode,
    body: impl Into<String>,
) -> (String, Seen, AbortOnDropHandle<()>) {
    let seen = Seen::default();
    let keep = seen.clone();
    let body = body.into();
    let router = Router::new().fallback(async move |request: Request| {
        let path = request.uri().to_string();
        keep.lock().unwrap().push((path, request.headers().clone()));
        (status, body.clone()).into_response()
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/base", listener.local_addr().unwrap());
    let serving = async move { axum::serve(listener, router).await.unwrap() };
    #[expect(clippy::disallowed_methods, reason = "ends with the test by its handle")]
    let handle = AbortOnDropHandle::new(tokio::spawn(serving));
    (url, seen, handle)
}

async fn app_at(url: &str) -> TestApp {
    let url = url.parse().unwrap();
    let app = TestApp::start_configured(|config| config.intelligence_url = Some(url)).await;
    app.create_run("mend", |_| {}).await;
    app
}

/// CODE-36, AUTHZ-06
#[tokio::test]
async fn a_coding_agent_reads_the_dead_letter_queue_as_its_owner() {
    let (url, seen, _serving) = stub(StatusCode::OK, r#"{"jobs": [{"id": "j-1"}]}"#).await;
    let app = app_at(&url).await;
    let pod = app.pod("mend").await.header("x-flow-on-behalf-of", "somebody-else");
    let path = "/v1/agents/mend/queue-errors?queue=derive%20all&limit=500";
    let answer = pod.get(path).await.expect(StatusCode::OK);
    assert_eq!(answer, json!({"jobs": [{"id": "j-1"}]}));
    let seen = seen.lock().unwrap();
    let (path, headers) = &seen[0];
    assert_eq!(path, "/base/v1/queue-errors?limit=100&queue=derive+all");
    assert_eq!(headers["x-flow-on-behalf-of"], "ann");
    assert_eq!(headers["authorization"], format!("Bearer {SERVICE_TOKEN}"));
}

/// CODE-36
#[tokio::test]
async fn only_the_process_of_an_agent_that_is_granted_the_tool_reads_the_queue() {
    let (url, seen, _serving) = stub(StatusCode::OK, "{}").await;
    let app = app_at(&url).await;
    app.create("scout").await;
    let scout = app.pod("scout").await;
    let refused = scout.get("/v1/agents/scout/queue-errors").await;
    assert_eq!(refused.problem(StatusCode::FORBIDDEN), "NotGranted");
    // A reader of the agent must not read as its owner.
    for caller in [app.ann(), app.person("sam", &["admin"])] {
        let refused = caller.get("/v1/agents/mend/queue-errors").await;
        assert_eq!(refused.problem(StatusCode::FORBIDDEN), "NotAllowed");
    }
    let pod = app.pod("mend").await;
    let long = format!("/v1/agents/mend/queue-errors?queue={}", "q".repeat(101));
    assert_eq!(pod.get(&long).await.expect(StatusCode::UNPROCESSABLE_ENTITY)["field"], "queue");
    assert_eq!(seen.lock().unwrap().len(), 0);
}

/// CODE-36, AUTHZ-06
#[tokio::test]
async fn what_the_service_refuses_the_owner_is_what_the_agent_gets() {
    let (url, _seen, _serving) = stub(StatusCode::FORBIDDEN, "ann may not see this queue").await;
    let app = app_at(&url).await;
    let pod = app.pod("mend").await;
    let refused = pod.get("/v1/agents/mend/queue-errors").await;
    let problem = refused.expect(StatusCode::FORBIDDEN);
    assert_eq!(problem["reason"], "RefusedUpstream");
    assert!(problem["detail"].as_str().unwrap().contains("ann may not see"), "{problem}");
    assert!(!refused.text.contains(SERVICE_TOKEN));
}

/// BIND-11, CODE-36
#[rstest]
#[case::a_refusal(StatusCode::FORBIDDEN, StatusCode::FORBIDDEN)]
#[case::a_failure(StatusCode::INTERNAL_SERVER_ERROR, StatusCode::SERVICE_UNAVAILABLE)]
#[case::an_answer(StatusCode::OK, StatusCode::OK)]
#[tokio::test]
async fn a_service_that_says_the_token_back_tells_it_to_no_agent(
    #[case] status: StatusCode,
    #[case] expected: StatusCode,
) {
    let echo = format!(r#"{{"headers": "authorization: Bearer {SERVICE_TOKEN}"}}"#);
    let (url, _seen, _serving) = stub(status, echo).await;
    let app = app_at(&url).await;
    let told = app.pod("mend").await.get("/v1/agents/mend/queue-errors").await;
    assert_eq!(told.status, expected);
    assert!(told.text.contains("Bearer [redacted]"), "{}", told.text);
    assert!(!told.text.contains(SERVICE_TOKEN), "{}", told.text);
}

/// AUTHZ-06
#[tokio::test]
async fn an_owner_whose_name_is_not_ascii_is_named_as_it_is() {
    let (url, seen, _serving) = stub(StatusCode::OK, "{}").await;
    let url = url.parse().unwrap();
    let app = TestApp::start_configured(|config| config.intelligence_url = Some(url)).await;
    app.create_run("mend", |spec| "jürgen".clone_into(&mut spec.owner)).await;
    let pod = app.pod("mend").await;
    pod.get("/v1/agents/mend/queue-errors").await.expect(StatusCode::OK);
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0].1["x-flow-on-behalf-of"].as_bytes(), "jürgen".as_bytes());
}

/// CODE-36
#[tokio::test]
async fn without_an_intelligence_service_the_answer_says_what_to_set() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let pod = app.pod("mend").await;
    let none = pod.get("/v1/agents/mend/queue-errors").await;
    assert_eq!(none.problem(StatusCode::SERVICE_UNAVAILABLE), "IntelligenceNotConfigured");
    assert!(none.text.contains("FOUNDRY_INTELLIGENCE_URL"), "{}", none.text);
    drop(app);

    let app = app_at("http://127.0.0.1:9").await;
    let pod = app.pod("mend").await;
    let away = pod.get("/v1/agents/mend/queue-errors").await;
    assert_eq!(away.problem(StatusCode::SERVICE_UNAVAILABLE), "IntelligenceUnavailable");
}
