//! How a task uses its model: window, gauge, effort, retries, the model that takes over.

use fakes::model::{Captured, Overflow, Pacing, Reply, When, Wire};
use foundry_client::CodingOutcome;
use foundry_platform::events::kind;
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::{Value, json};

use crate::pod::Pod;
use crate::project::{add, check, commit_work, finish, git, mend, plan};
use crate::scene::Scene;

fn effort(request: &Captured) -> Option<&str> {
    request.body.get("reasoning_effort").and_then(Value::as_str)
}

/// CODE-41, CODE-42
#[rstest]
#[case::listed(&["low", "high"], true, Some("high"))]
#[case::no_levels(&[], true, None)]
#[case::another_level(&["low", "medium"], true, None)]
#[case::the_catalog_is_away(&[], false, Some("high"))]
#[tokio::test]
async fn an_effort_is_sent_where_the_catalog_lists_it_or_cannot_be_read(
    #[case] levels: &[&str],
    #[case] catalog: bool,
    #[case] sent: Option<&str>,
) {
    let mut pod = Pod::new(Wire::OpenAi).await;
    pod.settings.reasoning_effort = Some("high".to_owned());
    pod.api.state().models[0].reasoning_efforts = levels.iter().map(ToString::to_string).collect();
    if !catalog {
        pod.api.fail("list models", 503, "starting");
    }
    pod.model.script([plan("# Plan"), finish("failed")]);
    pod.lives().await;
    pod.ended_as(CodingOutcome::Failed);
    let requests = pod.model.requests();
    assert!(requests.iter().all(|request| effort(request) == sent), "{requests:?}");
    let dropped = pod.lines(kind::MODEL);
    assert_eq!(dropped.len(), usize::from(sent.is_none()), "{dropped:?}");
}

/// CODE-39, CODE-40
#[rstest]
#[case::as_set(Some(16_000), Some(1_000_000), 16_000)]
#[case::as_the_catalog_says(None, Some(32_000), 32_000)]
#[case::where_nobody_says(None, None, 128_000)]
#[tokio::test]
async fn the_gauge_tells_each_change_of_its_percentage_of_the_window_and_nothing_else(
    #[case] set: Option<u64>,
    #[case] listed: Option<i64>,
    #[case] window: u64,
) {
    let mut pod = Pod::new(Wire::OpenAi).await;
    pod.settings.context_tokens = set;
    pod.api.state().models[0].max_context_tokens = listed;
    let look = || Reply::call("read_file", json!({ "path": "README.md" }));
    pod.model.script([look(), look(), look(), plan("# Plan"), finish("failed")]);
    pod.lives().await;
    pod.ended_as(CodingOutcome::Failed);
    let told: Vec<u64> = pod
        .lines(kind::CONTEXT)
        .iter()
        .map(|line| line.split_once(" %").expect("a percentage").0.parse().unwrap())
        .collect();
    assert!(!told.is_empty());
    assert!(told.windows(2).all(|pair| pair[0] != pair[1]), "{told:?}");
    // Four bytes to a token to start with: the first request says what part of which window.
    let first = pod.model.requests()[0].body.to_string().len() as u64 / 4;
    let expected = first * 100 / window;
    assert!(told[0].abs_diff(expected) <= 2 + expected / 4, "{told:?}, not about {expected}");
}

/// CODE-43, CODE-44
#[tokio::test]
async fn a_200_without_a_completion_is_retried_twice_without_effort_and_then_quoted() {
    let mut scene = Scene::answered(Wire::OpenAi, &["build"]).await;
    scene.effort = Some("high");
    let nothing = json!({ "id": "x", "choices": [], "note": "capacity is used up" });
    scene.model.script([1, 2, 3].map(|_| Reply::json(200, &nothing)));
    let result = scene.ends_as(CodingOutcome::ModelFailed).await;
    assert!(result.summary.contains("capacity is used up"), "{}", result.summary);
    let requests = scene.model.requests();
    let efforts: Vec<Option<&str>> = requests.iter().map(effort).collect();
    assert_eq!(efforts, [Some("high"), None, None]);
    let told = scene.told.of(kind::ERROR);
    // The clock of this scene stands still: what is told is how long each wait is.
    assert!(told[0].contains("; retry 1 at 1970-01-01T00:00:00Z"), "{told:?}");
    assert!(told[1].contains("; retry 2 at 1970-01-01T00:00:01Z"), "{told:?}");
    assert!(told[2].contains("capacity is used up") && told.len() == 3, "{told:?}");
}

/// KERN-42
#[rstest]
#[case(Wire::OpenAi)]
#[case(Wire::Anthropic)]
#[tokio::test]
async fn the_fallback_model_takes_over_in_each_attempt_once_and_that_is_told(#[case] wire: Wire) {
    let mut scene = Scene::answered(wire, &["build"]).await;
    scene.fallback = Some("the-other-model");
    let away = Reply::failure(500, "api_error", "on fire").paced(Pacing::Milliseconds(1));
    scene.model.on((When::any().model("the-model"), away));
    let other = When::any().model("the-other-model");
    scene.model.script_for(other, [plan("# Plan"), mend(), finish("failed")]);
    scene.ends_as(CodingOutcome::Failed).await;
    let asked =
        |name: &str| scene.model.requests().iter().filter(|one| one.model() == name).count();
    assert_eq!((asked("the-model"), asked("the-other-model")), (14, 3), "six retries an attempt");
    let told = scene.told.of(kind::WARNING);
    assert_eq!(told.len(), 2, "planning and building: {told:?}");
    let line = "model the-other-model takes over from the-model: broker relay failed: HTTP 500: ";
    assert!(told.iter().all(|told| told.starts_with(line)), "{told:?}");
}

/// What does not fit is shortened within the attempt, which goes on.
#[rstest]
#[case(Wire::OpenAi)]
#[case(Wire::Anthropic)]
#[tokio::test]
async fn a_conversation_that_outgrows_the_window_is_shortened_and_goes_on(#[case] wire: Wire) {
    let scene = Scene::answered(wire, &["build"]).await;
    let look = |number: usize| {
        let name = format!("long-{number}.txt");
        std::fs::write(scene.folder.path().join(&name), "a line of some words\n".repeat(1_500))
            .unwrap();
        Reply::call("read_file", json!({ "path": name }))
    };
    let looks: Vec<Reply> = (0..6).map(look).collect();
    git(scene.folder.path(), &["add", "--all"]);
    git(scene.folder.path(), &["commit", "--quiet", "--message", "Long"]);
    scene.model.script(
        [plan("# Plan"), mend()]
            .into_iter()
            .chain(looks)
            .chain([Reply::overflow(Overflow::Native), check(), add(), commit_work()])
            .chain([finish("completed")]),
    );
    scene.ends_as(CodingOutcome::Completed).await;
    assert_eq!(scene.progress().attempts, 2, "planning and building, once each");
    let [line] = scene.told.of(kind::COMPACTION).try_into().unwrap();
    assert!(line.contains(" tokens became "), "{line}");
    let [refused, shortened] = [9, 10].map(|number| scene.model.requests()[number - 1].clone());
    let bytes = |request: &Captured| request.body.to_string().len();
    let (before, after) = (bytes(&refused), bytes(&shortened));
    // One of the six files at the least.
    assert!(after + 30_000 < before, "{before} bytes were refused, and then {after} were sent");
}
