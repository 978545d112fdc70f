use pretty_assertions::assert_eq;

use super::*;
use crate::fake::FakeApi;

async fn call(api: &Arc<FakeApi>, tool: &str, arguments: Value) -> Result<String, ToolError> {
    let shared: Arc<dyn Api> = api.clone();
    let executors = executors(&shared);
    executors[tool].execute(arguments.as_object().unwrap().clone()).await
}

/// MEM-04
#[tokio::test]
async fn what_is_remembered_can_be_recalled() {
    let api = Arc::new(FakeApi::default());
    let kept = call(&api, "remember", json!({ "text": " Invoice 7 is open. " })).await.unwrap();
    assert_eq!(kept, "remembered at 1970-01-01T00:00:00Z: Invoice 7 is open.");
    let found = call(&api, "recall", json!({ "query": "Invoice" })).await.unwrap();
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["items"][0]["text"], json!("Invoice 7 is open."));
}

/// LOOP-09
#[tokio::test]
async fn a_repeated_identical_call_is_marked_as_unchanged() {
    let api = Arc::new(FakeApi::default());
    let shared: Arc<dyn Api> = api.clone();
    let recall = executors(&shared)["recall"].clone();
    let mut found = Vec::new();
    for query in ["tide", "tide", "moon", "tide"] {
        if found.len() == 3 {
            api.remember("The tide table is on page 4.").await.unwrap();
        }
        let arguments = json!({ "query": query }).as_object().unwrap().clone();
        let result = recall.execute(arguments).await.unwrap();
        found.push(result.contains(r#""unchanged":true"#));
    }
    assert_eq!(found, [false, true, false, false]);
}

/// LOOP-25
#[tokio::test]
async fn a_failing_tool_says_which_service_failed_and_how() {
    let api = Arc::new(FakeApi::default());
    api.fail("recall", 500, "disk full");
    let error = call(&api, "recall", json!({ "query": "x" })).await.unwrap_err();
    assert_eq!(error, ToolError::Failed("api recall failed: HTTP 500: disk full".to_owned()));
}

/// LOOP-25
#[tokio::test]
async fn a_write_without_an_answer_has_an_unknown_outcome() {
    let api = Arc::new(FakeApi::default());
    api.state().failing.insert("remember", Failure::TimedOut);
    let error = call(&api, "remember", json!({ "text": "x" })).await.unwrap_err();
    assert!(matches!(error, ToolError::Unknown(_)), "{error}");
}

/// LOOP-25
#[tokio::test]
async fn arguments_that_do_not_fit_are_told_to_the_model() {
    let api = Arc::new(FakeApi::default());
    for (tool, arguments) in [
        ("remember", json!({})),
        ("remember", json!({ "text": "  " })),
        ("recall", json!({ "query": 7 })),
        ("get_agent", json!({ "id": "ann" })),
        ("list_agents", json!({ "limit": -1 })),
    ] {
        let error = call(&api, tool, arguments.clone()).await.unwrap_err();
        assert!(matches!(error, ToolError::Failed(_)), "{tool} {arguments}: {error}");
    }
    assert!(api.state().calls.is_empty(), "nothing was asked of the API");
}

#[tokio::test]
async fn an_agent_record_that_is_too_long_loses_its_instructions_and_keeps_its_identity() {
    let api = Arc::new(FakeApi::default());
    let record = call(&api, "get_agent", json!({ "agent_id": "ann" })).await.unwrap();
    assert!(record.starts_with(r#"{"id":"ann","slug":"ann-of-billing","name":"Ann""#), "{record}");
    assert!(record.ends_with(r#""instructions":"Watch the invoices."}"#), "{record}");

    api.state().agent.instructions = "x".repeat(2 * crate::catalog::RESULT_BYTES);
    let record = call(&api, "get_agent", json!({ "agent_id": "ann" })).await.unwrap();
    assert!(record.len() <= crate::catalog::RESULT_BYTES, "{} bytes", record.len());
    let record: Value = serde_json::from_str(&record).unwrap();
    assert_eq!((&record["id"], &record["tools"]), (&json!("ann"), &json!([])));

    let listed = call(&api, "list_agents", json!({})).await.unwrap();
    assert!(!listed.contains("instructions"), "{listed}");
}

/// LOOP-25
#[tokio::test]
async fn a_write_that_broke_off_may_have_taken_effect_and_a_refused_one_has_not() {
    let api = Arc::new(FakeApi::default());
    let status = |status| Failure::Status { status, problem: "x".to_owned(), reason: None };
    for (failure, is_unknown) in [
        (Failure::Unreachable("connection reset".to_owned()), true),
        (Failure::Unreadable("garbage".to_owned()), true),
        (status(502), true),
        (status(504), true),
        (status(403), false),
        (status(422), false),
        (status(503), false),
        (Failure::NoToken("none".to_owned()), false),
    ] {
        api.state().failing.insert("remember", failure.clone());
        let error = call(&api, "remember", json!({ "text": "x" })).await.unwrap_err();
        assert_eq!(matches!(error, ToolError::Unknown(_)), is_unknown, "{failure:?}: {error}");
    }
}

/// LOOP-08, LOOP-09
#[tokio::test]
async fn a_record_that_just_fits_still_fits_when_it_is_marked_as_unchanged() {
    let api = Arc::new(FakeApi::default());
    let shared: Arc<dyn Api> = api.clone();
    let get = executors(&shared)["get_agent"].clone();
    let limit = crate::catalog::RESULT_BYTES;
    for length in limit - 700..limit {
        api.state().agent.instructions = "x".repeat(length);
        for _ in 0..2 {
            let arguments = json!({ "agent_id": "ann" }).as_object().unwrap().clone();
            let record = get.execute(arguments).await.unwrap();
            assert!(record.len() <= limit, "{} bytes for {length}", record.len());
        }
    }
}

/// SWARM-02, SWARM-04
#[tokio::test]
async fn a_swarm_is_started_as_the_catalog_describes_it_and_dismissed_by_its_id() {
    let api = Arc::new(FakeApi::default());
    let swarm = json!({ "goal": "Map the coast.", "members": [
        { "name": "north", "instructions": "Look north.", "tools": ["get_agent"] },
        { "name": "south", "instructions": "Look south.", "harness_id": "agent-v1", "model": "auto" },
    ]});
    let spawned = call(&api, "spawn_swarm", swarm).await.unwrap();
    let spawned: Value = serde_json::from_str(&spawned).unwrap();
    assert_eq!(spawned["members"][1]["agent_id"], json!("ann-1-south"));
    assert_eq!(api.state().swarms[0].members[0].tools, ["get_agent"]);
    let arguments = json!({ "swarm_id": spawned["swarm_id"] });
    let dismissed = call(&api, "dismiss_swarm", arguments).await.unwrap();
    assert!(dismissed.contains(r#""dismissed":true"#), "{dismissed}");
    let unknown = call(&api, "dismiss_swarm", json!({ "swarm_id": "none" })).await.unwrap_err();
    assert!(matches!(unknown, ToolError::Failed(_)), "{unknown}");
    for arguments in [json!({ "goal": "x" }), json!({ "goal": "x", "members": [], "x": 1 })] {
        let error = call(&api, "spawn_swarm", arguments).await.unwrap_err();
        assert!(matches!(error, ToolError::Failed(_)), "{error}");
    }
    api.state().failing.insert("spawn swarm", Failure::TimedOut);
    let lost = call(&api, "spawn_swarm", json!({ "goal": "x", "members": [] })).await;
    assert!(matches!(lost, Err(ToolError::Unknown(_))), "{lost:?}");
}

/// CODE-36
#[tokio::test]
async fn the_dead_letter_queue_is_read_and_can_not_be_changed_by_any_tool() {
    let api = Arc::new(FakeApi::default());
    let read = call(&api, "list_queue_errors", json!({ "queue": "ingest" })).await.unwrap();
    let read: Value = serde_json::from_str(&read).unwrap();
    assert_eq!(read["items"][0]["queue"], json!("ingest"));

    let shared: Arc<dyn Api> = api.clone();
    let executors = executors(&shared);
    assert!(!executors.contains_key("requeue_queue_jobs"));
    assert!(!executors.contains_key("expire_queue_job"));
}
