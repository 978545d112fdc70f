use http::StatusCode;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::app::TestApp;

/// MEM-04
#[tokio::test]
async fn an_agents_memory_goes_to_the_archive_and_a_persons_to_the_core() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let pod = app.pod("scout").await;
    let text = json!({"text": "The tide table is on page 4."});
    let by_agent = pod.post("/v1/agents/scout/memories", &text).await.expect(StatusCode::CREATED);
    assert_eq!((&by_agent["tier"], &by_agent["author"]), (&json!("archive"), &json!("scout")));
    let by_person =
        app.ann().post("/v1/agents/scout/memories", &text).await.expect(StatusCode::CREATED);
    assert_eq!((&by_person["tier"], &by_person["author"]), (&json!("core"), &json!("ann")));

    let core = app.ann().get("/v1/agents/scout/memories?tier=core").await.expect(StatusCode::OK);
    assert_eq!(core["items"], json!([by_person]));
    let found =
        pod.get("/v1/agents/scout/memories/recall?q=TIDE+page").await.expect(StatusCode::OK);
    assert_eq!(found["items"].as_array().unwrap().len(), 2);
    let empty = pod.post("/v1/agents/scout/memories", &json!({"text": " "})).await;
    assert_eq!(empty.expect(StatusCode::UNPROCESSABLE_ENTITY)["field"], "text");
}

/// MEM-06
#[tokio::test]
async fn only_a_person_can_delete_or_purge() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let pod = app.pod("scout").await;
    let remember = |text: &str| {
        let body = json!({"text": text});
        let pod = pod.clone();
        async move {
            let kept = pod.post("/v1/agents/scout/memories", &body).await;
            kept.expect(StatusCode::CREATED)["id"].as_str().unwrap().to_owned()
        }
    };
    let first = remember("one").await;
    remember("two").await;
    let path = format!("/v1/agents/scout/memories/{first}");
    for caller in [&pod, &app.service(Some("scout"))] {
        caller.delete(&path).await.problem(StatusCode::FORBIDDEN);
        caller.delete("/v1/agents/scout/memories").await.problem(StatusCode::FORBIDDEN);
    }
    app.ann().delete(&path).await.expect(StatusCode::NO_CONTENT);
    app.ann().delete(&path).await.problem(StatusCode::NOT_FOUND);
    app.ann().delete("/v1/agents/scout/memories").await.expect(StatusCode::NO_CONTENT);
    let left = app.ann().get("/v1/agents/scout/memories").await.expect(StatusCode::OK);
    assert_eq!(left, json!({"items": []}));
}

/// MEM-03
#[tokio::test]
async fn thoughts_are_the_shared_renderers_text_of_the_rows() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let pod = app.pod("scout").await;
    let core = json!({"text": "Ann prefers short answers."});
    app.ann().post("/v1/agents/scout/memories", &core).await.expect(StatusCode::CREATED);
    let recent = json!({"text": "The harbour opens at six."});
    pod.post("/v1/agents/scout/memories", &recent).await.expect(StatusCode::CREATED);

    let rows = |tier: &str| {
        let path = format!("/v1/agents/scout/memories?tier={tier}");
        let ann = app.ann();
        async move {
            let page: foundry_client::MemoryPage =
                serde_json::from_value(ann.get(&path).await.expect(StatusCode::OK)).unwrap();
            page.items
        }
    };
    let expected = foundry_platform::thoughts::render(&rows("core").await, &rows("archive").await);
    let thoughts = pod.get("/v1/agents/scout/thoughts").await.expect(StatusCode::OK);
    assert_eq!(thoughts["text"], expected);
    assert!(expected.contains("short answers") && expected.contains("opens at six"));
}
