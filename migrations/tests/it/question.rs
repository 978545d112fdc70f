//! Questions to people, and their one answer.

use foundry_store::{
    AgentStart, CodingProgress, CodingResult, Error, GivenAnswer, MAX_OPEN_QUESTIONS,
    MAX_QUESTIONS_A_DAY, NewAnswer, NewQuestion, Question, QuestionKind, Store,
};
use pretty_assertions::assert_eq;
use rstest::rstest;
use uuid::Uuid;

use crate::backend::{Backend, ann, at, plan, start};

fn words(n: u128) -> NewQuestion {
    NewQuestion {
        id: Uuid::from_u128(n),
        kind: QuestionKind::Question,
        text: format!("Which of {n}?"),
        options: vec!["the \"first\"".into(), "the second".into()],
        recommended: Some("the second".into()),
        plan_sha256: None,
    }
}

fn about_plan(n: u128, sha256: &str) -> NewQuestion {
    NewQuestion {
        kind: QuestionKind::Plan,
        options: vec![],
        recommended: None,
        plan_sha256: Some(sha256.into()),
        ..words(n)
    }
}

fn says(text: &str) -> NewAnswer {
    NewAnswer { text: text.into(), plan_sha256: None, approves: false, by: "ann".into() }
}

fn build(sha256: &str) -> NewAnswer {
    NewAnswer { plan_sha256: Some(sha256.into()), approves: true, ..says("build") }
}

async fn ask(store: &Store, question: &NewQuestion, second: i64) -> Question {
    store.ask_question(&start(1), question, at(second)).await.unwrap()
}

async fn answer(
    store: &Store,
    id: u128,
    answer: &NewAnswer,
    second: i64,
) -> Result<Question, Error> {
    store.answer_question(&start(1), Uuid::from_u128(id), answer, at(second)).await
}

/// Ids of the questions that wait.
async fn open(store: &Store, last_start: i64) -> Vec<u128> {
    let open = store.open_questions(&ann(), "uid-1", last_start).await.unwrap();
    open.into_iter().map(|question| question.asked.id.as_u128()).collect()
}

async fn approved_by(store: &Store) -> Option<String> {
    let task = store.coding_task(&ann(), "uid-1").await.unwrap().unwrap();
    task.approved_by().map(str::to_owned)
}

/// ROUTE-12, CODE-17
#[rstest]
#[tokio::test]
async fn a_question_waits_until_it_is_answered_and_keeps_its_answer(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let asked = ask(&store, &words(1), 0).await;
    let expected =
        Question { asked: words(1), generation: 1, asked_at: at(0), closed_at: None, answer: None };
    assert_eq!(asked, expected);
    assert_eq!(ask(&store, &words(1), 9).await, expected, "asked twice, stored once");
    ask(&store, &words(2), 1).await;
    assert_eq!(open(&store, 1).await, [1, 2], "oldest first");

    let given =
        GivenAnswer { text: "the first".into(), plan_sha256: None, by: "ann".into(), at: at(3) };
    let expected = Question { answer: Some(given), ..expected };
    assert_eq!(answer(&store, 1, &says("the first"), 3).await.unwrap(), expected);
    assert_eq!(open(&store, 1).await, [2]);
    let kept = store.question(&ann(), "uid-1", Uuid::from_u128(1)).await.unwrap();
    assert_eq!(kept, Some(expected));
    assert_eq!(store.question(&ann(), "uid-2", Uuid::from_u128(1)).await.unwrap(), None);
    let unknown = answer(&store, 7, &says("x"), 4).await.unwrap_err();
    assert!(matches!(unknown, Error::UnknownQuestion { .. }), "{unknown:?}");
}

/// CODE-31
#[rstest]
#[tokio::test]
async fn an_approval_given_twice_is_the_first_one_and_any_other_answer_is_refused(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    store.save_plan(&start(1), &plan("aa"), at(0)).await.unwrap();
    ask(&store, &about_plan(1, "aa"), 1).await;
    let first = answer(&store, 1, &build("aa"), 2).await.unwrap();
    let eve = NewAnswer { by: "eve".into(), ..build("aa") };
    assert_eq!(answer(&store, 1, &eve, 3).await.unwrap(), first);
    assert_eq!(approved_by(&store).await.as_deref(), Some("ann"), "the first who said so");
    for other in [says("no"), says("build"), build("bb")] {
        let refused = answer(&store, 1, &other, 4).await.unwrap_err();
        assert!(matches!(refused, Error::AlreadyAnswered { .. }), "{refused:?}");
    }
    // It stays so after the task has ended.
    let result = CodingResult { outcome: "completed".into(), summary: "done".into() };
    let ended = CodingProgress { result: Some(result), ..CodingProgress::default() };
    store.report_coding(&start(1), ended, at(5)).await.unwrap();
    assert_eq!(answer(&store, 1, &build("aa"), 6).await.unwrap(), first);
}

/// CODE-31
#[rstest]
#[tokio::test]
async fn only_the_newest_plan_is_approved_by_the_digest_that_was_asked_about(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let early = store.ask_question(&start(1), &about_plan(1, "aa"), at(0)).await.unwrap_err();
    assert!(matches!(early, Error::PlanChanged { .. }), "no such plan yet: {early:?}");
    store.save_plan(&start(1), &plan("aa"), at(1)).await.unwrap();
    ask(&store, &about_plan(1, "aa"), 1).await;
    let other = answer(&store, 1, &build("bb"), 2).await.unwrap_err();
    assert!(matches!(other, Error::PlanChanged { .. }), "{other:?}");

    // The plan changes while the question waits.
    store.save_plan(&start(1), &plan("bb"), at(3)).await.unwrap();
    let changed = answer(&store, 1, &build("aa"), 4).await.unwrap_err();
    assert!(matches!(changed, Error::PlanChanged { .. }), "{changed:?}");
    assert_eq!(approved_by(&store).await, None);

    // The question about the new plan closes the one about the old.
    ask(&store, &about_plan(2, "bb"), 5).await;
    assert_eq!(open(&store, 1).await, [2]);
    let closed = answer(&store, 1, &says("wait"), 6).await.unwrap_err();
    assert!(matches!(closed, Error::QuestionClosed { .. }), "{closed:?}");
    answer(&store, 2, &build("bb"), 7).await.unwrap();
    assert_eq!(approved_by(&store).await.as_deref(), Some("ann"));
}

/// CODE-31
#[rstest]
#[tokio::test]
async fn words_about_a_plan_answer_without_approving_it(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    store.save_plan(&start(1), &plan("aa"), at(1)).await.unwrap();
    ask(&store, &about_plan(1, "aa"), 1).await;
    let answered = answer(&store, 1, &says("first the tests"), 2).await.unwrap();
    assert_eq!(answered.answer.unwrap().text, "first the tests");
    assert_eq!(approved_by(&store).await, None);
}

/// ROUTE-12
#[rstest]
#[tokio::test]
async fn a_later_start_and_a_result_close_what_was_asked(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    ask(&store, &words(1), 0).await;
    assert_eq!(open(&store, 1).await, [1]);
    assert_eq!(open(&store, 2).await, [] as [u128; 0], "the operator has started it again");
    let present = AgentStart { generation: 2, ..start(1) };
    let id = Uuid::from_u128(1);
    let closed = store.answer_question(&present, id, &says("x"), at(1)).await.unwrap_err();
    assert!(matches!(closed, Error::QuestionClosed { .. }), "{closed:?}");

    // Even where the operator's word is late, a report of the later start is enough.
    let turns = CodingProgress { turns: Some(1), ..CodingProgress::default() };
    store.report_coding(&start(2), turns, at(2)).await.unwrap();
    assert_eq!(open(&store, 1).await, [] as [u128; 0]);
    let closed = answer(&store, 1, &says("x"), 3).await.unwrap_err();
    assert!(matches!(closed, Error::QuestionClosed { .. }), "{closed:?}");
    let late = store.ask_question(&start(1), &words(2), at(4)).await.unwrap_err();
    assert!(matches!(late, Error::Superseded { .. }), "{late:?}");

    store.ask_question(&start(2), &words(3), at(5)).await.unwrap();
    let result = CodingResult { outcome: "out_of_time".into(), summary: "late".into() };
    let ended = CodingProgress { result: Some(result), ..CodingProgress::default() };
    store.report_coding(&start(2), ended, at(6)).await.unwrap();
    assert_eq!(open(&store, 2).await, [] as [u128; 0]);
    let closed = answer(&store, 3, &says("x"), 7).await.unwrap_err();
    assert!(matches!(closed, Error::QuestionClosed { .. }), "{closed:?}");
    let late = store.ask_question(&start(2), &words(4), at(8)).await.unwrap_err();
    assert!(matches!(late, Error::TaskEnded { .. }), "{late:?}");
}

/// ROUTE-12
#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_answers_at_once_one_is_taken(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let fresh = backend.fresh().await;
    fresh.store.save_plan(&start(1), &plan("aa"), at(0)).await.unwrap();
    ask(&fresh.store, &about_plan(1, "aa"), 0).await;
    let mut people = tokio::task::JoinSet::new();
    for n in 0..8 {
        let store = Store::open(&fresh.url).await.unwrap();
        people.spawn(async move {
            let said = if n % 2 == 0 { build("aa") } else { says("no") };
            let said = NewAnswer { by: format!("person {n}"), ..said };
            answer(&store, 1, &said, n).await
        });
    }
    let outcomes = people.join_all().await;
    let taken = outcomes.iter().flatten().map(|q| q.answer.clone().unwrap()).collect::<Vec<_>>();
    assert!(taken.iter().all(|answer| *answer == taken[0]), "{taken:?}");
    assert!((1..=4).contains(&taken.len()), "those who said the same: {taken:?}");
    let refused = outcomes.into_iter().filter_map(Result::err);
    for error in refused {
        assert!(matches!(error, Error::AlreadyAnswered { .. }), "{error:?}");
    }
    let by = approved_by(&fresh.store).await;
    assert_eq!(by.is_some(), taken[0].plan_sha256.is_some(), "answer and approval agree");
}

/// Whoever reads what waits reads all of it.
#[rstest]
#[tokio::test]
async fn so_many_questions_wait_at_once_and_so_many_are_asked_in_a_day(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let (most, a_day) = (MAX_OPEN_QUESTIONS, MAX_QUESTIONS_A_DAY);
    let refusal = async |n: i64, second| {
        let question = words(u128::try_from(n).unwrap());
        store.ask_question(&start(1), &question, at(second)).await.unwrap_err().to_string()
    };
    for n in 1..=most {
        ask(&store, &words(u128::try_from(n).unwrap()), n).await;
    }
    assert!(refusal(most + 1, 50).await.contains("20 questions that wait"));
    ask(&store, &words(1), 50).await;
    for n in most + 1..=a_day {
        let before = u128::try_from(n - most).unwrap();
        answer(&store, before, &says("yes"), 60).await.unwrap();
        ask(&store, &words(u128::try_from(n).unwrap()), 60).await;
    }
    answer(&store, u128::try_from(a_day).unwrap(), &says("yes"), 61).await.unwrap();
    assert!(refusal(a_day + 1, 61).await.contains("200 questions of one day"));
    ask(&store, &words(1_000), 24 * 60 * 60 + 61).await;
}
