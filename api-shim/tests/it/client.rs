use std::sync::Arc;

use foundry_client::{
    Approval, AskQuestion, Client, CodingOutcome, CodingReport, CodingResult, CreateAgent,
    EditAgent, FileToken, Heartbeat, LogEvent, LogLevel, PostAnswer, QuestionKind, RecordWake,
    RunRecord, SavePlan, SpawnCodingAgent, SpawnMember, SpawnSwarm, StaticToken,
};
use pretty_assertions::assert_eq;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use super::app::TestApp;

/// Serves the application on a port of its own.
async fn serve(app: &TestApp) -> (String, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = app.router.clone();
    let serving = async move { axum::serve(listener, router).await.unwrap() };
    #[expect(clippy::disallowed_methods, reason = "ends with the test by its handle")]
    let handle = AbortOnDropHandle::new(tokio::spawn(serving));
    (url, handle)
}

fn token_of(app: &TestApp) -> String {
    let request =
        fakes::issuer::TokenRequest::person("ann", &[&app.namespace.name]).with_roles(&["member"]);
    app.issuer.token(&request).unwrap()
}

#[tokio::test]
async fn the_typed_client_and_the_routes_understand_each_other() {
    let app = TestApp::start().await;
    let _operator = app.cluster.play_operator(None);
    let (url, _serving) = serve(&app).await;
    let ann = Client::new(&url, Arc::new(StaticToken::new(token_of(&app)))).unwrap();

    let create = CreateAgent {
        name: "Scout".into(),
        harness_id: "agent-v1".into(),
        ..CreateAgent::default()
    };
    let agent = ann.create_agent(&create).await.unwrap();
    app.until_listed(&agent.id).await;
    let id = agent.id.as_str();
    let edit = EditAgent { instructions: Some("look".into()), ..EditAgent::default() };
    assert_eq!(ann.edit_agent(id, &edit).await.unwrap().instructions, "look");
    assert_eq!(ann.list_agents(Some("scout"), Some(5), None).await.unwrap().items.len(), 1);
    assert_eq!(ann.list_children(id).await.unwrap().items.len(), 0);
    assert_eq!(ann.start_agent(id).await.unwrap().generation, 1);
    assert_eq!(ann.restart_agent(id).await.unwrap().generation, 2);
    assert_eq!(ann.get_agent(id).await.unwrap().process_generation, 2);
    assert!(!ann.list_tools().await.unwrap().items.is_empty());
    assert!(ann.list_models().await.unwrap().items.is_empty());
    assert_eq!(ann.get_harness("agent-v1").await.unwrap().id, "agent-v1");
    assert_eq!(ann.me().await.unwrap().subject, "ann");

    let pod = app.cluster.create_local_pod(id).await;
    let file = app.folder.path().join("pod token");
    std::fs::write(&file, app.cluster.token_of_pod(&pod).await).unwrap();
    let harness = Client::new(&url, Arc::new(FileToken::new(&file))).unwrap();
    let wake = RecordWake { source: "person".into(), ..RecordWake::default() };
    let wake = ann.record_wake(id, &wake).await.unwrap();
    assert_eq!(harness.poll_inbox(id, 1).await.unwrap().wakes, std::slice::from_ref(&wake));
    let now = app.app.clock.now();
    let run = RunRecord {
        id: Uuid::now_v7(),
        wake_id: Some(wake.id),
        reason: "wake".into(),
        started_at: now,
        finished_at: now,
        turns: 1,
        input_tokens: 1,
        output_tokens: 1,
        outcome: "end_turn".into(),
    };
    harness.record_run(id, &run).await.unwrap();
    assert_eq!(ann.list_runs(id, None, None).await.unwrap().items[0].id, run.id);
    let event = LogEvent {
        id: Uuid::now_v7(),
        at: now,
        kind: "think".into(),
        level: LogLevel::Warn,
        message: "hm".into(),
        data: None,
    };
    harness.post_logs(id, vec![event]).await.unwrap();
    assert_eq!(ann.read_logs(id, 0, Some(10), Some("think")).await.unwrap().items.len(), 1);
    let beat =
        Heartbeat { at: now, process_id: Uuid::now_v7(), generation: 2, context_percent: None };
    harness.heartbeat(id, &beat).await.unwrap();
    let memory = harness.remember(id, "a fact").await.unwrap();
    assert_eq!(
        harness.recall(id, "FACT", None).await.unwrap().items,
        std::slice::from_ref(&memory)
    );
    assert!(harness.thoughts(id).await.unwrap().text.contains("a fact"));
    assert_eq!(ann.list_memories(id, None, None, None).await.unwrap().items.len(), 1);
    ann.delete_memory(id, memory.id).await.unwrap();
    ann.purge_memories(id).await.unwrap();
    assert_eq!(ann.usage(id).await.unwrap().calls, 0);
    ann.stop_agent(id).await.unwrap();
    ann.expire_agent(id).await.unwrap();
    ann.archive_agent(id).await.unwrap();
}

#[tokio::test]
async fn the_typed_client_and_the_coding_routes_understand_each_other() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    app.create("lead").await;
    let (url, _serving) = serve(&app).await;
    let ann = Client::new(&url, Arc::new(StaticToken::new(token_of(&app)))).unwrap();
    let pod = app.cluster.create_local_pod("mend").await;
    let token = app.cluster.token_of_pod(&pod).await;
    let harness = Client::new(&url, Arc::new(StaticToken::new(token))).unwrap();

    let scope = harness.get_agent("mend").await.unwrap().repository.unwrap();
    assert_eq!(scope.approval, Some(Approval::Person));
    let plan = SavePlan { generation: 1, markdown: "# Mend it".into() };
    let saved = harness.save_plan("mend", &plan).await.unwrap();
    let link = ann.plan_link("mend", &saved.document_id).await.unwrap();
    assert!(link.url.starts_with(&format!("{url}/v1/documents/")), "{}", link.url);
    let question = AskQuestion {
        id: Uuid::now_v7(),
        generation: 1,
        kind: QuestionKind::Plan,
        text: "May I?".into(),
        options: vec![],
        recommended: None,
        plan_sha256: Some(saved.sha256.clone()),
    };
    let asked = harness.ask_question("mend", &question).await.unwrap();
    assert_eq!(ann.list_questions("mend").await.unwrap().items, std::slice::from_ref(&asked));
    assert_eq!(harness.poll_answer("mend", question.id, 0).await.unwrap().answer, None);
    let build = PostAnswer {
        question_id: Some(question.id),
        text: "build".into(),
        plan_sha256: Some(saved.sha256),
    };
    let answer = ann.answer("mend", &build).await.unwrap();
    let polled = harness.poll_answer("mend", question.id, 1).await.unwrap();
    assert_eq!(polled.answer, Some(answer));
    let report = CodingReport {
        generation: 1,
        turns: Some(3),
        result: Some(CodingResult { outcome: CodingOutcome::Completed, summary: "Mended.".into() }),
        ..CodingReport::default()
    };
    harness.report_coding("mend", &report).await.unwrap();
    let run = ann.get_coding_run("mend").await.unwrap();
    assert_eq!((run.turns, run.result), (3, report.result));
    assert_eq!(ann.list_coding_runs(Some(5), None).await.unwrap().items.len(), 1);
    let spawn = SpawnCodingAgent {
        task: "Mend it.".into(),
        remote: "git@git.example:acme/greeting.git".into(),
        ..SpawnCodingAgent::default()
    };
    let spawned = ann.spawn_coding_agent("lead", &spawn).await.unwrap();
    assert_eq!(spawned.parent_agent_id.as_deref(), Some("lead"));
    let none = harness.queue_errors("mend", Some("derive"), Some(5)).await.unwrap_err();
    assert_eq!(none.status(), Some(503), "{none}");
}

#[tokio::test]
async fn the_typed_client_and_the_routes_of_swarms_understand_each_other() {
    let app = TestApp::start().await;
    app.create("lead").await;
    let (url, _serving) = serve(&app).await;
    let ann = Client::new(&url, Arc::new(StaticToken::new(token_of(&app)))).unwrap();
    let member = SpawnMember {
        name: "north".into(),
        instructions: "Look north.".into(),
        ..SpawnMember::default()
    };
    let asked = SpawnSwarm {
        goal: "Map the coast.".into(),
        members: vec![member],
        ..SpawnSwarm::default()
    };
    let swarm = ann.spawn_swarm("lead", &asked).await.unwrap();
    assert_eq!(swarm.members[0].agent_id, format!("{}-north", swarm.id));
    assert_eq!(ann.get_swarm(&swarm.id).await.unwrap(), swarm);
    testenv::eventually("it is listed", std::time::Duration::from_secs(10), || async {
        let page = ann.list_swarms("lead", Some(5), None).await.unwrap();
        if page.items == std::slice::from_ref(&swarm) { Ok(()) } else { Err(format!("{page:?}")) }
    })
    .await;
    assert!(ann.dismiss_swarm(&swarm.id).await.unwrap().dismissed);
}

#[tokio::test]
async fn a_refusal_reads_as_one_line_and_names_no_token() {
    let app = TestApp::start().await;
    let (url, _serving) = serve(&app).await;
    let ann = Client::new(&url, Arc::new(StaticToken::new(token_of(&app)))).unwrap();
    let error = ann.get_agent("nobody").await.unwrap_err();
    assert_eq!(error.to_string(), "api get agent failed: HTTP 404: there is no agent \"nobody\"");
    let nowhere = Client::new("http://127.0.0.1:9", Arc::new(StaticToken::new("secret"))).unwrap();
    let error = nowhere.me().await.unwrap_err();
    assert!(error.is_transient() && error.status().is_none());
    assert!(error.to_string().starts_with("api get me failed: "), "{error}");
    assert!(!format!("{error} {error:?} {nowhere:?}").contains("secret"));
}

#[tokio::test]
async fn a_token_file_is_read_again_on_each_use() {
    let app = TestApp::start().await;
    let (url, _serving) = serve(&app).await;
    let file = app.folder.path().join("token");
    let client = Client::new(&url, Arc::new(FileToken::new(&file))).unwrap();
    let missing = client.me().await.unwrap_err();
    assert!(missing.to_string().contains("failed to read token file"), "{missing}");
    std::fs::write(&file, token_of(&app)).unwrap();
    assert_eq!(client.me().await.unwrap().subject, "ann");
}
