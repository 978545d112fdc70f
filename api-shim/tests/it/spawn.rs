//! Coding runs that agents spawn, and who reads runs.

use std::time::Duration;

use http::StatusCode;
use kube::api::ListParams;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::app::TestApp;

const SPAWN: &str = "/v1/agents/lead/coding-agents";

fn request() -> Value {
    json!({"task": "Mend the greeting.", "remote": "git@git.example:acme/greeting.git"})
}

/// An application with an agent of ann's that is granted to spawn.
async fn with_lead() -> TestApp {
    let app = TestApp::start().await;
    app.cluster.create_coding_harness().await;
    app.create("lead").await;
    app.cluster.merge_spec("lead", json!({"tools": ["spawn_coding_agent"]})).await;
    testenv::eventually("the grant counts", Duration::from_secs(10), || async {
        let agent = app.app.cluster.agents.get(&app.namespace.name, "lead").unwrap();
        if agent.spec.tools.is_empty() { Err("not yet") } else { Ok(()) }
    })
    .await;
    app
}

async fn runs(app: &TestApp) -> Vec<foundry_crds::CodingRun> {
    app.cluster.coding_runs().list(&ListParams::default()).await.unwrap().items
}

/// ROUTE-14
#[tokio::test]
async fn an_agent_spawns_one_coding_run_that_acts_as_its_owner() {
    let app = with_lead().await;
    let pod = app.pod("lead").await;
    let mut body = request();
    body["base_ref"] = json!("next");
    body["idempotency_key"] = json!("task-1");
    let view = pod.post(SPAWN, &body).await.expect(StatusCode::CREATED);
    let id = view["id"].as_str().unwrap();
    assert!(id.starts_with("lead-"), "{id}");
    assert_eq!((&view["owner"], &view["parent_agent_id"]), (&json!("ann"), &json!("lead")));
    assert_eq!((&view["harness_id"], &view["phase"]), (&json!("coding-v1"), &Value::Null));
    assert_eq!(view["repository"]["approval"], "self");

    let made = runs(&app).await;
    assert_eq!(made.len(), 1);
    let spec = &made[0].spec;
    assert_eq!((spec.owner.as_str(), spec.agent.as_deref()), ("ann", Some("lead")));
    assert_eq!(spec.task, "Mend the greeting.");
    assert_eq!(spec.repository.remote, "git@git.example:acme/greeting.git");
    assert_eq!(spec.repository.base_ref.as_deref(), Some("next"));
    let agents = app.cluster.agents().list(&ListParams::default()).await.unwrap().items;
    assert_eq!(agents.len(), 1, "its agent is the operator's to make");

    let again = pod.post(SPAWN, &body).await.expect(StatusCode::CREATED);
    assert_eq!(again["id"], view["id"], "the same key gives the same run");
    body["task"] = json!("Something else.");
    let reused = pod.post(SPAWN, &body).await;
    assert_eq!(reused.problem(StatusCode::CONFLICT), "KeyReused");
    assert_eq!(runs(&app).await.len(), 1);
    pod.post(SPAWN, &request()).await.expect(StatusCode::CREATED);
    pod.post(SPAWN, &request()).await.expect(StatusCode::CREATED);
    assert_eq!(runs(&app).await.len(), 3, "without a key each is another");
}

/// ROUTE-15
#[tokio::test]
async fn a_harness_that_does_not_code_is_422_an_unknown_one_404_and_neither_makes_anything() {
    let app = with_lead().await;
    for caller in [app.pod("lead").await, app.ann()] {
        let mut body = request();
        body["harness_id"] = json!("agent-v1");
        let refused = caller.post(SPAWN, &body).await;
        let problem = refused.expect(StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(problem["reason"], "NoRepositoryScope");
        assert_eq!(problem["field"], "harness_id");
        body["harness_id"] = json!("nope");
        assert_eq!(caller.post(SPAWN, &body).await.problem(StatusCode::NOT_FOUND), "NotFound");
    }
    assert_eq!(runs(&app).await.len(), 0);
    let agents = app.cluster.agents().list(&ListParams::default()).await.unwrap().items;
    assert_eq!(agents.len(), 1);
}

/// ROUTE-14
#[tokio::test]
async fn a_spawn_that_does_not_fit_is_refused_with_the_callers_own_field() {
    let app = with_lead().await;
    let pod = app.pod("lead").await;
    for (name, value, field) in [
        ("task", json!(" "), "task"),
        ("task", json!("x".repeat(65_537)), "task"),
        ("remote", json!("https://git.example/acme/greeting"), "remote"),
        ("remote", json!("-oProxyCommand=sh"), "remote"),
        ("base_ref", json!("--upload-pack=x"), "base_ref"),
        ("idempotency_key", json!(""), "idempotency_key"),
        ("colour", json!("red"), "colour"),
    ] {
        let mut body = request();
        body[name] = value;
        let problem = pod.post(SPAWN, &body).await.expect(StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(problem["field"], field, "{problem}");
    }
    assert_eq!(runs(&app).await.len(), 0);
}

/// ROUTE-14, CODE-37
#[tokio::test]
async fn a_pod_spawns_only_when_its_agent_is_always_on_and_granted() {
    let app = with_lead().await;
    let pod = app.pod("lead").await;
    for change in [json!({"tools": []}), json!({"activation": "onDemand"})] {
        let grant = json!({"tools": ["spawn_coding_agent"], "activation": "alwaysOn"});
        app.cluster.merge_spec("lead", grant).await;
        app.cluster.merge_spec("lead", change.clone()).await;
        testenv::eventually("the change counts", Duration::from_secs(10), || async {
            let refused = pod.post(SPAWN, &request()).await;
            if refused.status == StatusCode::FORBIDDEN {
                Ok(refused.problem(StatusCode::FORBIDDEN))
            } else {
                Err(refused.text)
            }
        })
        .await;
    }
    let before = runs(&app).await.len();
    let refused = pod.post(SPAWN, &request()).await;
    assert_eq!(refused.problem(StatusCode::FORBIDDEN), "NotGranted");
    assert_eq!(runs(&app).await.len(), before);
}

/// ROUTE-14, AUTHZ-05
#[tokio::test]
async fn a_person_spawns_for_an_agent_that_they_may_edit() {
    let app = with_lead().await;
    app.person("sam", &["member"]).post(SPAWN, &request()).await.problem(StatusCode::FORBIDDEN);
    app.person("sam", &["admin"]).post(SPAWN, &request()).await.problem(StatusCode::FORBIDDEN);
    assert_eq!(runs(&app).await.len(), 0);
    app.ann().post(SPAWN, &request()).await.expect(StatusCode::CREATED);
    let archived = json!({"lifecycle": "archive"});
    app.cluster.merge_spec("lead", archived).await;
    testenv::eventually("an archived agent spawns nothing", Duration::from_secs(10), || async {
        let refused = app.ann().post(SPAWN, &request()).await;
        if refused.status == StatusCode::CONFLICT { Ok(()) } else { Err(refused.text) }
    })
    .await;
}

/// AUTHZ-02
#[tokio::test]
async fn runs_are_read_by_the_members_of_the_agent_at_the_top_else_by_their_owner() {
    let app = with_lead().await;
    let viewer = json!({"members": [{"subject": "vic", "role": "viewer"}]});
    app.cluster.merge_spec("lead", viewer).await;
    app.create_run("spawned", |spec| spec.agent = Some("lead".into())).await;
    app.create_run("applied", |_| {}).await;
    testenv::eventually("both are listed", Duration::from_secs(10), || async {
        let page = app.ann().get("/v1/coding-runs").await.expect(StatusCode::OK);
        let vics = app.person("vic", &["viewer"]).get("/v1/coding-runs").await;
        let vics = vics.expect(StatusCode::OK)["items"].as_array().unwrap().len();
        let count = page["items"].as_array().unwrap().len();
        if (count, vics) == (2, 1) { Ok(()) } else { Err(format!("{count} {vics}")) }
    })
    .await;
    let pod = app.pod("lead").await;
    for (who, caller, spawned, applied) in [
        ("the owner", app.ann(), 200, 200),
        ("a viewer of the top agent", app.person("vic", &["viewer"]), 200, 403),
        ("an administrator", app.person("sam", &["admin"]), 200, 200),
        ("a stranger", app.person("sam", &["member"]), 403, 403),
        ("the agent that spawned it", pod.clone(), 200, 403),
    ] {
        for (run, expected) in [("spawned", spawned), ("applied", applied)] {
            let read = caller.get(&format!("/v1/coding-runs/{run}")).await;
            assert_eq!(read.status.as_u16(), expected, "{who} reads {run}: {}", read.text);
        }
    }
    let own = pod.get("/v1/coding-runs").await.expect(StatusCode::OK);
    assert_eq!(own["items"][0]["id"], "spawned");
    assert_eq!(own["items"].as_array().unwrap().len(), 1);

    let first = app.ann().get("/v1/coding-runs?limit=1").await.expect(StatusCode::OK);
    assert_eq!(first["items"][0]["id"], "applied");
    let next = first["next_cursor"].as_str().unwrap();
    let second = app.ann().get(&format!("/v1/coding-runs?cursor={next}")).await;
    let second = second.expect(StatusCode::OK);
    assert_eq!(
        (&second["items"][0]["id"], &second["next_cursor"]),
        (&json!("spawned"), &Value::Null)
    );
    app.ann().get("/v1/coding-runs/none").await.problem(StatusCode::NOT_FOUND);
}
