use http::StatusCode;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use uuid::Uuid;

use super::app::TestApp;

fn event(message: &str) -> Value {
    json!({
        "id": Uuid::now_v7(), "at": "2026-01-02T03:04:05Z",
        "kind": "think", "level": "info", "message": message, "data": {"n": 1},
    })
}

/// ROUTE-11
#[tokio::test]
async fn posted_events_are_stored_once_and_read_back_in_pages() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let pod = app.pod("scout").await;
    let events = (0..7).map(|n| event(&format!("line {n}"))).collect::<Vec<_>>();
    let body = json!({"events": events});
    let appended = pod.post("/v1/agents/scout/logs", &body).await.expect(StatusCode::OK);
    assert_eq!(appended, json!({"accepted": 7, "last_sequence": 7}));
    let again = pod.post("/v1/agents/scout/logs", &body).await.expect(StatusCode::OK);
    assert_eq!(again, json!({"accepted": 0, "last_sequence": 7}));

    let mut after = json!(0);
    let mut read = Vec::new();
    loop {
        let path = format!("/v1/agents/scout/logs?after={after}&limit=3");
        let page = app.ann().get(&path).await.expect(StatusCode::OK);
        assert_eq!(page["reset"], false);
        let lines = page["items"].as_array().unwrap();
        if lines.is_empty() {
            break;
        }
        assert!(lines.len() <= 3);
        read.extend(lines.iter().cloned());
        after = page["next_after"].clone();
    }
    let expected = events.into_iter().zip(1..).map(|(mut event, sequence)| {
        event["sequence"] = json!(sequence);
        event
    });
    assert_eq!(read, expected.collect::<Vec<_>>());
}

#[tokio::test]
async fn a_post_of_too_many_events_or_too_many_bytes_stores_nothing() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let pod = app.pod("scout").await;
    let many = (0..501).map(|n| event(&format!("{n}"))).collect::<Vec<_>>();
    let refused = pod.post("/v1/agents/scout/logs", &json!({"events": many})).await;
    assert_eq!(refused.problem(StatusCode::UNPROCESSABLE_ENTITY), "TooMany");
    let long = json!({"events": [event(&"x".repeat(9 * 1024 * 1024))]});
    let refused = pod.post("/v1/agents/scout/logs", &long).await;
    assert_eq!(refused.problem(StatusCode::PAYLOAD_TOO_LARGE), "BodyTooLarge");
    let page = app.ann().get("/v1/agents/scout/logs").await.expect(StatusCode::OK);
    assert_eq!(page["items"], json!([]));
}
