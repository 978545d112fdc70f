//! Swarms over REST; the operator makes their members.

use std::time::Duration;

use foundry_crds::{Agent, agent::Lifecycle, swarm::member_agent};
use http::StatusCode;
use kube::api::ListParams;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{agents::ephemeral, app::TestApp};

const SWARMS: &str = "/v1/agents/lead/swarms";

fn request() -> Value {
    json!({
        "goal": "Map the coast.",
        "members": [
            {"name": "north", "instructions": "Look north.", "tools": ["search"]},
            {"name": "south", "instructions": "Look south."},
        ],
        "ttl_seconds": 600,
    })
}

/// An application with an agent of ann's that may start swarms and search.
async fn with_lead() -> TestApp {
    let app = TestApp::start().await;
    app.create("lead").await;
    app.cluster.merge_spec("lead", json!({"tools": ["spawn_swarm", "search"]})).await;
    testenv::eventually("the grant counts", Duration::from_secs(10), || async {
        let agent = app.app.cluster.agents.get(&app.namespace.name, "lead").unwrap();
        if agent.spec.tools.is_empty() { Err("not yet") } else { Ok(()) }
    })
    .await;
    app
}

/// A member's agent as the operator makes it.
async fn make_member(app: &TestApp, swarm: &str, member: &str) -> Agent {
    let id = member_agent(swarm, member);
    let mut spec = ephemeral("lead");
    spec.swarm = Some(swarm.to_owned());
    let agent = app.cluster.create_agent(&id, spec).await;
    app.until_listed(&id).await;
    agent
}

/// SWARM-01, SWARM-02
#[tokio::test]
async fn an_agent_starts_a_swarm_whose_members_act_as_its_owner() {
    let app = with_lead().await;
    let pod = app.pod("lead").await;
    let view = pod.post(SWARMS, &request()).await.expect(StatusCode::CREATED);
    let id = view["id"].as_str().unwrap();
    assert!(id.starts_with("lead-"), "{id}");
    assert_eq!((&view["owner"], &view["parent_agent_id"]), (&json!("ann"), &json!("lead")));
    assert_eq!((&view["ttl_seconds"], &view["dismissed"]), (&json!(600), &json!(false)));
    assert_eq!((&view["phase"], &view["goal"]), (&Value::Null, &json!("Map the coast.")));
    let north = &view["members"][0];
    assert_eq!(north["agent_id"], member_agent(id, "north"));
    assert_eq!((&north["harness_id"], &north["model"]), (&json!("agent-v1"), &json!("auto")));

    let swarm = app.cluster.swarms().get(id).await.unwrap();
    assert_eq!((swarm.spec.owner.as_str(), swarm.spec.parent.as_str()), ("ann", "lead"));
    assert_eq!(swarm.spec.members.len(), 2);
    let agents = app.cluster.agents().list(&ListParams::default()).await.unwrap().items;
    assert_eq!(agents.len(), 1, "its members are the operator's to make");

    let read = app.ann().get(&format!("/v1/swarms/{id}")).await.expect(StatusCode::OK);
    assert_eq!(read, view);
    app.ann().get("/v1/swarms/none").await.problem(StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_same_request_with_its_key_is_the_same_swarm_and_a_taken_name_is_told() {
    let app = with_lead().await;
    let mut keyed = request();
    keyed["idempotency_key"] = json!("coast");
    let first = app.ann().post(SWARMS, &keyed).await.expect(StatusCode::CREATED);
    let again = app.ann().post(SWARMS, &keyed).await.expect(StatusCode::CREATED);
    assert_eq!(again, first);
    keyed["goal"] = json!("Map the hills.");
    let reused = app.ann().post(SWARMS, &keyed).await;
    assert_eq!(reused.problem(StatusCode::CONFLICT), "KeyReused");

    let mut named = request();
    named["id"] = json!("coast");
    app.ann().post(SWARMS, &named).await.expect(StatusCode::CREATED);
    let taken = app.ann().post(SWARMS, &named).await.expect(StatusCode::CONFLICT);
    assert_eq!((&taken["reason"], &taken["field"]), (&json!("AlreadyExists"), &json!("id")));
}

/// TOOLS-02, TOOLS-05
#[tokio::test]
async fn a_swarm_that_does_not_fit_is_refused_with_its_field_and_nothing_is_written() {
    let app = with_lead().await;
    for (path, value, status, field) in [
        ("/goal", json!(" "), 422, "goal"),
        ("/members", json!([]), 422, "members"),
        ("/ttl_seconds", json!(59), 422, "ttl_seconds"),
        ("/members/1/name", json!("north"), 422, "members[1].name"),
        ("/members/0/name", json!("n".repeat(30)), 422, "members"),
        ("/members/0/tools", json!(["run_command"]), 422, "members[0].tools"),
        ("/members/0/skills", json!([{"name": "maps"}]), 422, "members[0].skills"),
        ("/members/0/tool_servers", json!(["none"]), 422, "members[0].tool_servers"),
        ("/members/0/model", json!("none"), 422, "members[0].model"),
        ("/members/0/harness_id", json!("none"), 404, "members[0].harness_id"),
    ] {
        let mut body = request();
        let (within, last) = path.rsplit_once('/').unwrap();
        let whole = body.pointer_mut(within).unwrap();
        match last.parse::<usize>() {
            Ok(index) => whole[index] = value,
            Err(_) => whole[last] = value,
        }
        let refused = app.ann().post(SWARMS, &body).await;
        assert_eq!(refused.status.as_u16(), status, "{path}: {}", refused.text);
        assert_eq!(refused.json()["field"], field, "{path}");
    }
    let unknown = json!({"goal": "g", "members": [], "colour": "red"});
    let refused = app.ann().post(SWARMS, &unknown).await;
    assert_eq!(refused.expect(StatusCode::UNPROCESSABLE_ENTITY)["field"], "colour");
    assert_eq!(app.cluster.swarms().list(&ListParams::default()).await.unwrap().items.len(), 0);
}

/// SWARM-02, AUTHZ-03: only an agent has a swarm. A person who may edit it starts one for
/// it; an ephemeral agent made by hand stays refused (LIFE-05).
#[tokio::test]
async fn whoever_may_edit_an_agent_starts_and_dismisses_its_swarms_and_nobody_else() {
    let app = with_lead().await;
    let members = json!({"members": [
        {"subject": "eve", "role": "editor"}, {"subject": "vic", "role": "viewer"},
    ]});
    app.cluster.merge_spec("lead", members).await;
    testenv::eventually("the members count", Duration::from_secs(10), || async {
        let status = app.person("vic", &["member"]).get(SWARMS).await.status;
        if status == StatusCode::OK { Ok(()) } else { Err(status.to_string()) }
    })
    .await;
    app.create("other").await;
    let made = app.ann().post(SWARMS, &request()).await.expect(StatusCode::CREATED);
    let id = made["id"].as_str().unwrap();
    let (one, dismiss) = (format!("/v1/swarms/{id}"), format!("/v1/swarms/{id}/dismiss"));
    for (who, caller, reads, changes) in [
        ("an editor", app.person("eve", &["member"]), true, true),
        ("a viewer", app.person("vic", &["member"]), true, false),
        ("an administrator", app.person("sam", &["admin"]), true, false),
        ("a stranger", app.person("sam", &["member"]), false, false),
        ("another agent", app.pod("other").await, false, false),
        ("the agent itself", app.pod("lead").await, true, true),
        ("a service in its name", app.service(Some("lead")), true, true),
        ("a service in nobody's name", app.service(None), false, false),
    ] {
        for path in [&one, SWARMS] {
            let status = caller.get(path).await.status;
            assert_eq!(status == StatusCode::OK, reads, "{who} reads {path}: {status}");
        }
        let spawned = caller.post(SWARMS, &request()).await.status;
        assert_eq!(spawned == StatusCode::CREATED, changes, "{who} starts one: {spawned}");
        let dismissed = caller.act(&dismiss).await.status;
        assert_eq!(dismissed == StatusCode::OK, changes, "{who} dismisses it: {dismissed}");
    }
    let by_hand = json!({"name": "x", "harness_id": "agent-v1", "lifetime": "ephemeral"});
    let refused = app.ann().post("/v1/agents", &by_hand).await;
    assert_eq!(refused.problem(StatusCode::UNPROCESSABLE_ENTITY), "EphemeralByHand");
}

/// SWARM-04
#[tokio::test]
async fn a_dismissal_is_written_once_by_the_verbs_and_stays() {
    let app = with_lead().await;
    let made = app.ann().post(SWARMS, &request()).await.expect(StatusCode::CREATED);
    let id = made["id"].as_str().unwrap();
    let dismiss = format!("/v1/swarms/{id}/dismiss");
    let view = app.ann().act(&dismiss).await.expect(StatusCode::OK);
    assert_eq!(view["dismissed"], true);
    let swarm = app.cluster.swarms().get(id).await.unwrap();
    assert_eq!(swarm.spec.dismissed, Some(true));
    assert_eq!(swarm.spec.members.len(), 2, "and nothing else changed");
    let managers = swarm.metadata.managed_fields.clone().unwrap_or_default();
    let verbs = managers.iter().find(|m| m.manager.as_deref() == Some("foundry-api/verbs"));
    let fields = json!(verbs.unwrap().fields_v1);
    assert_eq!(fields, json!({"f:spec": {"f:dismissed": {}}}));

    app.ann().act(&dismiss).await.expect(StatusCode::OK);
    let after = app.cluster.swarms().get(id).await.unwrap();
    assert_eq!(after.metadata.resource_version, swarm.metadata.resource_version);
    app.ann().act("/v1/swarms/none/dismiss").await.problem(StatusCode::NOT_FOUND);
}

/// SWARM-05, AUTHZ-02, LIFE-19
#[tokio::test]
async fn a_member_stands_under_its_parent_and_keeps_its_own_logs_and_plan() {
    let app = with_lead().await;
    let _operator = app.cluster.play_operator(None);
    let mut body = request();
    body["id"] = json!("coast");
    app.ann().post(SWARMS, &body).await.expect(StatusCode::CREATED);
    make_member(&app, "coast", "north").await;
    app.cluster.start_process("coast-north", 1).await;
    app.until_started("coast-north", 1).await;
    let vic = json!({"members": [{"subject": "vic", "role": "viewer"}]});
    app.cluster.merge_spec("lead", vic).await;

    let children = app.ann().get("/v1/agents/lead/children").await.expect(StatusCode::OK);
    assert_eq!(children["items"][0]["id"], "coast-north");
    assert_eq!(children["items"][0]["swarm_id"], "coast");

    let north = app.pod("coast-north").await;
    let line = json!({"events": [{
        "id": uuid::Uuid::now_v7(), "at": "2026-01-02T03:04:05Z", "kind": "think",
        "level": "info", "message": "north of here is sea",
    }]});
    north.post("/v1/agents/coast-north/logs", &line).await.expect(StatusCode::OK);
    let plan = json!({"generation": 1, "markdown": "# Look north"});
    let saved = north.post("/v1/agents/coast-north/plans", &plan).await;
    let saved = saved.expect(StatusCode::CREATED);
    let view = app.ann().get("/v1/agents/coast-north").await.expect(StatusCode::OK);
    assert_eq!(view["parent_agent_id"], "lead");
    let parents = app.ann().get("/v1/agents/lead/logs").await.expect(StatusCode::OK);
    assert_eq!(parents["items"], json!([]), "the lines are the member's alone");

    let lead = app.pod("lead").await;
    let document = saved["document_id"].as_str().unwrap();
    let plan = format!("/v1/agents/coast-north/plans/{document}");
    testenv::eventually("the viewer of the top counts", Duration::from_secs(10), || async {
        let status = app.person("vic", &["member"]).get(&plan).await.status;
        if status == StatusCode::OK { Ok(()) } else { Err(status.to_string()) }
    })
    .await;
    for (who, caller) in [("its parent", &lead), ("the viewer", &app.person("vic", &["viewer"]))] {
        let read = caller.get("/v1/agents/coast-north/logs").await.expect(StatusCode::OK);
        assert_eq!(read["items"][0]["message"], "north of here is sea", "{who}");
        caller.get(&plan).await.expect(StatusCode::OK);
    }

    // What stands on the member itself gives nobody a role.
    let own = json!({"members": [{"subject": "sam", "role": "editor"}]});
    app.cluster.merge_spec("coast-north", own).await;
    testenv::eventually("the cache has them", Duration::from_secs(10), || async {
        let agent = app.app.cluster.agents.get(&app.namespace.name, "coast-north").unwrap();
        if agent.spec.members.is_empty() { Err("not yet") } else { Ok(()) }
    })
    .await;
    let sam = app.person("sam", &["member"]);
    sam.get("/v1/agents/coast-north").await.problem(StatusCode::FORBIDDEN);
    let edit = app.ann().patch("/v1/agents/coast-north", &json!({"instructions": "x"})).await;
    assert_eq!(edit.problem(StatusCode::CONFLICT), "OfASwarm");
    north.act("/v1/swarms/coast/dismiss").await.problem(StatusCode::FORBIDDEN);
    north.act("/v1/agents/lead/expire").await.problem(StatusCode::FORBIDDEN);
    lead.act("/v1/agents/coast-north/expire").await.expect(StatusCode::OK);
    assert_eq!(app.cluster.agent("coast-north").await.spec.lifecycle(), Lifecycle::Expired);
}

#[tokio::test]
async fn the_swarms_of_an_agent_are_listed_in_pages() {
    let app = with_lead().await;
    app.create("other").await;
    for id in ["c", "a", "b"] {
        let mut body = request();
        body["id"] = json!(id);
        app.ann().post(SWARMS, &body).await.expect(StatusCode::CREATED);
    }
    let mut body = request();
    body["id"] = json!("of-another");
    app.ann().post("/v1/agents/other/swarms", &body).await.expect(StatusCode::CREATED);
    let ids = |page: &Value| {
        let items = page["items"].as_array().unwrap();
        items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    testenv::eventually("all are listed", Duration::from_secs(10), || async {
        let page = app.ann().get(SWARMS).await.expect(StatusCode::OK);
        let ids = ids(&page);
        if ids == ["a", "b", "c"] { Ok(()) } else { Err(format!("{ids:?}")) }
    })
    .await;
    let first = app.ann().get(&format!("{SWARMS}?limit=2")).await.expect(StatusCode::OK);
    assert_eq!((ids(&first), &first["next_cursor"]), (vec!["a".into(), "b".into()], &json!("b")));
    let rest = app.ann().get(&format!("{SWARMS}?cursor=b")).await.expect(StatusCode::OK);
    assert_eq!((ids(&rest), &rest["next_cursor"]), (vec!["c".into()], &Value::Null));
}
