//! The repository scope of agents that people make.

use http::StatusCode;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::app::TestApp;

fn scope() -> Value {
    json!({
        "remote": "ssh://git@git.example/acme/greeting.git", "base_ref": "next",
        "default_ref": "main", "paths": ["docs"], "extra_commands": ["bazel"],
        "approval": "self", "turns_per_attempt": 20, "wall_clock_seconds": 600,
    })
}

fn coder(id: &str) -> Value {
    json!({"name": id, "id": id, "harness_id": "coding-v1", "repository": scope()})
}

/// CODE-09
#[tokio::test]
async fn a_scope_is_kept_read_back_and_replaced_as_a_whole() {
    let app = TestApp::start().await;
    app.cluster.create_coding_harness().await;
    let made = app.ann().post("/v1/agents", &coder("dev")).await.expect(StatusCode::CREATED);
    assert_eq!(made["repository"], scope());
    app.until_listed("dev").await;
    let bare = json!({"remote": "git@git.example:acme/other.git"});
    let edit = json!({"repository": bare});
    let edited = app.ann().patch("/v1/agents/dev", &edit).await.expect(StatusCode::OK);
    let expected = json!({
        "remote": "git@git.example:acme/other.git", "approval": "person",
        "turns_per_attempt": 60, "wall_clock_seconds": 1800,
    });
    assert_eq!(edited["repository"], expected);
    let read = app.ann().get("/v1/agents/dev").await.expect(StatusCode::OK);
    assert_eq!(read["repository"], expected);
}

/// CODE-31
#[tokio::test]
async fn a_service_in_an_agents_name_does_not_let_an_agent_approve_its_own_plans() {
    let app = TestApp::start().await;
    app.cluster.create_coding_harness().await;
    let mut asks = coder("dev");
    asks["repository"]["approval"] = json!("person");
    app.ann().post("/v1/agents", &asks).await.expect(StatusCode::CREATED);
    app.until_listed("dev").await;
    let service = app.service(Some("dev"));
    let edit = json!({"repository": scope()});
    let refused = service.patch("/v1/agents/dev", &edit).await.expect(StatusCode::FORBIDDEN);
    assert_eq!(
        (&refused["reason"], &refused["field"]),
        (&json!("NotAPerson"), &json!("repository.approval"))
    );
    let refused = service.post("/v1/agents", &coder("other")).await;
    assert_eq!(refused.problem(StatusCode::FORBIDDEN), "NotAPerson");
    assert!(app.cluster.agents().get_opt("other").await.unwrap().is_none());

    app.ann().patch("/v1/agents/dev", &edit).await.expect(StatusCode::OK);
    service.patch("/v1/agents/dev", &edit).await.expect(StatusCode::OK);
}

/// CODE-09
#[tokio::test]
async fn a_scope_is_refused_where_the_harness_works_on_no_repository() {
    let app = TestApp::start().await;
    app.cluster.create_coding_harness().await;
    let mut body = coder("dev");
    body["harness_id"] = json!("agent-v1");
    let refused = app.ann().post("/v1/agents", &body).await;
    let problem = refused.expect(StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(
        (&problem["reason"], &problem["field"]),
        (&json!("RepositoryNotAllowed"), &json!("repository"))
    );
    assert!(app.cluster.agents().get_opt("dev").await.unwrap().is_none());
    app.create("scout").await;
    let edit = json!({"repository": scope()});
    let refused = app.ann().patch("/v1/agents/scout", &edit).await;
    assert_eq!(refused.problem(StatusCode::UNPROCESSABLE_ENTITY), "RepositoryNotAllowed");
    assert_eq!(app.cluster.agent("scout").await.spec.repository, None);
}

/// CODE-38
#[tokio::test]
async fn a_persistent_coding_agent_is_not_on_demand() {
    let app = TestApp::start().await;
    app.cluster.create_coding_harness().await;
    let mut body = coder("dev");
    body["activation"] = json!("on_demand");
    let refused = app.ann().post("/v1/agents", &body).await;
    let problem = refused.expect(StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(
        (&problem["reason"], &problem["field"]),
        (&json!("CodingOnDemand"), &json!("activation"))
    );
    body["repository"] = Value::Null;
    let refused = app.ann().post("/v1/agents", &body).await;
    assert_eq!(refused.problem(StatusCode::UNPROCESSABLE_ENTITY), "CodingOnDemand");
    assert!(app.cluster.agents().get_opt("dev").await.unwrap().is_none());

    app.ann().post("/v1/agents", &coder("dev")).await.expect(StatusCode::CREATED);
    app.until_listed("dev").await;
    let edit = json!({"activation": "on_demand"});
    let refused = app.ann().patch("/v1/agents/dev", &edit).await;
    assert_eq!(refused.problem(StatusCode::UNPROCESSABLE_ENTITY), "CodingOnDemand");
    let on_demand = json!({
        "name": "Call me", "id": "call", "harness_id": "agent-v1", "activation": "on_demand",
    });
    app.ann().post("/v1/agents", &on_demand).await.expect(StatusCode::CREATED);
    app.until_listed("call").await;
    let edit = json!({"harness_id": "coding-v1"});
    let refused = app.ann().patch("/v1/agents/call", &edit).await;
    assert_eq!(refused.problem(StatusCode::UNPROCESSABLE_ENTITY), "CodingOnDemand");
}

/// CODE-09
#[tokio::test]
async fn a_remote_that_git_must_not_be_given_is_refused_by_admission_with_its_field() {
    let app = TestApp::start().await;
    app.cluster.create_coding_harness().await;
    for (field, value) in [
        ("remote", json!("https://git.example/acme/greeting")),
        ("base_ref", json!("--upload-pack=x")),
        ("paths", json!(["../other"])),
    ] {
        let mut body = coder("dev");
        body["repository"][field] = value;
        let refused = app.ann().post("/v1/agents", &body).await;
        let problem = refused.expect(StatusCode::UNPROCESSABLE_ENTITY);
        let named = problem["field"].as_str().unwrap();
        assert!(named.starts_with(&format!("repository.{field}")), "{problem}");
    }
}
