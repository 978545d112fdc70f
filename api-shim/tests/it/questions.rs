//! Questions of agents, answers of people, and the approval of plans.

use std::time::{Duration, Instant};

use foundry_crds::coding_run::Reported;
use http::StatusCode;
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::{Value, json};
use uuid::Uuid;

use super::app::{As, TestApp};

const QUESTION: &str = "00000000-0000-0000-0000-000000000007";

/// A question in words.
fn words(id: &str) -> Value {
    json!({
        "id": id, "generation": 1, "kind": "question", "text": "Which of the two?",
        "options": ["the first", "the second"], "recommended": "the second",
    })
}

/// Saves a plan and asks about it; gives the question as it was answered.
async fn ask_about_plan(pod: &As<'_>, id: &str, markdown: &str) -> Value {
    let plan = json!({"generation": 1, "markdown": markdown});
    let saved = pod.post("/v1/agents/mend/plans", &plan).await.expect(StatusCode::CREATED);
    let question = json!({
        "id": id, "generation": 1, "kind": "plan", "text": "May I build this?",
        "plan_sha256": saved["sha256"],
    });
    pod.post("/v1/agents/mend/questions", &question).await.expect(StatusCode::CREATED)
}

fn is_approved(reported: &Reported) -> bool {
    reported.plan.as_ref().is_some_and(|plan| plan.approved_by.is_some())
}

fn build(sha256: &Value) -> Value {
    json!({"text": "build", "plan_sha256": sha256})
}

/// ROUTE-12, CODE-17
#[tokio::test]
async fn an_answer_reaches_the_agent_that_waits_for_it() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let pod = app.pod("mend").await;
    let asked = pod.post("/v1/agents/mend/questions", &words(QUESTION)).await;
    let asked = asked.expect(StatusCode::CREATED);
    let again = pod.post("/v1/agents/mend/questions", &words(QUESTION)).await;
    assert_eq!(again.expect(StatusCode::CREATED), asked, "asked twice, stored once");
    let open = app.ann().get("/v1/agents/mend/questions").await.expect(StatusCode::OK);
    assert_eq!(open, json!({"items": [asked]}));
    let shown = app.until_reported("mend", |reported| reported.question.is_some()).await;
    let shown = shown.question.unwrap();
    assert_eq!((shown.id.as_str(), shown.text.as_deref()), (QUESTION, Some("Which of the two?")));

    let poll = format!("/v1/agents/mend/questions/{QUESTION}/answer");
    let none = pod.get(&format!("{poll}?wait_seconds=0")).await.expect(StatusCode::OK);
    assert_eq!(none, json!({}), "nobody has answered yet");
    let started = Instant::now();
    let answer = json!({"text": "the first"});
    let ann = app.ann();
    let (polled, answered) =
        tokio::join!(pod.get(&poll), ann.post("/v1/agents/mend/answer", &answer));
    let answered = answered.expect(StatusCode::OK);
    assert_eq!(polled.expect(StatusCode::OK), json!({"answer": answered}));
    assert!(started.elapsed() < Duration::from_secs(11), "it did not wait to the end");
    assert_eq!((&answered["text"], &answered["answered_by"]), (&json!("the first"), &json!("ann")));
    assert_eq!(answered["question_id"], QUESTION);
    let open = app.ann().get("/v1/agents/mend/questions").await.expect(StatusCode::OK);
    assert_eq!(open, json!({"items": []}));
    app.until_reported("mend", |reported| reported.question.is_none()).await;
}

/// ROUTE-12
#[tokio::test]
async fn an_answer_to_one_replica_reaches_a_poll_held_open_by_another() {
    let (app, other) = TestApp::start_two_replicas().await;
    app.create_run("mend", |_| {}).await;
    let pod = app.pod("mend").await;
    pod.post("/v1/agents/mend/questions", &words(QUESTION)).await.expect(StatusCode::CREATED);
    let poll = format!("/v1/agents/mend/questions/{QUESTION}/answer");
    let elsewhere = async {
        let agent = app.cluster.agent("mend").await;
        let start = foundry_store::AgentStart {
            key: foundry_store::AgentKey::new(&app.namespace.name, "mend"),
            uid: agent.metadata.uid.unwrap(),
            generation: 1,
            after_result: foundry_store::AfterResult::Refuse,
        };
        let answer = foundry_store::NewAnswer {
            text: "the second".into(),
            plan_sha256: None,
            approves: false,
            by: "ann".into(),
        };
        let id = QUESTION.parse().unwrap();
        other.store.answer_question(&start, id, &answer, other.clock.now()).await.unwrap()
    };
    let started = Instant::now();
    let (polled, _) = tokio::join!(pod.get(&poll), elsewhere);
    assert_eq!(polled.expect(StatusCode::OK)["answer"]["text"], "the second");
    assert!(started.elapsed() < Duration::from_secs(11), "it did not wait to the end");
}

/// CODE-31
#[tokio::test]
async fn a_person_approves_a_plan_by_its_digest_and_the_status_says_who() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let pod = app.pod("mend").await;
    let question = ask_about_plan(&pod, QUESTION, "# Mend it").await;
    let waiting = app.until_reported("mend", |reported| reported.question.is_some()).await;
    assert_eq!(waiting.plan.as_ref().and_then(|plan| plan.approved_by.clone()), None);
    let approval = build(&question["plan_sha256"]);
    let answered = app.ann().post("/v1/agents/mend/answer", &approval).await;
    assert_eq!(answered.expect(StatusCode::OK)["plan_sha256"], question["plan_sha256"]);
    let approved = app.until_reported("mend", is_approved).await;
    assert_eq!(approved.question, None);
    let plan = approved.plan.unwrap();
    assert_eq!(plan.approved_by.as_deref(), Some("ann"));
    assert_eq!(json!(plan.sha256), question["plan_sha256"]);
    assert_eq!(approved.start_number, Some(1));
    let run = app.ann().get("/v1/coding-runs/mend").await.expect(StatusCode::OK);
    assert_eq!(run["plan"]["approved_by"], "ann");
}

/// CODE-31
#[tokio::test]
async fn an_approval_given_twice_is_the_first_and_another_answer_is_refused() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let pod = app.pod("mend").await;
    let question = ask_about_plan(&pod, QUESTION, "# Mend it").await;
    let mut approval = build(&question["plan_sha256"]);
    approval["question_id"] = json!(QUESTION);
    let first = app.ann().post("/v1/agents/mend/answer", &approval).await.expect(StatusCode::OK);
    approval["text"] = json!(" BUILD ");
    let second = app.ann().post("/v1/agents/mend/answer", &approval).await.expect(StatusCode::OK);
    assert_eq!(second, first);
    let change = json!({"question_id": QUESTION, "text": "no, wait"});
    let refused = app.ann().post("/v1/agents/mend/answer", &change).await;
    assert_eq!(refused.problem(StatusCode::CONFLICT), "AlreadyAnswered");
    let approved = app.until_reported("mend", is_approved).await;
    assert_eq!(approved.question, None);
    assert_eq!(approved.plan.unwrap().approved_by.as_deref(), Some("ann"));
}

/// CODE-31
#[tokio::test]
async fn a_plan_that_changed_is_not_approved_by_the_digest_of_the_old_one() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let pod = app.pod("mend").await;
    let old = ask_about_plan(&pod, QUESTION, "# Mend it").await;
    // Words change the plan; the agent saves another one and asks again.
    let change = json!({"text": "in two steps, please"});
    app.ann().post("/v1/agents/mend/answer", &change).await.expect(StatusCode::OK);
    let again = Uuid::now_v7().to_string();
    let new = ask_about_plan(&pod, &again, "# Mend it in two steps").await;
    let stale = app.ann().post("/v1/agents/mend/answer", &build(&old["plan_sha256"])).await;
    assert_eq!(stale.problem(StatusCode::CONFLICT), "PlanChanged");
    let approval = build(&new["plan_sha256"]);
    app.ann().post("/v1/agents/mend/answer", &approval).await.expect(StatusCode::OK);
    app.until_reported("mend", is_approved).await;

    // A plan that changes after its approval is approved by nobody.
    let third = json!({"generation": 1, "markdown": "# Something else"});
    let third = pod.post("/v1/agents/mend/plans", &third).await.expect(StatusCode::CREATED);
    let changed = app.until_reported("mend", |reported| !is_approved(reported)).await;
    assert_eq!(json!(changed.plan.unwrap().sha256), third["sha256"]);
}

/// CODE-31, AUTHZ-03, AUTHZ-05
#[tokio::test]
async fn nobody_without_the_right_answers_and_nothing_of_it_is_kept() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let members = json!({"members": [
        {"subject": "eve", "role": "editor"}, {"subject": "vic", "role": "viewer"},
    ]});
    app.cluster.merge_spec("mend", members).await;
    let pod = app.pod("mend").await;
    let question = ask_about_plan(&pod, QUESTION, "# Mend it").await;
    let approval = build(&question["plan_sha256"]);
    testenv::eventually("the members count", Duration::from_secs(10), || async {
        let status = app.person("vic", &["member"]).get("/v1/agents/mend").await.status;
        if status == StatusCode::OK { Ok(()) } else { Err(status.to_string()) }
    })
    .await;
    for (who, caller) in [
        ("a viewer", app.person("vic", &["member"])),
        ("a stranger", app.person("sam", &["member"])),
        ("an administrator", app.person("sam", &["admin"])),
        ("the owner, whom the policies let only look", app.person("ann", &["viewer"])),
        ("the agent itself", pod.clone()),
        ("a service in the agent's name", app.service(Some("mend"))),
    ] {
        let refused = caller.post("/v1/agents/mend/answer", &approval).await;
        assert_eq!(refused.problem(StatusCode::FORBIDDEN), "NotAllowed", "{who}");
    }
    let open = app.ann().get("/v1/agents/mend/questions").await.expect(StatusCode::OK);
    assert_eq!(open["items"][0], question, "it still waits");
    let eve = app.person("eve", &["member"]);
    eve.post("/v1/agents/mend/answer", &approval).await.expect(StatusCode::OK);
    let approved = app.until_reported("mend", is_approved).await;
    assert_eq!(approved.plan.unwrap().approved_by.as_deref(), Some("eve"));
}

/// ROUTE-12, CODE-31
#[tokio::test]
async fn an_answer_that_does_not_fit_its_question_is_refused_and_the_question_waits_on() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let pod = app.pod("mend").await;
    let ann = app.ann();
    let early = ann.post("/v1/agents/mend/answer", &json!({"text": "yes"})).await;
    assert_eq!(early.problem(StatusCode::NOT_FOUND), "NoQuestion");
    let question = ask_about_plan(&pod, QUESTION, "# Mend it").await;
    for (body, status, reason) in [
        (json!({"text": "build"}), 422, "Missing"),
        (json!({"text": "  "}), 422, "Empty"),
        (json!({"text": "x".repeat(16 * 1024 + 1)}), 422, "TooLong"),
        (json!({"text": "yes", "colour": "red"}), 422, "InvalidField"),
        (json!({"text": "yes", "question_id": Uuid::nil()}), 404, "UnknownQuestion"),
        (json!({"text": "yes", "question_id": "seven"}), 422, "InvalidField"),
        (build(&json!("00")), 409, "PlanChanged"),
    ] {
        let refused = ann.post("/v1/agents/mend/answer", &body).await;
        assert_eq!(refused.problem(StatusCode::from_u16(status).unwrap()), reason, "{body}");
    }
    let open = ann.get("/v1/agents/mend/questions").await.expect(StatusCode::OK);
    assert_eq!(open, json!({"items": [question]}));

    let second = Uuid::now_v7().to_string();
    pod.post("/v1/agents/mend/questions", &words(&second)).await.expect(StatusCode::CREATED);
    let which = ann.post("/v1/agents/mend/answer", &json!({"text": "yes"})).await;
    assert_eq!(which.problem(StatusCode::CONFLICT), "SeveralQuestions");
    let named = json!({"text": "the first", "question_id": second});
    ann.post("/v1/agents/mend/answer", &named).await.expect(StatusCode::OK);
}

/// ROUTE-12
#[rstest]
#[case::a_later_start(End::LaterStart)]
#[case::a_lost_process(End::Process)]
#[case::an_expiry(End::Spec(json!({"lifecycle": "expired", "desiredState": "completed"})))]
#[case::a_stop(End::Spec(json!({"desiredState": "completed"})))]
#[tokio::test]
async fn a_question_that_nobody_waits_on_any_more_is_closed(#[case] end: End) {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let pod = app.pod("mend").await;
    let question = ask_about_plan(&pod, QUESTION, "# Mend it").await;
    app.until_reported("mend", |reported| reported.question.is_some()).await;
    // What an earlier start reported stays until the later one reports.
    let later_start = matches!(end, End::LaterStart);
    match end {
        End::LaterStart => app.cluster.start_process("mend", 2).await,
        End::Process => app.cluster.end_process("mend", 1).await,
        End::Spec(spec) => {
            app.cluster.merge_spec("mend", spec).await;
        }
    }
    let approval = build(&question["plan_sha256"]);
    testenv::eventually("the question is gone", Duration::from_secs(10), || async {
        let open = app.ann().get("/v1/agents/mend/questions").await.expect(StatusCode::OK);
        if open == json!({"items": []}) { Ok(()) } else { Err(open.to_string()) }
    })
    .await;
    let named = json!({
        "text": "build", "plan_sha256": approval["plan_sha256"], "question_id": QUESTION,
    });
    let late = app.ann().post("/v1/agents/mend/answer", &named).await;
    assert_eq!(late.problem(StatusCode::CONFLICT), "QuestionClosed");
    let poll = format!("/v1/agents/mend/questions/{QUESTION}/answer");
    assert_eq!(pod.get(&poll).await.problem(StatusCode::CONFLICT), "QuestionClosed");
    if !later_start {
        app.until_reported("mend", |reported| reported.question.is_none()).await;
    }
}

/// What ends the wait for an answer.
enum End {
    LaterStart,
    Process,
    Spec(Value),
}

#[tokio::test]
async fn a_question_that_cannot_be_answered_is_not_asked() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let pod = app.pod("mend").await;
    let digest = "0".repeat(64);
    let long = "x".repeat(1025);
    for (change, field) in [
        (json!({"text": " "}), "text"),
        (json!({"text": "x".repeat(16 * 1024 + 1)}), "text"),
        (json!({"options": vec!["o"; 21]}), "options"),
        (json!({"options": [long]}), "options"),
        (json!({"plan_sha256": digest}), "plan_sha256"),
        (json!({"kind": "plan"}), "plan_sha256"),
        (json!({"kind": "plan", "plan_sha256": "ABC"}), "plan_sha256"),
        (json!({"generation": 2}), "generation"),
        (json!({"id": "seven"}), "id"),
    ] {
        let mut question = words(QUESTION);
        for (name, value) in change.as_object().unwrap() {
            question[name] = value.clone();
        }
        let refused = pod.post("/v1/agents/mend/questions", &question).await;
        let problem = refused.expect(StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(problem["field"], field, "{change}");
    }
    let plan = json!({
        "id": QUESTION, "generation": 1, "kind": "plan", "text": "May I?", "plan_sha256": digest,
    });
    let early = pod.post("/v1/agents/mend/questions", &plan).await;
    assert_eq!(early.problem(StatusCode::CONFLICT), "PlanChanged");
    let nothing = format!("/v1/agents/mend/questions/{QUESTION}/answer");
    assert_eq!(pod.get(&nothing).await.problem(StatusCode::NOT_FOUND), "UnknownQuestion");
    let no_id = pod.get("/v1/agents/mend/questions/seven/answer").await;
    assert_eq!(no_id.problem(StatusCode::NOT_FOUND), "UnknownQuestion");
}
