use std::time::Duration;

use http::StatusCode;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use uuid::Uuid;

use super::app::TestApp;

fn beat(percent: u8) -> Value {
    json!({
        "at": "2026-01-02T03:04:05Z", "process_id": Uuid::nil(),
        "generation": 1, "context_percent": percent,
    })
}

#[tokio::test]
async fn beats_reach_the_status_when_they_tell_something_and_cost_no_write_otherwise() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let pod = app.pod("scout").await;
    let send = |percent| {
        let pod = pod.clone();
        async move {
            let sent = pod.post("/v1/agents/scout/heartbeat", &beat(percent)).await;
            sent.expect(StatusCode::NO_CONTENT);
        }
    };
    let until = |what: &'static str, percent| {
        let app = &app;
        testenv::eventually(what, Duration::from_secs(15), move || async move {
            let status = app.cluster.agent("scout").await.status.unwrap_or_default();
            let shown = status.last_heartbeat.is_some() && status.context_percent == percent;
            // The cache must have it too, or the next beat would be judged by an old status.
            let cached = app.app.cluster.agents.get(&app.namespace.name, "scout");
            let cached = cached.and_then(|agent| agent.status).unwrap_or_default();
            if shown && cached == status { Ok(()) } else { Err(format!("{status:?}")) }
        })
    };
    send(3).await;
    until("the first beat shows", Some(0)).await;
    let settled = app.cluster.agent("scout").await.metadata.resource_version;
    for _ in 0..5 {
        app.pass(Duration::from_secs(30));
        send(4).await;
    }
    let view = app.ann().get("/v1/agents/scout").await.expect(StatusCode::OK);
    assert_eq!(view["context_percent"], 4, "the API itself shows each beat");
    send(25).await;
    until("the next tens show", Some(20)).await;
    let agent = app.cluster.agent("scout").await;
    let writes = agent.metadata.managed_fields.unwrap_or_default();
    let ours =
        writes.iter().filter(|entry| entry.manager.as_deref() == Some("foundry-api/reported"));
    assert_eq!(ours.count(), 1, "all of it under one manager");
    assert_ne!(agent.metadata.resource_version, settled);
}

/// ROUTE-03
#[tokio::test]
async fn a_plan_line_reaches_the_status() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let pod = app.pod("scout").await;
    let plan = json!({"events": [{
        "id": Uuid::now_v7(), "at": "2026-01-02T03:04:05Z",
        "kind": "plan", "level": "info", "message": "documents:d-7",
    }]});
    pod.post("/v1/agents/scout/logs", &plan).await.expect(StatusCode::OK);
    testenv::eventually("the status names the plan", Duration::from_secs(15), || async {
        let status = app.cluster.agent("scout").await.status.unwrap_or_default();
        if status.plan_document_id.as_deref() == Some("d-7") {
            Ok(())
        } else {
            Err(format!("{status:?}"))
        }
    })
    .await;
}
