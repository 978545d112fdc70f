//! Skills and tool servers, and the agents that name them.

use foundry_crds::agent::SkillRef;
use foundry_crds::model::SecretKeyRef;
use foundry_crds::skill::SkillVersion;
use foundry_crds::{
    AgentStatus, Harness, HarnessSpec, Skill, SkillSpec, ToolServer, ToolServerSpec,
    ToolServerStatus, meta,
};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use testenv::eventually;

use super::coding::{kubectl, patch};
use super::world::{DEADLINE, World, reason};

/// A tool server that wants no key.
pub fn tool_server(name: &str) -> ToolServer {
    let url = "https://mcp.example/mcp".to_owned();
    ToolServer::new(name, ToolServerSpec { url, ..ToolServerSpec::default() })
}

/// A skill with these versions.
pub fn skill(name: &str, versions: &[i64]) -> Skill {
    let version = |number: &i64| SkillVersion {
        version: *number,
        document_id: format!("doc-{number}"),
        path: None,
    };
    let spec = SkillSpec {
        description: "How we write.".to_owned(),
        created_by: "eve".to_owned(),
        versions: versions.iter().map(version).collect(),
        ..SkillSpec::default()
    };
    Skill::new(name, spec)
}

/// Reports as the API does what a server answered.
#[expect(clippy::disallowed_methods, reason = "the test is another writer")]
pub async fn reported(world: &World, server: &str, reported: Value) {
    let body = json!({
        "apiVersion": "foundry.flow.life/v1alpha1",
        "kind": "ToolServer",
        "status": { "reported": reported },
    });
    let manager = PatchParams::apply(meta::manager::API_REPORTED).force();
    world.api::<ToolServer>().patch_status(server, &manager, &Patch::Apply(&body)).await.unwrap();
}

/// Waits until conditions of a tool server are as given: type, status and reason.
async fn server_says(world: &World, wanted: &[(&str, &str, &str)]) -> ToolServerStatus {
    let api = world.api::<ToolServer>();
    eventually(&format!("the tool server says {wanted:?}"), DEADLINE, || async {
        let status = api.get("crm").await?.status.unwrap_or_default();
        let told: Vec<_> = status
            .conditions
            .iter()
            .map(|it| (it.type_.as_str(), it.status.as_str(), it.reason.as_str()))
            .collect();
        anyhow::ensure!(told == wanted, "{told:?}");
        anyhow::Ok(status)
    })
    .await
}

/// A broken tool is a condition, not an outage; and what the API reports stays the API's.
#[tokio::test]
async fn a_tool_server_waits_for_its_secret_and_is_ready_whether_it_answers_or_not() {
    let world = World::new("op-server").await;
    let operator = world.cluster_operator();
    let mut server = tool_server("crm");
    let key = SecretKeyRef { name: "crm".to_owned(), key: "header".to_owned() };
    server.spec.auth_secret = Some(key);
    world.create(&server).await;
    let waiting = "SecretNotFound";
    server_says(&world, &[("Ready", "False", waiting), ("Reconciling", "True", waiting)]).await;
    world.secret("crm", &[("header", "Bearer hush")]).await;
    let ready = ("Ready", "True", "Resolved");
    server_says(&world, &[ready]).await;

    let silent = json!({ "generation": 1, "reachable": false, "message": "connection refused" });
    reported(&world, "crm", silent).await;
    let status = server_says(&world, &[ready, ("ToolsDegraded", "True", "Unreachable")]).await;
    let said = serde_json::to_string(&status).unwrap();
    assert!(said.contains("connection refused; agents go on") && !said.contains("hush"), "{said}");

    let answers = json!({
        "generation": 1, "reachable": true, "tools": ["find", "list"], "toolCount": 2,
    });
    reported(&world, "crm", answers.clone()).await;
    let status = server_says(&world, &[ready, ("ToolsDegraded", "False", "Reachable")]).await;
    assert_eq!(json!(status.reported), answers, "the API's words are left as they are");
    let table = kubectl(&world, &["get", "toolservers"]).await;
    let row: Vec<_> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..4], ["crm", "True", "2", "https://mcp.example/mcp"], "{table}");

    // Of another URL nothing is known yet.
    let elsewhere = json!({ "spec": { "url": "https://other.example/mcp" } });
    patch::<ToolServer>(&world, "crm", elsewhere).await;
    let status = server_says(&world, &[ready]).await;
    assert_eq!(status.observed_generation, Some(2));
    operator.stop().await;
}

fn says(status: &AgentStatus, kind: &str) -> Option<String> {
    reason(status, kind, true).map(str::to_owned)
}

/// TOOLS-02, TOOLS-05, SKILL-02: objects that came in another order, and a Harness that
/// shrank, heal untouched and end nothing.
#[tokio::test]
async fn an_agent_waits_for_its_skill_and_goes_on_without_its_tool_server() {
    let world = World::new("op-named").await;
    let operator = world.cluster_operator();
    let able = HarnessSpec {
        tools: vec!["send_email".to_owned()],
        allows_skills: Some(true),
        ..HarnessSpec::default()
    };
    world.create(&Harness::new("agent-v1", able)).await;
    world
        .agent("ann", |spec| {
            spec.tools = vec!["send_email".to_owned()];
            spec.skills = vec![SkillRef { name: "style".to_owned(), version: Some(2) }];
            spec.tool_servers = vec!["crm".to_owned()];
        })
        .await;
    let waits = |wanted: &'static str| {
        move |status: &AgentStatus| says(status, "Reconciling").as_deref() == Some(wanted)
    };
    let status = world.status("a skill is missing", "ann", waits("SkillNotFound")).await;
    assert_eq!(says(&status, "ToolsDegraded").as_deref(), Some("ToolServerNotFound"));
    world.create(&skill("style", &[1])).await;
    world.status("its version is missing", "ann", waits("SkillVersionNotFound")).await;
    let version = |number: i64| json!({ "version": number, "documentId": format!("doc-{number}") });
    let both = json!({ "spec": { "versions": [version(1), version(2)] } });
    patch::<Skill>(&world, "style", both).await;
    let pod = world.one_pod("ann").await;
    let status = world.settles_without_a_node("ann").await;
    assert_eq!(says(&status, "ToolsDegraded").as_deref(), Some("ToolServerNotFound"));
    world.create(&tool_server("crm")).await;
    world
        .status("the tool server is there", "ann", |status| says(status, "ToolsDegraded").is_none())
        .await;

    for (shrunk, wanted) in [
        (json!({ "tools": null }), "ToolNotPermitted"),
        (json!({ "tools": ["send_email"], "allowsSkills": false }), "SkillsNotAllowed"),
    ] {
        patch::<Harness>(&world, "agent-v1", json!({ "spec": shrunk })).await;
        let is_it = |status: &AgentStatus| says(status, "Stalled").as_deref() == Some(wanted);
        world.status("the Harness shrank", "ann", is_it).await;
    }
    let healed = json!({ "spec": { "tools": ["send_email"], "allowsSkills": true } });
    patch::<Harness>(&world, "agent-v1", healed).await;
    let status = world.settles_without_a_node("ann").await;
    assert_eq!((says(&status, "Stalled"), status.start_number), (None, Some(1)));
    assert_eq!(world.one_pod("ann").await.uid(), pod.uid(), "its process went on");

    let table = kubectl(&world, &["get", "skills"]).await;
    let row: Vec<_> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..3], ["style", "True", "2"], "{table}");
    operator.stop().await;
}
