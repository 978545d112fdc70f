//! Parts that are killed in the middle, while one run waits for a person and another
//! one builds.

use std::collections::BTreeSet;
use std::fs::File;
use std::process::Command;

use fakes::model::{Gate, Point};
use foundry_crds::coding_run::Phase;
use pretty_assertions::assert_eq;
use serde_json::json;
use testenv::eventually;

use super::notes;
use super::play::{Part, command};
use super::run::{Run, build, reported};
use super::world::{Parts, World};
use crate::world::DEADLINE;

/// A run that waits for its approval, and one that is held at the first step of its
/// building until the gate opens.
async fn two_runs(world: &World, gate: &Gate) -> (Run, Run) {
    let waiting = world.apply_notes("waiting").await;
    let mut turns = notes::building();
    turns[0] = notes::mend().held(Point::Headers, gate);
    world.play("building", Part::Planning, notes::planning());
    world.play("building", Part::Building, turns);
    let building = world.apply("building", &notes::files(world)).await;
    building.approve().await;
    gate.reached().await;
    building.until_phase(Phase::Building).await;
    waiting.plan_question().await;
    (waiting, building)
}

impl Run {
    /// Waits until the turns that were played are those that were reported: none is
    /// lost, and one that was asked for again counts once.
    async fn until_counted(&self) {
        let turns = notes::planning().len() + notes::building().len();
        let turns = i64::try_from(turns).unwrap();
        self.until("counted", |_, reported| reported.turns == Some(turns)).await;
        let lengths = |part| {
            let requests = self.requests(part);
            requests.iter().map(|one| one.messages().len()).collect::<BTreeSet<_>>().len()
        };
        let asked = (lengths(Part::Planning), lengths(Part::Building));
        assert_eq!(asked, (notes::planning().len(), notes::building().len()));
        assert_eq!(self.world.git.pushes(&self.repository), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_go_on_without_an_operator_and_the_next_one_tells_how_they_ended() {
    let world = World::start(Parts::default()).await;
    let gate = Gate::new();
    let (waiting, building) = two_runs(&world, &gate).await;
    let harnesses = world.stack.lock().await.harnesses().unwrap();

    world.stack.lock().await.operator.take().unwrap().kill().unwrap();
    let question = waiting.question().await;
    world.api.answer(&waiting.name, &build(&question)).await.unwrap();
    gate.open();
    for run in [&waiting, &building] {
        run.until("reported", |_, reported| reported.result.is_some()).await;
    }
    let meanwhile = waiting.resource().await.status.unwrap().phase;
    assert_eq!(meanwhile, Some(Phase::AwaitingApproval));
    let alive = world.stack.lock().await.harnesses().unwrap();
    assert!(alive.iter().all(|harness| harnesses.contains(harness)), "{alive:?}");

    world.stack.lock().await.start_operator().await.unwrap();
    for run in [waiting, building] {
        run.until_succeeded().await;
        run.until_counted().await;
        run.until_expired().await;
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_survive_a_killed_api_and_lose_and_double_nothing() {
    let world = World::start(Parts::default()).await;
    let gate = Gate::new();
    let (waiting, building) = two_runs(&world, &gate).await;
    let before = world.model.requests().len();

    world.stack.lock().await.api.take().unwrap().kill().unwrap();
    world.stack.lock().await.start_api().await.unwrap();
    gate.open();
    // Asked for again, for the answer was cut off with the API.
    eventually("the model is asked again", DEADLINE, || async {
        let requests = world.model.requests().len();
        if requests > before { Ok(()) } else { Err(format!("{requests} requests")) }
    })
    .await;
    waiting.approve().await;
    for run in [waiting, building] {
        let done = run.until_succeeded().await;
        run.until_counted().await;
        assert_eq!(reported(&done).start_number, Some(1));
        run.until_expired().await;
    }
    world.end().await;
}

/// A result that is known while the API is down waits in the harness.
#[tokio::test(flavor = "multi_thread")]
async fn a_result_outlives_the_api_that_was_to_take_it() {
    let world = World::start(Parts::default()).await;
    let mut turns = notes::building();
    let end = turns.len() - 1;
    turns[end] = command("cat .git/gate")
        .and_call("finish", json!({"outcome": "completed", "summary": "notes.go parses again."}));
    world.play("kept", Part::Planning, notes::planning());
    world.play("kept", Part::Building, turns);
    let run = world.apply("kept", &notes::files(&world)).await;
    let gate = run.harness().await.home.join("repository/.git/gate");
    let question = run.plan_question().await;
    let made = Command::new("mkfifo").arg(&gate).status().unwrap();
    assert!(made.success());
    world.api.answer(&run.name, &build(&question)).await.unwrap();
    // Opens when the command reads.
    let open = tokio::task::spawn_blocking(move || File::options().write(true).open(gate)).await;
    world.stack.lock().await.api.take().unwrap().kill().unwrap();
    drop(open);
    eventually("the harness knows its result", DEADLINE, || async {
        let log = std::fs::read_to_string(&run.harness().await.log).unwrap();
        if log.contains(r#""kind":"result""#) { Ok(()) } else { Err("no result yet") }
    })
    .await;
    world.stack.lock().await.start_api().await.unwrap();
    run.until_succeeded().await;
    run.until_expired().await;
    drop(run);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_harness_is_a_lost_run_and_no_second_process() {
    let world = World::shared().await;
    let gate = Gate::new();
    let mut turns = notes::building();
    turns[3] = turns[3].clone().held(Point::Headers, &gate);
    world.play("lost", Part::Planning, notes::planning());
    world.play("lost", Part::Building, turns);
    let run = world.apply("lost", &notes::files(&world)).await;
    run.approve().await;
    gate.reached().await;
    run.until("checked", |_, reported| reported.check_summary.as_deref() == Some("1/1")).await;

    run.harness().await.kill().unwrap();
    run.until_ended(Phase::Failed, "HarnessLost").await;
    gate.open();
    assert_eq!((run.head(), run.pull_requests()), (None, Vec::new()));
    let asked = (run.requests(Part::Planning).len(), run.requests(Part::Building).len());
    assert_eq!(asked, (notes::planning().len(), 4));
    let harnesses = world.stack.lock().await.harnesses().unwrap();
    assert!(harnesses.iter().all(|harness| harness.agent != run.name), "{harnesses:?}");
    assert_eq!(reported(&run.resource().await).check_summary.as_deref(), Some("1/1"));
}

/// LIFE-13
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_of_a_killed_harness_is_approved_no_more_and_its_run_can_begin_again() {
    let world = World::shared().await;
    let run = world.apply_notes("lost-plan").await;
    let question = run.plan_question().await;
    run.harness().await.kill().unwrap();
    let lost = run.until_ended(Phase::Failed, "HarnessLost").await;
    assert_eq!(reported(&lost).question, None, "nobody waits for an answer");
    let refused = world.api.answer(&run.name, &build(&question)).await.unwrap_err();
    assert_eq!(refused.status(), Some(409), "{refused}");

    let again = run.restarted(2).await;
    world.api.answer(&run.name, &build(&again)).await.unwrap();
    run.until_succeeded().await;
    run.until_expired().await;
}
