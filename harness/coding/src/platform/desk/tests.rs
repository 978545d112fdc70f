use foundry_client::{Failure, LogEvent};
use foundry_platform::clock::Clock;
use foundry_platform::events::{Shipper, event_log};
use foundry_platform::fake::FakeApi;
use jiff::Timestamp;
use pretty_assertions::assert_eq;
use rstest::rstest;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::*;

struct Scene {
    api: Arc<FakeApi>,
    desk: PlatformDesk,
    shipper: Shipper,
}

impl Scene {
    fn new() -> Self {
        let api = Arc::new(FakeApi::default());
        let clock = Clock::new(|| Timestamp::UNIX_EPOCH);
        let (log, shipper) = event_log(clock, Box::new(std::io::sink()), api.clone());
        let desk = PlatformDesk { api: api.clone(), log, generation: 3 };
        Self { api, desk, shipper }
    }

    /// What the log was told, once all of it is posted.
    async fn events(self) -> Vec<LogEvent> {
        let told = CancellationToken::new();
        told.cancel();
        self.shipper.run(told, Duration::from_secs(5)).await;
        std::mem::take(&mut self.api.state().events)
    }
}

fn question() -> Question {
    Question {
        kind: QuestionKind::Question,
        text: "Which language?".to_owned(),
        options: vec!["English".to_owned(), "Korean".to_owned()],
        recommended: Some("English".to_owned()),
        plan_sha256: None,
    }
}

/// CODE-30
#[tokio::test]
async fn a_saved_plan_is_told_with_its_documents_location() {
    let scene = Scene::new();
    let plan = scene.desk.save_plan("# Plan").await.unwrap();
    assert_eq!(plan.location.as_deref(), Some("documents:doc-1"));
    assert_eq!(plan.sha256, sha256("# Plan"));
    assert_eq!(scene.api.state().plans[0].generation, 3);
    let [line] = scene.events().await.try_into().unwrap();
    assert_eq!(
        (line.kind.as_str(), line.message.as_str()),
        ("plan", "plan saved at documents:doc-1")
    );
    assert_eq!(line.data.unwrap()["location"], "documents:doc-1");
}

/// CODE-17
#[tokio::test]
async fn a_question_is_one_log_line_and_its_answer_comes_back() {
    let scene = Scene::new();
    let asked = question();
    let (reply, ()) = tokio::join!(scene.desk.ask(&asked), async {
        while scene.api.times("poll answer").is_empty() {
            tokio::task::yield_now().await;
        }
        scene.api.answer("Korean");
    });
    assert_eq!(reply.unwrap(), Reply { text: "Korean".to_owned(), plan_sha256: None });
    let posted = scene.api.state().questions[0].clone();
    assert_eq!((posted.generation, posted.options.len()), (3, 2));
    let [question, answer] = scene.events().await.try_into().unwrap();
    assert_eq!(
        (question.kind.as_str(), question.message.as_str()),
        ("question", "Which language?")
    );
    assert_eq!(question.data.unwrap()["id"], serde_json::json!(posted.id));
    assert_eq!(answer.message, "answered by someone@example.com: Korean");
}

/// CODE-17
#[tokio::test(start_paused = true)]
async fn an_api_that_is_away_while_a_person_thinks_costs_nothing_but_time() {
    let scene = Scene::new();
    scene.api.fail("ask question", 503, "away");
    scene.api.fail("poll answer", 502, "away");
    let began = Instant::now();
    let asked = question();
    let (reply, ()) = tokio::join!(scene.desk.ask(&asked), async {
        sleep(Duration::from_mins(20)).await;
        scene.api.heal("ask question");
        sleep(Duration::from_mins(20)).await;
        scene.api.answer("English");
        scene.api.heal("poll answer");
    });
    assert_eq!(reply.unwrap().text, "English");
    assert!(began.elapsed() < Duration::from_mins(41), "{:?}", began.elapsed());
    assert_eq!(scene.api.state().questions.len(), 1);
    let errors = scene.events().await.iter().filter(|event| event.kind == "error").count();
    assert_eq!(errors, 2, "each outage is told once");
}

/// CODE-17
#[tokio::test(start_paused = true)]
async fn an_api_that_does_not_hold_a_poll_open_is_not_asked_without_a_pause() {
    let scene = Scene::new();
    scene.api.state().polls_end_at_once = true;
    let asked = question();
    let (reply, ()) = tokio::join!(scene.desk.ask(&asked), async {
        sleep(Duration::from_mins(1)).await;
        scene.api.answer("English");
    });
    assert_eq!(reply.unwrap().text, "English");
    assert!(scene.api.times("poll answer").len() <= 62);
}

/// CODE-17
#[rstest]
#[case(401)]
#[case(403)]
#[case(404)]
#[tokio::test(start_paused = true)]
async fn access_that_comes_and_goes_does_not_end_the_wait_for_a_person(#[case] status: u16) {
    let scene = Scene::new();
    scene.api.fail("poll answer", status, "not now");
    let asked = question();
    let (reply, ()) = tokio::join!(scene.desk.ask(&asked), async {
        sleep(Duration::from_mins(5)).await;
        scene.api.answer("English");
        scene.api.heal("poll answer");
    });
    assert_eq!(reply.unwrap().text, "English");
}

/// CODE-34
#[tokio::test]
async fn a_question_that_a_later_start_closed_is_no_longer_waited_for() {
    let scene = Scene::new();
    let closed = Failure::Status {
        status: 409,
        problem: "a later start began".to_owned(),
        reason: Some("QuestionClosed".to_owned()),
    };
    scene.api.state().failing.insert("poll answer", closed);
    let asked = timeout(Duration::from_secs(10), scene.desk.ask(&question())).await.unwrap();
    assert!(matches!(asked, Err(DeskError::Closed(_))), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_is_too_long_or_cannot_be_kept_is_the_models_to_hear() {
    let scene = Scene::new();
    let long = "x".repeat(MAX_PLAN_BYTES + 1);
    assert!(matches!(scene.desk.save_plan(&long).await, Err(DeskError::Failed(_))));
    scene.api.fail("save plan", 503, "away");
    let error = scene.desk.save_plan("# Plan").await.unwrap_err().to_string();
    assert!(error.contains("HTTP 503: away"), "{error}");
    assert_eq!(scene.api.times("save plan").len(), 8);
}

#[tokio::test]
async fn what_is_too_long_for_the_api_is_cut_before_it_is_sent() {
    let scene = Scene::new();
    let long = Question {
        text: "é".repeat(MAX_QUESTION_BYTES),
        options: vec!["x".repeat(MAX_OPTION_BYTES + 1); MAX_QUESTION_OPTIONS + 1],
        ..question()
    };
    let posted = body(Uuid::nil(), scene.desk.generation, &long);
    assert!(posted.text.len() <= MAX_QUESTION_BYTES);
    assert_eq!(posted.options.len(), MAX_QUESTION_OPTIONS);
    assert!(posted.options.iter().all(|option| option.len() <= MAX_OPTION_BYTES));
}

/// CODE-32
#[tokio::test]
async fn a_question_the_agent_answers_itself_is_told_with_its_answer_and_asks_nobody() {
    let scene = Scene::new();
    scene.desk.answered_itself(&question(), "English");
    assert!(scene.api.state().questions.is_empty());
    let [_, answer] = scene.events().await.try_into().unwrap();
    assert_eq!(answer.message, "answered by the agent itself: English");
}
