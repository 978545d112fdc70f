use foundry_crds::{AgentSpec, agent::Lifetime};
use http::StatusCode;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::ListParams;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::app::TestApp;

/// ROUTE-01
#[tokio::test]
async fn a_create_writes_one_agent_of_the_callers_that_does_not_run_yet() {
    let app = TestApp::start().await;
    let body = json!({
        "name": "Lead scout", "harness_id": "agent-v1", "instructions": "look around",
        "tools": ["search"], "max_turns": 12,
    });
    let view = app.ann().post("/v1/agents", &body).await.expect(StatusCode::CREATED);
    assert_eq!(view["id"], "lead-scout");
    assert_eq!(view["owner"], "ann");
    assert_eq!(view["desired_state"], "stopped");
    assert_eq!(view["state"], "Stopped");

    let agents = app.cluster.agents().list(&ListParams::default()).await.unwrap().items;
    assert_eq!(agents.len(), 1);
    assert_eq!(agents[0].spec.instructions.as_deref(), Some("look around"));
    assert_eq!(agents[0].spec.max_turns, Some(12));
}

/// ROUTE-01, LIFE-05
#[tokio::test]
async fn an_invalid_create_answers_422_with_its_field_and_writes_nothing() {
    let app = TestApp::start().await;
    for (body, field) in [
        (json!({"harness_id": "agent-v1"}), "name"),
        (json!({"name": "a", "harness_id": "agent-v1", "colour": "red"}), "colour"),
        (json!({"name": "a", "harness_id": "agent-v1", "max_turns": "many"}), "max_turns"),
        (json!({"name": "a", "harness_id": "none"}), "harness_id"),
        (json!({"name": "a", "harness_id": "agent-v1", "lifetime": "ephemeral"}), "lifetime"),
        // Only admission knows this bound.
        (json!({"name": "a", "harness_id": "agent-v1", "max_turns": 100_000}), "max_turns"),
    ] {
        let problem =
            app.ann().post("/v1/agents", &body).await.expect(StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(problem["field"], field, "{problem}");
    }
    let agents = app.cluster.agents().list(&ListParams::default()).await.unwrap().items;
    assert_eq!(agents.len(), 0);
}

/// LIFE-20
#[tokio::test]
async fn a_slug_is_taken_once_even_by_two_requests_at_the_same_moment() {
    let app = TestApp::start().await;
    let ann = app.ann();
    let create = |id: &str| {
        let body = json!({"name": id, "id": id, "slug": "scout", "harness_id": "agent-v1"});
        let ann = ann.clone();
        async move { ann.post("/v1/agents", &body).await }
    };
    let (one, other) = tokio::join!(create("one"), create("other"));
    let mut statuses = [one.status, other.status];
    statuses.sort();
    assert_eq!(statuses, [StatusCode::CREATED, StatusCode::CONFLICT]);

    let id = if one.status == StatusCode::CREATED { "one" } else { "other" };
    app.until_listed(id).await;
    let late = create("late").await;
    assert_eq!(late.problem(StatusCode::CONFLICT), "SlugTaken");
    let again = create(id).await;
    assert_eq!(again.problem(StatusCode::CONFLICT), "AlreadyExists");
    app.create("third").await;
    let edit = ann.patch("/v1/agents/third", &json!({"slug": "scout"})).await;
    assert_eq!(edit.problem(StatusCode::CONFLICT), "SlugTaken");
}

/// ROUTE-02
#[tokio::test]
async fn lists_and_searches_leave_archived_agents_out() {
    let app = TestApp::start().await;
    for id in ["scout-a", "scout-b", "writer"] {
        app.create(id).await;
    }
    let ids = |page: &serde_json::Value| {
        let items = page["items"].as_array().unwrap();
        items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let list = app.ann().get("/v1/agents").await.expect(StatusCode::OK);
    assert_eq!(ids(&list), ["scout-a", "scout-b", "writer"]);
    let found = app.ann().get("/v1/agents?q=SCOUT").await.expect(StatusCode::OK);
    assert_eq!(ids(&found), ["scout-a", "scout-b"]);

    let page = app.ann().get("/v1/agents?limit=2").await.expect(StatusCode::OK);
    assert_eq!(ids(&page), ["scout-a", "scout-b"]);
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = app.ann().get(&format!("/v1/agents?limit=2&cursor={cursor}")).await;
    let rest = rest.expect(StatusCode::OK);
    assert_eq!((ids(&rest), rest["next_cursor"].as_str()), (vec!["writer".to_owned()], None));

    let _operator = app.cluster.play_operator(None);
    app.ann().act("/v1/agents/scout-a/archive").await.expect(StatusCode::OK);
    testenv::eventually("the list is without it", std::time::Duration::from_secs(10), || async {
        let list = app.ann().get("/v1/agents").await.expect(StatusCode::OK);
        let found = app.ann().get("/v1/agents?q=scout").await.expect(StatusCode::OK);
        let seen = (ids(&list), ids(&found));
        let expected =
            (vec!["scout-b".to_owned(), "writer".to_owned()], vec!["scout-b".to_owned()]);
        if seen == expected { Ok(()) } else { Err(format!("{seen:?}")) }
    })
    .await;
    let archived = app.ann().get("/v1/agents/scout-a").await.expect(StatusCode::OK);
    assert_eq!(archived["status"], "archive");
}

/// ROUTE-03
#[tokio::test]
async fn one_agent_carries_its_newest_plan_even_when_later_lines_have_pushed_it_away() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let pod = app.pod("scout").await;
    let event = |kind: &str, message: &str| {
        json!({
            "id": uuid::Uuid::now_v7(), "at": "2026-01-02T03:04:05Z",
            "kind": kind, "level": "info", "message": message,
        })
    };
    let plans = json!({"events": [
        event("plan", "documents:old"), event("plan", "the plan is documents:new"),
    ]});
    pod.post("/v1/agents/scout/logs", &plans).await.expect(StatusCode::OK);
    let later = (0..300).map(|n| event("think", &format!("thought {n}"))).collect::<Vec<_>>();
    pod.post("/v1/agents/scout/logs", &json!({"events": later})).await.expect(StatusCode::OK);

    let first =
        app.ann().get("/v1/agents/scout/logs?limit=500&after=2").await.expect(StatusCode::OK);
    assert!(!first.to_string().contains("documents:new"));
    let view = app.ann().get("/v1/agents/scout").await.expect(StatusCode::OK);
    assert_eq!(view["plan_document_id"], "new");

    let unknown = app.ann().get("/v1/agents/nobody").await;
    assert_eq!(unknown.problem(StatusCode::NOT_FOUND), "NotFound");
}

/// LIFE-22
#[tokio::test]
async fn an_edit_changes_what_it_names_and_leaves_the_harness_to_whom_it_has() {
    let app = TestApp::start().await;
    app.create("scout").await;
    app.cluster.create_harness("agent-v2").await;
    let edit = json!({"instructions": "look again", "tools": ["recall"]});
    let view = app.ann().patch("/v1/agents/scout", &edit).await.expect(StatusCode::OK);
    assert_eq!(view["instructions"], "look again");
    assert_eq!(view["harness_id"], "agent-v1");

    // A second edit must not take back what the first one wrote.
    let view =
        app.ann().patch("/v1/agents/scout", &json!({"name": "Scout"})).await.expect(StatusCode::OK);
    assert_eq!(
        (view["name"].as_str(), view["instructions"].as_str()),
        (Some("Scout"), Some("look again"))
    );

    let to_v2 = json!({"harness_id": "agent-v2"});
    let view = app.ann().patch("/v1/agents/scout", &to_v2).await.expect(StatusCode::OK);
    assert_eq!(view["harness_id"], "agent-v2");
    let wrong = app.ann().patch("/v1/agents/scout", &json!({"tools": ["shell"]})).await;
    assert_eq!(wrong.problem(StatusCode::UNPROCESSABLE_ENTITY), "ToolNotPermitted");
}

/// LIFE-16
#[tokio::test]
async fn an_edit_can_take_every_tool_away() {
    let app = TestApp::start().await;
    let body = json!({"name": "scout", "harness_id": "agent-v1", "tools": ["search"]});
    app.ann().post("/v1/agents", &body).await.expect(StatusCode::CREATED);
    let none = json!({"tools": []});
    let view = app.ann().patch("/v1/agents/scout", &none).await.expect(StatusCode::OK);
    assert_eq!(view["tools"], json!([]));
    assert_eq!(app.cluster.agent("scout").await.spec.tools, Vec::<String>::new());

    // And a later edit does not bring them back.
    app.ann().patch("/v1/agents/scout", &json!({"name": "S"})).await.expect(StatusCode::OK);
    assert_eq!(app.cluster.agent("scout").await.spec.tools, Vec::<String>::new());
}

#[tokio::test]
async fn an_edit_of_a_field_that_git_owns_names_the_manager_and_changes_nothing() {
    let app = TestApp::start().await;
    app.create("scout").await;
    app.cluster.apply_as("argocd-controller", "scout", json!({"instructions": "from git"})).await;
    let edit = app.ann().patch("/v1/agents/scout", &json!({"instructions": "by hand"})).await;
    let problem = edit.expect(StatusCode::CONFLICT);
    assert_eq!(problem["reason"], "FieldOwnedElsewhere");
    assert_eq!(problem["field"], "instructions");
    assert!(problem["detail"].as_str().unwrap().contains("argocd-controller"), "{problem}");
    assert_eq!(app.cluster.agent("scout").await.spec.instructions.as_deref(), Some("from git"));
}

/// ROUTE-09
#[tokio::test]
async fn children_are_those_an_agent_spawned_archived_ones_included() {
    let app = TestApp::start().await;
    app.create("scout").await;
    for child in ["child-a", "child-b"] {
        app.cluster.create_agent(child, ephemeral("scout")).await;
        app.until_listed(child).await;
    }
    app.cluster.merge_spec("child-a", json!({"lifecycle": "archive"})).await;
    let children = app.ann().get("/v1/agents/scout/children").await.expect(StatusCode::OK);
    let ids = children["items"].as_array().unwrap().iter().map(|c| &c["id"]).collect::<Vec<_>>();
    assert_eq!(ids, ["child-a", "child-b"]);
    assert_eq!(children["items"][0]["parent_agent_id"], "scout");
}

/// An ephemeral agent of ann's, as the operator creates them.
pub fn ephemeral(parent: &str) -> AgentSpec {
    let ttl: Timestamp = "2040-01-01T00:00:00Z".parse().unwrap();
    AgentSpec {
        owner: "ann".to_owned(),
        harness: "agent-v1".to_owned(),
        lifetime: Some(Lifetime::Ephemeral),
        parent: Some(parent.to_owned()),
        ttl_at: Some(Time(ttl)),
        ..AgentSpec::default()
    }
}

#[tokio::test]
async fn an_agent_begins_with_nothing_even_under_the_name_of_a_deleted_one() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let fact = json!({"text": "a fact of the first scout"});
    app.ann().post("/v1/agents/scout/memories", &fact).await.expect(StatusCode::CREATED);
    let key = foundry_store::AgentKey::new(&app.namespace.name, "scout");
    app.cluster.agents().delete("scout", &kube::api::DeleteParams::default()).await.unwrap();
    testenv::eventually("the rows are gone", std::time::Duration::from_secs(15), || async {
        let left = app.app.store.recall(&key, "fact", 10).await.unwrap().len();
        if left == 0 { Ok(()) } else { Err(format!("{left} memories")) }
    })
    .await;

    // Rows that a deletion left behind while nobody watched.
    let author = foundry_store::Author::Agent("scout".into());
    let tier = foundry_store::Tier::Archive;
    let stale = foundry_store::NewMemory { text: "stale".into(), tier, author };
    app.app.store.remember(&key, stale, app.app.clock.now()).await.unwrap();
    app.create("scout").await;
    let memories = app.ann().get("/v1/agents/scout/memories").await.expect(StatusCode::OK);
    assert_eq!(memories["items"], json!([]));
}

/// TOOLS-02, TOOLS-05
#[tokio::test]
async fn an_attachment_that_is_not_allowed_is_refused_and_one_that_is_stays() {
    let app = TestApp::start().await;
    let create = |field: &str, value: serde_json::Value| {
        let mut body = json!({"name": "scout", "id": "scout", "harness_id": "agent-v1"});
        body[field] = value;
        body
    };
    let server = foundry_crds::ToolServerSpec {
        url: "http://127.0.0.1:9/mcp".to_owned(),
        ..foundry_crds::ToolServerSpec::default()
    };
    app.cluster.create_tool_server("wiki", server).await;
    testenv::eventually("the server is known", std::time::Duration::from_secs(10), || async {
        let known = app.app.tool_servers(&app.namespace.name);
        if known == ["wiki"] { Ok(()) } else { Err(format!("{known:?}")) }
    })
    .await;
    for (field, value) in [
        ("tools", json!(["run_command"])),
        ("skills", json!([{"name": "maps"}])),
        ("tool_servers", json!(["none"])),
    ] {
        let refused = app.ann().post("/v1/agents", &create(field, value)).await;
        let problem = refused.expect(StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(problem["field"], field, "{problem}");
    }
    let view = app.ann().post("/v1/agents", &create("tool_servers", json!(["wiki"]))).await;
    assert_eq!(view.expect(StatusCode::CREATED)["tool_servers"], json!(["wiki"]));
    let none = json!({"tool_servers": ["none"]});
    let refused = app.ann().patch("/v1/agents/scout", &none).await;
    assert_eq!(refused.problem(StatusCode::UNPROCESSABLE_ENTITY), "ToolServerNotFound");
    let edited = app.ann().patch("/v1/agents/scout", &json!({"tool_servers": []})).await;
    assert_eq!(edited.expect(StatusCode::OK)["tool_servers"], json!([]));
}
