use std::time::Duration;

use fakes::issuer::TokenRequest;
use http::StatusCode;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::app::{As, TestApp};

async fn me(caller: &As<'_>) -> Value {
    caller.get("/v1/me").await.expect(StatusCode::OK)
}

/// AUTHZ-01
#[tokio::test]
async fn a_pods_token_makes_it_its_agent_acting_as_the_owner_whatever_its_label_says() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let expected = json!({
        "subject": "ann", "workspace": app.namespace.name, "roles": ["agent"], "actor": "agent",
    });
    assert_eq!(me(&app.pod("scout").await).await, expected);

    let deployed = app.cluster.create_deployed_pod("scout").await;
    let deployed = app.bearer(&app.cluster.token_of_pod(&deployed).await);
    assert_eq!(me(&deployed).await, expected);
    let own = deployed.get("/v1/agents/scout/inbox?wait_seconds=0").await;
    own.expect(StatusCode::OK);
}

#[tokio::test]
async fn a_pod_is_refused_every_agent_that_is_not_its_own() {
    let app = TestApp::start().await;
    app.create("scout").await;
    app.create("other").await;
    let pod = app.pod("scout").await;
    for path in ["", "/inbox?wait_seconds=0", "/logs", "/memories", "/thoughts"] {
        let refused = pod.get(&format!("/v1/agents/other{path}")).await;
        assert_eq!(refused.problem(StatusCode::FORBIDDEN), "NotAllowed");
    }
    let list = pod.get("/v1/agents").await.expect(StatusCode::OK);
    let ids = list["items"].as_array().unwrap().iter().map(|a| &a["id"]).collect::<Vec<_>>();
    assert_eq!(ids, ["scout"]);
}

#[tokio::test]
async fn a_token_that_is_not_exactly_a_harness_pods_is_refused() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let pod = app.cluster.create_local_pod("scout").await;
    let bound = || {
        Some(k8s_openapi::api::authentication::v1::BoundObjectReference {
            api_version: Some("v1".into()),
            kind: Some("Pod".into()),
            name: pod.metadata.name.clone(),
            uid: pod.metadata.uid.clone(),
        })
    };
    let audience = "https://kubernetes.default.svc";
    for (token, why) in [
        (app.cluster.token("foundry-harness", "foundry-api", None).await, "not bound to a pod"),
        (app.cluster.token("default", "foundry-api", None).await, "not of a harness"),
        (app.cluster.token("foundry-harness", audience, bound()).await, "not known"),
        ("a.b.c".to_owned(), "not known"),
        ("opaque".to_owned(), "not known"),
    ] {
        let refused = app.bearer(&token).get("/v1/me").await;
        let problem = refused.expect(StatusCode::UNAUTHORIZED);
        assert!(problem["detail"].as_str().unwrap().contains(why), "{why}: {problem}");
        assert_eq!(refused.headers["www-authenticate"], "Bearer realm=\"foundry\"");
        // BIND-11
        assert!(!refused.text.contains(&token) || token == "opaque");
    }
}

#[tokio::test]
async fn the_token_of_a_deleted_pod_is_dead_within_thirty_seconds() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let pod = app.cluster.create_local_pod("scout").await;
    let caller = app.bearer(&app.cluster.token_of_pod(&pod).await);
    me(&caller).await;
    app.cluster.delete_pod(&pod).await;
    testenv::eventually("the token is refused", Duration::from_secs(30), || async {
        let status = caller.get("/v1/me").await.status;
        if status == StatusCode::UNAUTHORIZED { Ok(()) } else { Err(status.to_string()) }
    })
    .await;
}

/// AUTHZ-01
#[tokio::test]
async fn a_pod_is_not_the_next_agent_of_its_agents_name() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let first = app.cluster.agent("scout").await;
    let pod = app.pod("scout").await;
    pod.get("/v1/agents/scout/inbox?wait_seconds=0").await.expect(StatusCode::OK);

    app.cluster.agents().delete("scout", &kube::api::DeleteParams::default()).await.unwrap();
    app.create("scout").await;
    assert_ne!(app.cluster.agent("scout").await.metadata.uid, first.metadata.uid);
    // Long before the answer of the token review is forgotten.
    testenv::eventually("the pod is refused", Duration::from_secs(5), || async {
        let status = pod.get("/v1/agents/scout/inbox?wait_seconds=0").await.status;
        if status == StatusCode::UNAUTHORIZED { Ok(()) } else { Err(status.to_string()) }
    })
    .await;
}

#[tokio::test]
async fn a_persons_token_must_be_of_the_issuer_for_us_and_in_time() {
    let app = TestApp::start().await;
    let now = app.app.clock.now().as_second();
    let good = json!({
        "iss": app.issuer.url(), "aud": "foundry", "sub": "ann", "exp": now + 600,
        "workspaces": [app.namespace.name], "roles": ["member"],
    });
    let sign = |claims: &Value| app.bearer(&app.issuer.sign(claims).unwrap());
    me(&sign(&good)).await;
    for (claim, value) in [
        ("iss", json!("https://elsewhere")),
        ("aud", json!("another")),
        ("exp", json!(now - 600)),
        ("nbf", json!(now + 600)),
        ("sub", json!("")),
    ] {
        let mut bad = good.clone();
        bad[claim] = value;
        let refused = sign(&bad).get("/v1/me").await;
        assert_eq!(refused.problem(StatusCode::UNAUTHORIZED), "Unauthenticated", "{claim}");
    }
    // A token whose signature is another's.
    let token = app.issuer.sign(&good).unwrap();
    let forged = format!("{}.{}", token.rsplit_once('.').unwrap().0, "AAAA");
    app.bearer(&forged).get("/v1/me").await.problem(StatusCode::UNAUTHORIZED);
    // No signature at all: {"alg":"none"}.
    let payload = token.split('.').nth(1).unwrap();
    let unsigned = format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{payload}.");
    app.bearer(&unsigned).get("/v1/me").await.problem(StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_new_key_of_the_issuer_is_fetched_and_an_invented_one_is_not_fetched_for_each_time() {
    let app = TestApp::start().await;
    me(&app.ann()).await;
    app.issuer.rotate().unwrap();
    let rotated = app.ann();
    testenv::eventually("the new key is known", Duration::from_secs(15), || async {
        let answer = rotated.get("/v1/me").await;
        if answer.status == StatusCode::OK { Ok(()) } else { Err(answer.text) }
    })
    .await;
}

#[tokio::test]
async fn a_persons_workspace_is_one_that_the_token_names_and_this_api_serves() {
    let app = TestApp::start().await;
    let token = |workspaces: &[&str]| {
        let request = TokenRequest::person("ann", workspaces).with_roles(&["member"]);
        app.bearer(&app.issuer.token(&request).unwrap())
    };
    let own = app.namespace.name.as_str();
    for (caller, reason) in [
        (token(&[]), "NoWorkspace"),
        (token(&["elsewhere"]), "NoSuchWorkspace"),
        (token(&[own]).header("x-flow-workspace", "elsewhere"), "NotYourWorkspace"),
    ] {
        assert_eq!(caller.get("/v1/me").await.problem(StatusCode::FORBIDDEN), reason);
    }
    let second = token(&["elsewhere", own]).header("x-flow-workspace", own);
    assert_eq!(me(&second).await["workspace"], own);
}

#[tokio::test]
async fn an_id_of_another_workspace_answers_as_if_it_did_not_exist() {
    let app = TestApp::start_with_a_neighbour().await;
    let neighbour = app.neighbour.as_ref().unwrap().name.as_str();
    app.create("scout").await;
    let both = [app.namespace.name.as_str(), neighbour];
    let request = TokenRequest::person("ann", &both).with_roles(&["admin"]);
    let ann = app.bearer(&app.issuer.token(&request).unwrap());
    ann.get("/v1/agents/scout").await.expect(StatusCode::OK);
    let there = ann.header("x-flow-workspace", neighbour);
    for path in ["", "/logs", "/memories", "/children"] {
        let answer = there.get(&format!("/v1/agents/scout{path}")).await;
        assert_eq!(answer.problem(StatusCode::NOT_FOUND), "NotFound");
    }
    let list = there.get("/v1/agents").await.expect(StatusCode::OK);
    assert_eq!(list["items"], json!([]));

    // LIFE-20: slugs are unique over all workspaces.
    let body = json!({"name": "x", "id": "other", "slug": "scout", "harness_id": "agent-v1"});
    app.neighbours_harness().await;
    let taken = there.post("/v1/agents", &body).await;
    assert_eq!(taken.problem(StatusCode::CONFLICT), "SlugTaken");
}

/// AUTHZ-04
#[tokio::test]
async fn the_service_token_acts_as_the_owner_of_the_agent_it_names() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let me = me(&app.service(Some("scout"))).await;
    assert_eq!((&me["subject"], &me["actor"]), (&json!("ann"), &json!("service")));
    app.service(Some("scout")).get("/v1/agents/scout").await.expect(StatusCode::OK);
    app.service(None).get("/v1/agents/scout").await.problem(StatusCode::FORBIDDEN);
    app.service(None).get("/v1/tools").await.expect(StatusCode::OK);
    app.service(Some("nobody")).get("/v1/me").await.problem(StatusCode::NOT_FOUND);
    app.bearer("svc-wrong").get("/v1/me").await.problem(StatusCode::UNAUTHORIZED);

    // The token can be rotated without a restart.
    let file = app.folder.path().join("service token");
    std::fs::write(&file, "svc-new").unwrap();
    app.service(None).get("/v1/tools").await.problem(StatusCode::UNAUTHORIZED);
    app.bearer("svc-new").get("/v1/tools").await.expect(StatusCode::OK);

    // A file that cannot be read fails services, and nobody else.
    std::fs::remove_file(&file).unwrap();
    let problem = app.bearer("svc-new").get("/v1/tools").await;
    assert_eq!(problem.problem(StatusCode::SERVICE_UNAVAILABLE), "ServiceTokenUnreadable");
    app.ann().get("/v1/tools").await.expect(StatusCode::OK);
}
