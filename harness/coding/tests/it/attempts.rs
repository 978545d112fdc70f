//! Attempts, turns and the clock.

use std::time::Duration;

use fakes::model::{Captured, Gate, Overflow, Point, Raw, Reply, When, Wire};
use foundry_client::CodingOutcome;
use foundry_coding::engine::Ended;
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;
use tokio::time::timeout;

use crate::project::{add, check, commit_work, finish, mend, plan, run};
use crate::scene::{DEADLINE, Scene};

/// CODE-23, CODE-25, CODE-26, CODE-27
#[rstest]
#[case(Wire::OpenAi)]
#[case(Wire::Anthropic)]
#[tokio::test]
async fn a_spent_allowance_starts_the_phase_again_with_what_is_known(#[case] wire: Wire) {
    let mut scene = Scene::answered(wire, &["build"]).await;
    scene.turns = 10;
    // Each looks for something else: nobody goes round in circles here.
    let look = |turn: u32| Reply::call("glob", json!({ "pattern": format!("*.{turn}") }));
    scene.model.script(
        [
            plan("# Plan"),
            mend().and_text("The comma was missing."),
            run(&["node", "--test", "nowhere"]),
        ]
        .into_iter()
        .chain((0..8).map(look))
        .chain([check(), add(), commit_work(), finish("completed")]),
    );
    scene.ends_as(CodingOutcome::Completed).await;

    let requests = scene.model.requests();
    // The building attempt has requests 2 to 11; after its fifth turn five are left.
    let told: Vec<usize> = (2..=11)
        .filter(|number| scene.said(*number).starts_with("Five of your 10 turns are left"))
        .collect();
    assert_eq!(told, [7, 8, 9, 10, 11], "said once, and it stays");
    let hints = |request: &Captured| {
        request.messages().iter().filter(|one| one.text.contains("Five of your 10")).count()
    };
    assert_eq!(hints(&requests[10]), 1);
    for part in ["commit what works", "call finish"] {
        assert!(scene.said(7).contains(part), "{}", scene.said(7));
    }
    let again = scene.said(12);
    for part in [
        "# Task\n\nFix the greeting.",
        "# Approved plan\n\n# Plan",
        "# From the attempts before",
        "Files edited so far:\n- greet.js",
        "The comma was missing.",
        "Checks whose newest run failed:\n- node --test nowhere",
    ] {
        assert!(again.contains(part), "{part} is missing in:\n{again}");
    }
    assert_eq!(scene.progress().attempts, 3);
}

/// CODE-26: planning, too, is told to come to its end.
#[tokio::test]
async fn a_spent_planning_allowance_plans_again() {
    let mut scene = Scene::answered(Wire::OpenAi, &["build"]).await;
    scene.turns = 10;
    let steps = (0..10).map(|_| Reply::call("read_file", json!({ "path": "README.md" })));
    scene.model.script(steps.chain([plan("# Plan"), finish("failed")]));
    scene.ends_as(CodingOutcome::Failed).await;
    assert!(scene.said(6).contains("call save_coding_plan"), "{}", scene.said(6));
    assert!(scene.said(11).contains("Files read so far:\n- README.md"), "{}", scene.said(11));
}

/// CODE-25, CODE-31: the next attempt knows the plan that is to change, and every word that
/// a person said to it.
#[tokio::test]
async fn a_change_of_the_plan_is_not_lost_with_the_attempt_that_was_to_make_it() {
    const WORDS: &str = concat!(
        "Keep the name of the function as it is, for three other services import it by that ",
        "name and are released on their own. Greet by the first name alone, in the language of ",
        "the browser where we have it and in English where we do not. Leave the configuration ",
        "file alone, and do not add a dependency for any of this: what the runtime brings along ",
        "is enough. Say in the plan which tests there are to be, one for each language, and last ",
        "of all: write the comma as U+002C."
    );
    let mut scene = Scene::answered(Wire::OpenAi, &[WORDS, "build"]).await;
    scene.turns = 10;
    let look = |turn: u32| Reply::call("glob", json!({ "pattern": format!("*.{turn}") }));
    let steps = std::iter::once(plan("# First plan")).chain((0..10).map(look));
    scene.model.script(steps.chain([plan("# Second plan"), finish("failed")]));
    scene.ends_as(CodingOutcome::Failed).await;
    let again = scene.said(12);
    for part in ["# Plan so far\n\n# First plan", WORDS, "# From the attempts before"] {
        assert!(again.contains(part), "{part} is missing in:\n{again}");
    }
}

/// CODE-27: a reply without a call is asked once more, and then the attempt is spent.
#[tokio::test]
async fn a_model_that_stops_without_finishing_is_asked_once_more_and_then_begins_again() {
    let scene = Scene::answered(Wire::OpenAi, &["build"]).await;
    scene.model.script([
        plan("# Plan"),
        Reply::call("list_dir", json!({})),
        Reply::text("I am done."),
        Reply::text("Really, I am done."),
        Reply::text("Why do you ask?"),
        finish("failed"),
    ]);
    scene.ends_as(CodingOutcome::Failed).await;
    assert!(scene.said(4).starts_with("You called no tool."), "{}", scene.said(4));
    assert!(scene.said(5).contains("Really, I am done."), "{}", scene.said(5));
    assert!(scene.said(6).starts_with("You called no tool."), "{}", scene.said(6));
    let over = scene.told.of("attempt");
    assert_eq!(over, ["the attempt is over: the model stopped without ending the phase"]);
}

/// CODE-24
#[rstest]
#[case(Wire::OpenAi)]
#[case(Wire::Anthropic)]
#[tokio::test]
async fn when_the_clock_runs_out_the_task_ends_unfinished_whatever_is_under_way(
    #[case] wire: Wire,
) {
    let mut scene = Scene::answered(wire, &["build"]).await;
    scene.time = Duration::from_millis(1500);
    let never = Gate::new();
    scene.model.script([plan("# Plan"), mend(), finish("completed").held(Point::Headers, &never)]);
    assert_eq!(scene.play().await.ended, out_of_time());
}

/// CODE-24, CODE-15
#[tokio::test]
async fn a_command_is_stopped_with_the_clock() {
    let mut scene = Scene::answered(Wire::OpenAi, &["build"]).await;
    scene.time = Duration::from_millis(1500);
    let forever = "process.title = 'x'; setInterval(() => {}, 1000)";
    scene.model.script([plan("# Plan"), run(&["node", "-e", forever])]);
    assert_eq!(scene.play().await.ended, out_of_time());
}

fn out_of_time() -> Ended {
    Ended::Result(foundry_coding::task::attempt::out_of_time())
}

/// CODE-24
#[tokio::test]
async fn the_clock_stands_still_while_a_person_is_waited_for() {
    let scene = Scene::answered(Wire::OpenAi, &["English", "build"]).await;
    scene.model.script([
        Reply::call("ask_question", json!({ "question": "Which language?" })),
        plan("# Plan"),
        finish("failed"),
    ]);
    scene.ends_as(CodingOutcome::Failed).await;
    assert_eq!(*scene.desk.stood_still.lock().unwrap(), [true, true]);
}

#[tokio::test]
async fn a_model_that_refuses_the_request_ends_the_task_with_its_words() {
    let scene = Scene::answered(Wire::Anthropic, &["build"]).await;
    scene.model.script([Reply::failure(400, "invalid_request_error", "no such model")]);
    let result = scene.ends_as(CodingOutcome::ModelFailed).await;
    assert!(result.summary.contains("no such model"), "{}", result.summary);
    assert!(scene.told.of("error")[0].starts_with("broker relay failed: HTTP 400"));
}

#[rstest]
#[case(Wire::OpenAi)]
#[case(Wire::Anthropic)]
#[tokio::test]
async fn a_spent_budget_ends_the_task_with_the_relays_words(#[case] wire: Wire) {
    let scene = Scene::answered(wire, &["build"]).await;
    let problem = r#"{"type":"about:blank","reason":"budget_exhausted","detail":"2 of 2 spent"}"#;
    let refused = Reply::raw(Raw::new(429, "application/problem+json", problem));
    scene.model.script([plan("# Plan"), refused]);
    let result = scene.ends_as(CodingOutcome::Budget).await;
    assert!(result.summary.starts_with("a budget is spent: "), "{}", result.summary);
    assert!(result.summary.contains("2 of 2 spent"), "{}", result.summary);
}

#[tokio::test]
async fn a_conversation_that_outgrows_the_window_is_begun_again() {
    let scene = Scene::answered(Wire::OpenAi, &["build"]).await;
    scene.model.script([
        plan("# Plan"),
        mend(),
        Reply::overflow(Overflow::Native),
        check(),
        add(),
        commit_work(),
        finish("completed"),
    ]);
    scene.ends_as(CodingOutcome::Completed).await;
    assert!(scene.said(5 - 1).contains("# From the attempts before"), "{}", scene.said(4));
}

/// LIFE-14, CODE-34: what was under way is neither finished nor told of.
#[tokio::test]
async fn a_process_that_stops_ends_its_run_and_says_nothing_of_the_task() {
    let scene = Scene::answered(Wire::OpenAi, &["build"]).await;
    let gate = Gate::new();
    scene.model.script([plan("# Plan"), finish("completed").held(Point::Headers, &gate)]);
    let stopping = async {
        gate.reached().await;
        scene.stop.cancel();
    };
    let (done, ()) = tokio::join!(timeout(DEADLINE, scene.play()), stopping);
    assert_eq!(done.unwrap().ended, Ended::Stopped("the process is stopping".to_owned()));
}

#[tokio::test]
async fn a_plan_that_nobody_can_answer_is_not_built() {
    let scene = Scene::answered(Wire::OpenAi, &[]).await;
    scene.model.on((When::any(), plan("# Plan")));
    let done = scene.play().await;
    assert_eq!(done.ended, Ended::Stopped("nobody answers".to_owned()));
    assert_eq!(scene.model.requests().len(), 1);
}
