//! What a coding agent's harness reports, and how it reaches the run's status.

use std::time::Duration;

use foundry_crds::coding_run::{Approval, CheckResult};
use http::StatusCode;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::app::TestApp;

const REPORTS: &str = "/v1/agents/mend/coding";

fn full() -> Value {
    json!({
        "generation": 1, "branch": "flow/mend", "base_commit": "a1", "head_commit": "b2",
        "checks": [
            {"name": "go test ./...", "passed": true}, {"name": "go vet ./...", "passed": false},
        ],
        "attempts": 2, "turns": 17,
        "pull_request": {"url": "https://git.example/acme/greeting/pull/7", "number": 7},
        "result": {"outcome": "completed", "summary": "The greeting is mended."},
    })
}

#[tokio::test]
async fn a_report_reaches_the_status_of_the_run_under_one_manager() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let pod = app.pod("mend").await;
    pod.post(REPORTS, &full()).await.expect(StatusCode::NO_CONTENT);
    let reported = app.until_reported("mend", |reported| reported.result.is_some()).await;
    assert_eq!(reported.start_number, Some(1));
    assert_eq!(reported.branch.as_deref(), Some("flow/mend"));
    assert_eq!(reported.check_summary.as_deref(), Some("1/2"));
    assert_eq!(reported.checks[1].result, CheckResult::Failed);
    assert_eq!(reported.usage.map(|usage| usage.calls), Some(0));
    assert_eq!(reported.pull_request.map(|request| request.number), Some(7));
    assert_eq!(reported.result.unwrap().outcome, "completed");
    let run = app.cluster.coding_run("mend").await;
    let managers = run.metadata.managed_fields.unwrap_or_default();
    let ours = managers.iter().filter(|entry| entry.subresource.as_deref() == Some("status"));
    let ours = ours.map(|entry| entry.manager.as_deref().unwrap()).collect::<Vec<_>>();
    assert_eq!(ours, ["foundry-api/reported"]);

    // The same again, as after a lost answer, changes nothing; more is too late.
    pod.post(REPORTS, &full()).await.expect(StatusCode::NO_CONTENT);
    let late = json!({"generation": 1, "turns": 18});
    assert_eq!(pod.post(REPORTS, &late).await.problem(StatusCode::CONFLICT), "TaskEnded");
    let view = app.ann().get("/v1/coding-runs/mend").await.expect(StatusCode::OK);
    assert_eq!((&view["turns"], &view["checks"][0]["passed"]), (&json!(17), &json!(true)));
    assert_eq!(view["result"]["outcome"], "completed");
}

/// LIFE-14
#[tokio::test]
async fn a_later_start_begins_anew_and_what_an_earlier_one_still_sends_is_refused() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let pod = app.pod("mend").await;
    pod.post(REPORTS, &full()).await.expect(StatusCode::NO_CONTENT);
    let not_counted = json!({"generation": 2, "turns": 1});
    let early = pod.post(REPORTS, &not_counted).await;
    assert_eq!(early.problem(StatusCode::UNPROCESSABLE_ENTITY), "UnknownStart");

    app.cluster.start_process("mend", 2).await;
    app.until_started("mend", 2).await;
    let begins = app.ann().get("/v1/coding-runs/mend").await.expect(StatusCode::OK);
    assert_eq!((&begins["result"], &begins["turns"]), (&Value::Null, &json!(0)));
    let late = pod.post(REPORTS, &full()).await;
    assert_eq!(late.problem(StatusCode::CONFLICT), "Superseded");
    pod.post(REPORTS, &not_counted).await.expect(StatusCode::NO_CONTENT);
    let anew = app.until_reported("mend", |reported| reported.start_number == Some(2)).await;
    assert_eq!((anew.turns, anew.result, anew.branch), (Some(1), None, None));
    assert_eq!(anew.checks, []);
}

/// CODE-31, CODE-33
#[tokio::test]
async fn an_agent_approves_its_own_plan_only_where_the_run_says_so() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    app.create_run("alone", |spec| spec.approval = Some(Approval::Itself)).await;
    for (id, expected) in [("mend", StatusCode::CONFLICT), ("alone", StatusCode::NO_CONTENT)] {
        let pod = app.pod(id).await;
        let plan = json!({"generation": 1, "markdown": "# Mend it"});
        let plans = format!("/v1/agents/{id}/plans");
        let saved = pod.post(&plans, &plan).await.expect(StatusCode::CREATED);
        let report = |sha256: &Value| json!({"generation": 1, "approved_plan_sha256": sha256});
        let reports = format!("/v1/agents/{id}/coding");
        let answer = pod.post(&reports, &report(&saved["sha256"])).await;
        assert_eq!(answer.status, expected, "{id}: {}", answer.text);
        if id == "mend" {
            assert_eq!(answer.problem(StatusCode::CONFLICT), "NotSelfApproving");
        } else {
            let other = pod.post(&reports, &report(&json!("00"))).await;
            assert_eq!(other.problem(StatusCode::CONFLICT), "PlanChanged");
        }
    }
    let approved = app.until_reported("alone", |reported| {
        reported.plan.as_ref().is_some_and(|plan| plan.approved_by.is_some())
    });
    let by = approved.await.plan.unwrap().approved_by;
    assert_eq!(by.as_deref(), Some("alone@dev-ai.flow.life"));
    let waiting = app.until_reported("mend", |reported| reported.plan.is_some()).await;
    assert_eq!(waiting.plan.unwrap().approved_by, None);
}

/// CODE-31, CODE-33
#[tokio::test]
async fn a_run_that_an_agent_spawned_approves_its_own_plan_and_shows_so() {
    let app = TestApp::start().await;
    app.create("lead").await;
    app.create_run("mend", |spec| spec.agent = Some("lead".into())).await;
    let view = app.ann().get("/v1/agents/mend").await.expect(StatusCode::OK);
    let expected = json!({
        "remote": "ssh://git@git.example/acme/greeting.git", "approval": "self",
        "turns_per_attempt": 60, "wall_clock_seconds": 1800,
    });
    assert_eq!(view["repository"], expected);
    let edit = json!({"repository": {"remote": "ssh://git@git.example/acme/other.git"}});
    let refused = app.ann().patch("/v1/agents/mend", &edit).await;
    assert_eq!(refused.problem(StatusCode::CONFLICT), "OfACodingRun");
}

#[tokio::test]
async fn an_agent_that_the_run_of_its_name_did_not_make_reports_nothing_to_it() {
    let app = TestApp::start().await;
    app.cluster.create_coding_harness().await;
    // Another run of the name made this agent, and was deleted since.
    let earlier = app.cluster.create_coding_run("mend", |_| {}).await;
    app.cluster.coding_runs().delete("mend", &kube::api::DeleteParams::default()).await.unwrap();
    testenv::eventually("the run is gone", Duration::from_secs(10), || async {
        let run = app.cluster.coding_runs().get_opt("mend").await.unwrap();
        if run.is_none() { Ok(()) } else { Err("it is there") }
    })
    .await;
    app.cluster.create_coding_run("mend", |_| {}).await;
    app.cluster.create_agent_of(&earlier).await;
    app.cluster.start_process("mend", 1).await;
    app.until_started("mend", 1).await;
    let key = foundry_store::AgentKey::new(&app.namespace.name, "mend");
    let service = app.service(Some("mend"));
    service.post(REPORTS, &full()).await.expect(StatusCode::NO_CONTENT);
    testenv::eventually("the delivery is done", Duration::from_secs(10), || async {
        let far = app.app.clock.now() + jiff::SignedDuration::from_hours(1);
        let minute = Duration::from_mins(1);
        let due = app.app.store.claim_outbox("coding-task", far, minute, 9).await.unwrap();
        let waits = due.iter().any(|delivery| delivery.key == key);
        if waits { Err("it waits") } else { Ok(()) }
    })
    .await;
    let run = app.cluster.coding_run("mend").await;
    assert_eq!(run.status.and_then(|status| status.reported), None);
    let view = app.ann().get("/v1/coding-runs/mend").await.expect(StatusCode::OK);
    assert_eq!(view["result"], Value::Null);
}

#[tokio::test]
async fn a_run_made_again_under_one_name_begins_with_nothing_of_the_first() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let pod = app.pod("mend").await;
    let key = foundry_store::AgentKey::new(&app.namespace.name, "mend");
    // What happened an hour ago, for a resource's age has whole seconds.
    let earlier = app.app.clock.now() - jiff::SignedDuration::from_hours(1);
    let first = app.cluster.agent("mend").await.metadata.uid.unwrap();
    let start = foundry_store::AgentStart {
        key: key.clone(),
        uid: first.clone(),
        generation: 1,
        after_result: foundry_store::AfterResult::Refuse,
    };
    let progress = foundry_store::CodingProgress { turns: Some(9), ..Default::default() };
    app.app.store.report_coding(&start, progress, earlier).await.unwrap();
    let wake = foundry_store::NewWake { source: "person".into(), ..Default::default() };
    app.app.store.record_wake(&key, &wake, earlier).await.unwrap();
    pod.get("/v1/agents/mend/inbox?wait_seconds=0").await.expect(StatusCode::OK);

    let delete = kube::api::DeleteParams::default();
    app.cluster.coding_runs().delete("mend", &delete).await.unwrap();
    testenv::eventually(
        "the garbage collector took the agent",
        Duration::from_secs(30),
        || async {
            let agent = app.cluster.agents().get_opt("mend").await.unwrap();
            if agent.is_none() { Ok(()) } else { Err("it is there") }
        },
    )
    .await;
    app.create_run("mend", |_| {}).await;
    testenv::eventually("the rows of the first are gone", Duration::from_secs(20), || async {
        let task = app.app.store.coding_task(&key, &first).await.unwrap();
        if task.is_none() { Ok(()) } else { Err(format!("{task:?}")) }
    })
    .await;
    let second = app.pod("mend").await;
    let inbox = second.get("/v1/agents/mend/inbox?wait_seconds=0").await.expect(StatusCode::OK);
    assert_eq!(inbox, json!({"wakes": []}));
    let late = pod.post(REPORTS, &full()).await;
    assert!(late.status.is_client_error(), "the first one's pod speaks for nobody: {}", late.text);
    let report = json!({"generation": 1, "turns": 2});
    second.post(REPORTS, &report).await.expect(StatusCode::NO_CONTENT);
    let reported = app.until_reported("mend", |reported| reported.turns.is_some()).await;
    assert_eq!((reported.turns, reported.result), (Some(2), None));
}

/// Rows first, status second: what the status cannot take yet is tried again.
#[tokio::test]
async fn a_report_that_the_status_does_not_take_is_kept_and_delivered_later() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let intruder = json!({"reported": {"branch": "of-somebody-else"}});
    app.cluster.apply_run_status("intruder", "mend", intruder).await;
    let pod = app.pod("mend").await;
    let report = json!({"generation": 1, "branch": "flow/mend", "turns": 3});
    pod.post(REPORTS, &report).await.expect(StatusCode::NO_CONTENT);
    let view = app.ann().get("/v1/coding-runs/mend").await.expect(StatusCode::OK);
    assert_eq!(view["branch"], "flow/mend", "the rows have it");
    let run = app.cluster.coding_run("mend").await;
    let shown = run.status.unwrap().reported.unwrap();
    assert_eq!((shown.branch.as_deref(), shown.turns), (Some("of-somebody-else"), None));

    app.cluster.apply_run_status("intruder", "mend", json!({})).await;
    let reported = app.until_reported("mend", |reported| reported.turns.is_some()).await;
    assert_eq!(reported.branch.as_deref(), Some("flow/mend"));
}

#[tokio::test]
async fn a_report_that_no_status_could_hold_is_refused_with_its_field() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let pod = app.pod("mend").await;
    let check = |name: &str| json!({"name": name, "passed": true});
    let request = |url: &str, number: i64| json!({"url": url, "number": number});
    let result = json!({"outcome": "completed", "summary": "x".repeat(8 * 1024 + 1)});
    for (name, value, field) in [
        ("branch", json!("b".repeat(256)), "branch"),
        ("head_commit", json!("c".repeat(65)), "head_commit"),
        ("checks", json!(vec![check("go test"); 101]), "checks"),
        ("checks", json!([check("")]), "checks.name"),
        ("checks", json!([check(&"n".repeat(513))]), "checks.name"),
        ("turns", json!(2_000_000_000_u32), "turns"),
        ("turns", json!(-1), "turns"),
        ("attempts", json!(1_000_001), "attempts"),
        ("pull_request", request("javascript:alert(1)", 1), "pull_request.url"),
        ("pull_request", request("/pull/1", 1), "pull_request.url"),
        ("pull_request", request("https://git.example/1", 0), "pull_request.number"),
        ("result", result, "result.summary"),
        ("result", json!({"outcome": "splendid", "summary": ""}), "result.outcome"),
        ("colour", json!("red"), "colour"),
    ] {
        let mut report = json!({"generation": 1});
        report[name] = value;
        let refused = pod.post(REPORTS, &report).await;
        let problem = refused.expect(StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(problem["field"], field, "{problem}");
    }
    let nothing = app.ann().get("/v1/coding-runs/mend").await.expect(StatusCode::OK);
    assert_eq!(nothing["branch"], Value::Null);
}

#[tokio::test]
async fn an_expiry_takes_the_question_from_the_status() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let _operator = app.cluster.play_operator(None);
    let pod = app.pod("mend").await;
    let question = json!({
        "id": uuid::Uuid::now_v7(), "generation": 1, "kind": "question", "text": "Which?",
    });
    pod.post("/v1/agents/mend/questions", &question).await.expect(StatusCode::CREATED);
    app.until_reported("mend", |reported| reported.question.is_some()).await;
    app.ann().act("/v1/agents/mend/expire").await.expect(StatusCode::OK);
    app.until_reported("mend", |reported| reported.question.is_none()).await;
}
