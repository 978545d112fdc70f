use axum::body::Body;
use http::{Method, StatusCode};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::app::TestApp;

/// Method and path of every route in the document, parameters filled in.
fn routes() -> Vec<(Method, String, bool)> {
    let document: Value = serde_json::from_str(&foundry_api::openapi()).unwrap();
    let mut routes = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let Ok(method) = method.to_uppercase().parse::<Method>() else { continue };
            if !["GET", "POST", "PATCH", "DELETE", "PUT"].contains(&method.as_str()) {
                continue;
            }
            let open = operation["security"] == json!([{}]);
            let mut path = path.replace("{id}", "scout");
            for parameter in ["{memory_id}", "{document_id}", "{question_id}"] {
                path = path.replace(parameter, "x");
            }
            routes.push((method, path, open));
        }
    }
    assert!(routes.len() > 36, "{routes:?}");
    routes
}

/// AUTHZ-03
#[tokio::test]
async fn every_route_refuses_a_caller_without_a_credential() {
    let app = TestApp::start().await;
    app.create("scout").await;
    for (method, path, open) in routes() {
        let answer = app.nobody().send(method.clone(), &path, Body::empty()).await;
        if open {
            assert_eq!(answer.status, StatusCode::OK, "{method} {path}");
        } else {
            assert_eq!(answer.problem(StatusCode::UNAUTHORIZED), "Unauthenticated");
        }
    }
}

/// AUTHZ-03
#[tokio::test]
async fn every_route_of_an_agent_refuses_another_agents_pod_before_it_reads_a_body() {
    let app = TestApp::start().await;
    app.create("scout").await;
    app.create("other").await;
    let other = app.pod("other").await;
    let before = app.cluster.agent("scout").await;
    for (method, path, _) in routes() {
        if path.starts_with("/v1/agents/scout") {
            let answer = other.send(method.clone(), &path, Body::from("{]")).await;
            assert_eq!(answer.problem(StatusCode::FORBIDDEN), "NotAllowed", "{method} {path}");
        }
    }
    let after = app.cluster.agent("scout").await;
    assert_eq!(before.metadata.resource_version, after.metadata.resource_version);
}

/// AUTHZ-03, AUTHZ-05
#[tokio::test]
async fn roles_differ_on_the_same_agent() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let members = json!({"members": [
        {"subject": "eve", "role": "editor"}, {"subject": "vic", "role": "viewer"},
    ]});
    app.cluster.merge_spec("scout", members).await;
    testenv::eventually("the members count", std::time::Duration::from_secs(10), || async {
        let status = app.person("vic", &["member"]).get("/v1/agents/scout").await.status;
        if status == StatusCode::OK { Ok(()) } else { Err(status.to_string()) }
    })
    .await;

    let edit = json!({"instructions": "x"});
    for (subject, roles, read, write) in [
        ("ann", &["member"][..], StatusCode::OK, StatusCode::OK),
        ("eve", &["member"], StatusCode::OK, StatusCode::OK),
        ("vic", &["member"], StatusCode::OK, StatusCode::FORBIDDEN),
        ("sam", &["member"], StatusCode::FORBIDDEN, StatusCode::FORBIDDEN),
        ("sam", &["admin"], StatusCode::OK, StatusCode::FORBIDDEN),
        ("ann", &["viewer"], StatusCode::OK, StatusCode::FORBIDDEN),
        ("ann", &[], StatusCode::FORBIDDEN, StatusCode::FORBIDDEN),
    ] {
        let caller = app.person(subject, roles);
        assert_eq!(caller.get("/v1/agents/scout").await.status, read, "{subject} {roles:?}");
        let written = caller.patch("/v1/agents/scout", &edit).await.status;
        assert_eq!(written, write, "{subject} {roles:?}");
    }
}
