use std::time::{Duration, Instant};

use http::StatusCode;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use uuid::Uuid;

use super::app::TestApp;

fn run(wake: Option<&Value>) -> Value {
    json!({
        "id": Uuid::now_v7(), "wake_id": wake, "reason": "wake",
        "started_at": "2026-01-02T03:04:05Z", "finished_at": "2026-01-02T03:04:06Z",
        "turns": 2, "input_tokens": 10, "output_tokens": 5, "outcome": "end_turn",
    })
}

/// ROUTE-10
#[tokio::test]
async fn a_held_inbox_read_answers_as_soon_as_a_wake_is_recorded() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let pod = app.pod("scout").await;
    // Warm: the token is reviewed before the clock runs.
    pod.get("/v1/agents/scout/inbox?wait_seconds=0").await.expect(StatusCode::OK);
    let started = Instant::now();
    let record = async {
        let held = || async {
            let text = app.nobody().get("/metrics").await.text;
            let held = text.contains("foundry_api_inbox_waiting 1");
            if held { Ok(()) } else { Err("no read is held open") }
        };
        testenv::eventually("the read is held open", Duration::from_secs(5), held).await;
        let wake = json!({"source": "person", "text": "good morning"});
        app.ann().post("/v1/agents/scout/inbox", &wake).await.expect(StatusCode::CREATED)
    };
    let (polled, recorded) = tokio::join!(pod.get("/v1/agents/scout/inbox"), record);
    let wakes = polled.expect(StatusCode::OK);
    assert_eq!(wakes["wakes"], json!([recorded]));
    assert!(started.elapsed() < Duration::from_secs(12), "it did not wait to the end");
}

/// ROUTE-10
#[tokio::test]
async fn an_inbox_read_without_a_wake_ends_within_its_wait() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let pod = app.pod("scout").await;
    let none = pod.get("/v1/agents/scout/inbox?wait_seconds=1").await.expect(StatusCode::OK);
    assert_eq!(none, json!({"wakes": []}));
}

#[tokio::test]
async fn a_shutdown_ends_a_held_inbox_read_at_once() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let pod = app.pod("scout").await;
    let started = Instant::now();
    let end = async {
        testenv::eventually("the read is held open", Duration::from_secs(5), || async {
            let text = app.nobody().get("/metrics").await.text;
            let held = text.contains("foundry_api_inbox_waiting 1");
            if held { Ok(()) } else { Err("no read is held open") }
        })
        .await;
        app.shutdown.cancel();
    };
    let (polled, ()) = tokio::join!(pod.get("/v1/agents/scout/inbox"), end);
    assert_eq!(polled.expect(StatusCode::OK), json!({"wakes": []}));
    assert!(started.elapsed() < Duration::from_secs(11));
}

#[tokio::test]
async fn a_wake_is_handed_out_again_until_a_run_record_names_it() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let pod = app.pod("scout").await;
    let wake = json!({"source": "mail", "message_id": "m1", "idempotency_key": "m1"});
    let first = app.ann().post("/v1/agents/scout/inbox", &wake).await.expect(StatusCode::CREATED);
    let same = app.ann().post("/v1/agents/scout/inbox", &wake).await.expect(StatusCode::CREATED);
    assert_eq!(first["id"], same["id"]);

    let poll = || async {
        let polled = pod.get("/v1/agents/scout/inbox?wait_seconds=0").await;
        polled.expect(StatusCode::OK)["wakes"].as_array().unwrap().len()
    };
    assert_eq!(poll().await, 1);
    assert_eq!(poll().await, 0, "it is leased");
    app.pass(Duration::from_secs(61));
    assert_eq!(poll().await, 1, "the lease has ended without a run record");

    let record = run(Some(&first["id"]));
    pod.post("/v1/agents/scout/runs", &record).await.expect(StatusCode::CREATED);
    pod.post("/v1/agents/scout/runs", &record).await.expect(StatusCode::CREATED);
    app.pass(Duration::from_secs(61));
    assert_eq!(poll().await, 0, "it is acknowledged");

    let runs = app.ann().get("/v1/agents/scout/runs").await.expect(StatusCode::OK);
    assert_eq!(runs["items"], json!([record]), "a repeated record is stored once");
}

/// LIFE-17
#[tokio::test]
async fn a_wake_for_an_agent_that_does_not_run_is_recorded() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let wake = json!({"source": "person", "text": "later"});
    app.ann().post("/v1/agents/scout/inbox", &wake).await.expect(StatusCode::CREATED);
    let empty = app.ann().post("/v1/agents/scout/inbox", &json!({"source": ""})).await;
    assert_eq!(empty.expect(StatusCode::UNPROCESSABLE_ENTITY)["field"], "source");
}

#[tokio::test]
async fn a_run_that_names_a_wake_nobody_recorded_is_refused() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let pod = app.pod("scout").await;
    let record = run(Some(&json!(Uuid::now_v7())));
    let refused = pod.post("/v1/agents/scout/runs", &record).await;
    assert_eq!(refused.problem(StatusCode::UNPROCESSABLE_ENTITY), "UnknownWake");
}

/// ROUTE-10
#[tokio::test]
async fn a_wake_recorded_by_one_replica_reaches_a_read_held_open_by_another() {
    let (app, other) = TestApp::start_two_replicas().await;
    app.create("scout").await;
    let pod = app.pod("scout").await;
    let record = async {
        testenv::eventually("the read is held open", Duration::from_secs(5), || async {
            let text = app.nobody().get("/metrics").await.text;
            let held = text.contains("foundry_api_inbox_waiting 1");
            if held { Ok(()) } else { Err("no read is held open") }
        })
        .await;
        let key = foundry_store::AgentKey::new(&app.namespace.name, "scout");
        let wake = foundry_store::NewWake { source: "person".into(), ..Default::default() };
        other.store.record_wake(&key, &wake, other.clock.now()).await.unwrap()
    };
    let started = Instant::now();
    let (polled, recorded) = tokio::join!(pod.get("/v1/agents/scout/inbox"), record);
    assert_eq!(polled.expect(StatusCode::OK)["wakes"][0]["id"], json!(recorded.id));
    assert!(started.elapsed() < Duration::from_secs(11), "it did not wait to the end");
}
