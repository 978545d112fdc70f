//! Wakes for ephemeral agents that are over.

use std::time::Duration;

use foundry_crds::agent::{DesiredState, Lifecycle};
use http::StatusCode;
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::{Value, json};

use super::{agents::ephemeral, app::TestApp};

const CHILD: &str = "/v1/agents/child/inbox";

/// `lead` is persistent; `middle` and below it `child` are ephemeral.
async fn with_child() -> TestApp {
    let app = TestApp::start().await;
    app.create("lead").await;
    for (id, parent) in [("middle", "lead"), ("child", "middle")] {
        app.cluster.create_agent(id, ephemeral(parent)).await;
        app.until_listed(id).await;
    }
    app
}

/// Ends the child in one of the ways there are.
async fn end(app: &TestApp, way: &str) {
    match way {
        "expire" | "archive" => {
            let _operator = app.cluster.play_operator(None);
            app.ann().act(&format!("/v1/agents/child/{way}")).await.expect(StatusCode::OK);
        }
        _ => {
            app.cluster.start_process("child", 1).await;
            app.cluster.end_process("child", 1).await;
        }
    }
}

fn wake(text: &str, thread: &str) -> Value {
    json!({"source": "mail", "text": text, "thread_id": thread})
}

async fn inbox(app: &TestApp, id: &str) -> Value {
    let pod = app.pod(id).await;
    let path = format!("/v1/agents/{id}/inbox?wait_seconds=0");
    pod.get(&path).await.expect(StatusCode::OK)["wakes"].clone()
}

/// LIFE-18
#[rstest]
#[case::expired("expire")]
#[case::archived("archive")]
#[case::ended_by_itself("end")]
#[tokio::test]
async fn a_wake_for_an_agent_that_is_over_reaches_the_persistent_one_and_starts_nothing(
    #[case] way: &str,
) {
    let app = with_child().await;
    end(&app, way).await;
    let before = app.cluster.agent("child").await;
    let recorded = app.ann().post(CHILD, &wake("too late", "t-1")).await;
    let recorded = recorded.expect(StatusCode::CREATED);
    assert_eq!(recorded["addressed_to"], "child");
    let after = app.cluster.agent("child").await;
    assert_eq!(after.spec, before.spec, "it is not brought back");
    assert_eq!(inbox(&app, "lead").await, json!([recorded]));
    assert_eq!(inbox(&app, "middle").await, json!([]));
    assert_eq!(inbox(&app, "child").await, json!([]));
}

/// LIFE-18
#[tokio::test]
async fn a_wake_that_is_handed_on_is_acknowledged_by_a_run_of_the_agent_that_got_it() {
    let app = with_child().await;
    end(&app, "expire").await;
    let recorded = app.ann().post(CHILD, &wake("too late", "t-1")).await;
    let recorded = recorded.expect(StatusCode::CREATED);
    assert_eq!(inbox(&app, "lead").await.as_array().unwrap().len(), 1);
    let run = json!({
        "id": uuid::Uuid::now_v7(), "wake_id": recorded["id"], "reason": "wake",
        "started_at": "2026-01-02T03:04:05Z", "finished_at": "2026-01-02T03:04:06Z",
        "turns": 1, "input_tokens": 1, "output_tokens": 1, "outcome": "end_turn",
    });
    let pod = app.pod("lead").await;
    pod.post("/v1/agents/lead/runs", &run).await.expect(StatusCode::CREATED);
    app.pass(Duration::from_secs(61));
    assert_eq!(inbox(&app, "lead").await, json!([]));
}

/// LIFE-18
#[tokio::test]
async fn later_messages_of_its_threads_reach_the_persistent_one_when_the_agent_is_gone() {
    let app = with_child().await;
    // One thread while it lives, one when it is over.
    app.ann().post(CHILD, &wake("hello", "t-1")).await.expect(StatusCode::CREATED);
    end(&app, "expire").await;
    app.ann().post(CHILD, &wake("too late", "t-2")).await.expect(StatusCode::CREATED);
    app.cluster.agents().delete("child", &kube::api::DeleteParams::default()).await.unwrap();
    testenv::eventually("the agent is gone", Duration::from_secs(15), || async {
        let status = app.ann().get("/v1/agents/child/logs").await.status;
        if status == StatusCode::NOT_FOUND { Ok(()) } else { Err(status.to_string()) }
    })
    .await;
    for thread in ["t-1", "t-2"] {
        let later = app.ann().post(CHILD, &wake("still there?", thread)).await;
        assert_eq!(later.expect(StatusCode::CREATED)["addressed_to"], "child", "{thread}");
    }
    let texts = inbox(&app, "lead").await;
    let texts = texts.as_array().unwrap().iter().map(|wake| wake["text"].clone());
    assert_eq!(texts.collect::<Vec<_>>(), ["too late", "still there?", "still there?"]);

    let unknown = app.ann().post(CHILD, &wake("who?", "t-3")).await;
    unknown.problem(StatusCode::NOT_FOUND);
    let unreadable = app.ann().post(CHILD, &json!({"colour": "red"})).await;
    unreadable.problem(StatusCode::NOT_FOUND);
    let stranger = app.person("sam", &["member"]).post(CHILD, &wake("hm", "t-1")).await;
    assert_eq!(stranger.problem(StatusCode::NOT_FOUND), "NotFound", "nothing is told of it");
}

/// LIFE-18, LIFE-17, LIFE-08: one that a start brings back keeps its own wakes.
#[tokio::test]
async fn an_ephemeral_agent_that_is_only_stopped_keeps_its_wakes() {
    let app = with_child().await;
    let _operator = app.cluster.play_operator(None);
    app.ann().act("/v1/agents/child/stop").await.expect(StatusCode::OK);
    let agent = app.cluster.agent("child").await;
    assert_eq!(agent.spec.lifecycle(), Lifecycle::Active);
    assert_eq!(agent.spec.desired_state(), DesiredState::Completed);
    let recorded = app.ann().post(CHILD, &wake("later", "t-1")).await.expect(StatusCode::CREATED);
    assert_eq!(inbox(&app, "child").await, json!([recorded]));
    assert_eq!(inbox(&app, "lead").await, json!([]));
}

/// LIFE-18
#[tokio::test]
async fn a_wake_for_an_agent_that_is_over_and_has_none_above_it_is_kept() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    app.cluster.end_process("mend", 1).await;
    let path = "/v1/agents/mend/inbox";
    let recorded = app.ann().post(path, &wake("thanks", "t-1")).await.expect(StatusCode::CREATED);
    assert_eq!(recorded["addressed_to"], Value::Null);
    assert_eq!(inbox(&app, "mend").await, json!([recorded]));
}

/// LIFE-18
#[tokio::test]
async fn an_agent_that_speaks_to_one_of_its_own_that_is_over_does_not_wake_itself() {
    let app = with_child().await;
    end(&app, "expire").await;
    let pod = app.pod("lead").await;
    pod.post(CHILD, &wake("go on", "t-1")).await.expect(StatusCode::CREATED);
    assert_eq!(inbox(&app, "lead").await, json!([]));
}
