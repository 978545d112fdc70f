//! Who says `build`, to which plan, and how often.

use foundry_client::{Answer, ClientError, Failure, PostAnswer, QuestionKind};
use foundry_crds::coding_run::{Phase, QuestionKind as Kind};
use pretty_assertions::assert_eq;

use super::notes;
use super::play::{Part, ask, save};
use super::run::{Run, build, complete, reported};
use super::world::{PERSON, World, token_of};

/// Status and reason of a refused answer.
fn refusal(answer: Result<Answer, ClientError>) -> (u16, String) {
    match answer.unwrap_err().failure {
        Failure::Status { status, reason, .. } => (status, reason.unwrap_or_default()),
        other => panic!("{other:?}"),
    }
}

fn refused(status: u16, reason: &str) -> (u16, String) {
    (status, reason.to_owned())
}

fn words(text: &str) -> PostAnswer {
    PostAnswer { text: text.to_owned(), ..PostAnswer::default() }
}

/// Nobody has built anything yet.
async fn assert_waits(run: &Run) {
    let resource = run.resource().await;
    assert_eq!(resource.status.clone().unwrap().phase, Some(Phase::AwaitingApproval));
    assert_eq!(reported(&resource).plan.unwrap().approved_by, None);
    assert_eq!(run.requests(Part::Building).len(), 0);
}

/// ROUTE-12, CODE-31
#[tokio::test(flavor = "multi_thread")]
async fn other_words_than_build_change_the_plan_and_the_old_digest_approves_nothing() {
    const CHANGE: &str = "Leave the comment as it is, please.";
    let world = World::shared().await;
    let second = format!("{}3. Leave the comment as it is.\n", notes::PLAN);
    world.play("changed", Part::Planning, [notes::planning(), vec![save(&second)]].concat());
    world.play("changed", Part::Building, notes::building());
    let run = world.apply("changed", &notes::files(&world)).await;

    let first = run.plan_question().await;
    let changed = world.api.answer(&run.name, &words(CHANGE)).await.unwrap();
    assert_eq!((changed.question_id, changed.answered_by.as_str()), (first.id, PERSON));
    run.until("planned anew", |_, reported| {
        let plan = reported.plan.as_ref().map(|plan| plan.sha256.clone());
        let asked = reported.question.as_ref().map(|question| question.id.clone());
        plan != first.plan_sha256 && asked.is_some_and(|id| id != first.id.to_string())
    })
    .await;
    assert!(run.requests(Part::Planning)[2].last_user_text().contains(CHANGE));
    let next = run.plan_question().await;
    assert_ne!(next.plan_sha256, first.plan_sha256);

    let stale = PostAnswer { question_id: None, ..build(&first) };
    assert_eq!(refusal(world.api.answer(&run.name, &stale).await), refused(409, "PlanChanged"));
    let late = world.api.answer(&run.name, &build(&first)).await;
    assert_eq!(refusal(late), refused(409, "AlreadyAnswered"));
    assert_waits(&run).await;

    world.api.answer(&run.name, &build(&next)).await.unwrap();
    let done = run.until_succeeded().await;
    assert_eq!(Some(reported(&done).plan.unwrap().sha256), next.plan_sha256);
    let asked = &run.requests(Part::Building)[0];
    assert!(asked.last_user_text().contains("Leave the comment as it is."));
}

/// ROUTE-12, CODE-31
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_approved_twice_at_once_is_built_once() {
    let world = World::shared().await;
    let run = world.apply_notes("twice").await;
    let question = run.plan_question().await;
    let yes = build(&question);
    let (one, other) =
        tokio::join!(world.api.answer(&run.name, &yes), world.api.answer(&run.name, &yes));
    assert_eq!(one.unwrap(), other.unwrap());
    let otherwise = PostAnswer { question_id: Some(question.id), ..words("Rather not.") };
    let otherwise = refusal(world.api.answer(&run.name, &otherwise).await);
    assert_eq!(otherwise.0, 409, "{otherwise:?}");

    run.until_succeeded().await;
    assert_eq!(run.requests(Part::Building).len(), notes::building().len());
    assert_eq!(world.git.pushes(&run.repository), 1);
    let after = refusal(world.api.answer(&run.name, &words("Rather not.")).await);
    assert!(matches!(after.0, 404 | 409), "{after:?}");
}

/// ROUTE-12, AUTHZ-02, AUTHZ-03
#[tokio::test(flavor = "multi_thread")]
async fn nobody_approves_but_a_person_who_may_edit_and_every_try_is_on_record() {
    let world = World::shared().await;
    let run = world.apply_notes("unapproved").await;
    let question = run.plan_question().await;
    let yes = build(&question);

    let stranger = world.as_person("eve", &["member"]).await;
    let administrator = world.as_person("root", &["admin"]).await;
    administrator.get_coding_run(&run.name).await.unwrap();
    let itself = world.as_holder(token_of(&run.harness().await)).await;
    for api in [&stranger, &administrator, &itself] {
        let answer = refusal(api.answer(&run.name, &yes).await);
        assert_eq!(answer, refused(403, "NotAllowed"));
    }
    let unread = PostAnswer { plan_sha256: None, ..yes.clone() };
    assert_eq!(refusal(world.api.answer(&run.name, &unread).await).0, 422);
    let wrong = PostAnswer { plan_sha256: Some("0".repeat(64)), ..yes.clone() };
    assert_eq!(refusal(world.api.answer(&run.name, &wrong).await), refused(409, "PlanChanged"));
    assert_waits(&run).await;

    let record = std::fs::read_to_string(world.folder.join("logs/foundry-api.log")).unwrap();
    for (actor, subject) in [("person", "eve"), ("person", "root"), ("agent", PERSON)] {
        let found = record.lines().any(|line| {
            line.contains(r#""target":"audit""#)
                && line.contains(&format!(r#""actor":"{actor}""#))
                && line.contains(&format!(r#""subject":"{subject}""#))
                && line.contains(&format!(r#""resource":"{}""#, run.name))
                && line.contains(r#""allowed":false"#)
        });
        assert!(found, "no record of the {actor} {subject}");
    }
    world.api.answer(&run.name, &yes).await.unwrap();
    let done = run.until_succeeded().await;
    assert_eq!(reported(&done).plan.unwrap().approved_by.as_deref(), Some(PERSON));
}

/// ROUTE-12, CODE-17
#[tokio::test(flavor = "multi_thread")]
async fn a_question_waits_for_a_person_whose_words_are_the_tools_result() {
    const QUESTION: &str = "May the comment change, too?";
    const ANSWER: &str = "No, only the code.";
    let world = World::shared().await;
    let planning = [vec![ask(QUESTION, "No.")], notes::planning()].concat();
    world.play("asking", Part::Planning, planning);
    world.play("asking", Part::Building, notes::building());
    let run = world.apply("asking", &notes::files(&world)).await;

    let question = run.question().await;
    assert_eq!((question.kind, question.text.as_str()), (QuestionKind::Question, QUESTION));
    assert_eq!(question.recommended.as_deref(), Some("No."));
    let waiting = run
        .until("asking", |_, reported| {
            reported.question.as_ref().is_some_and(|question| question.kind == Kind::Question)
        })
        .await;
    assert_eq!(waiting.status.unwrap().phase, Some(Phase::Planning));
    let waiting = run.until("waiting", |status, _| {
        let complete = status.conditions.iter().find(|condition| condition.type_ == "Complete");
        complete.is_some_and(|condition| condition.reason == "AwaitingAnswer")
    });
    assert_eq!(complete(&waiting.await).0, "False");
    let line = run.first_line_of("question").await;
    assert!(line.event.message.contains(QUESTION), "{line:?}");

    let answer = PostAnswer { question_id: Some(question.id), ..words(ANSWER) };
    world.api.answer(&run.name, &answer).await.unwrap();
    run.approve().await;
    run.until_succeeded().await;
    let results = run.results(Part::Planning, "ask_question");
    assert!(results[0].contains(ANSWER), "{results:?}");
}
