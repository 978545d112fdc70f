//! Runs that must not succeed: the gate holds, the clock runs out.

use fakes::model::{Gate, Point};
use foundry_crds::coding_run::Phase;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::notes;
use super::play::{Part, command, commit, edit, finish, push};
use super::run::{complete, reported};
use super::world::World;

/// CODE-18
#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_check_never_passes_is_not_let_through_and_ends_failed() {
    let world = World::shared().await;
    world.play("failing", Part::Planning, notes::planning());
    let claim = || finish("completed", "It is done.");
    world.play(
        "failing",
        Part::Building,
        [
            claim(),
            edit(notes::FILE, "retrun", "retrn"),
            claim(),
            command(notes::CHECK),
            claim(),
            command("ls"),
            claim(),
            commit("Spell return otherwise"),
            push(),
            claim(),
            finish("failed", "I cannot spell return."),
        ],
    );
    let run = world.apply("failing", &notes::files(&world)).await;
    run.approve().await;
    let ended = run.until_ended(Phase::Failed, "RunFailed").await;
    assert!(complete(&ended).2.contains("I cannot spell return."), "{:?}", complete(&ended));

    let refused = run.results(Part::Building, "finish");
    assert_eq!(refused.len(), 5, "{refused:?}");
    let report = reported(&ended);
    assert_eq!(report.result.unwrap().outcome, "failed");
    assert_eq!(report.check_summary.as_deref(), Some("0/1"));
    // What was pushed stays where a person can look at it.
    assert_eq!((report.head_commit, report.pull_request), (run.head(), None));
    assert_eq!(run.pull_requests(), []);
}

/// CODE-24, CODE-27
#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_clock_runs_out_ends_unfinished() {
    let world = World::shared().await;
    let gate = Gate::new();
    world.play("late", Part::Planning, notes::planning());
    world.play(
        "late",
        Part::Building,
        [notes::mend(), commit("Begin"), push(), command("ls").held(Point::Headers, &gate)],
    );
    let limits = json!({"limits": {"wallClock": "1m"}});
    let run = world.apply_with("late", &notes::files(&world), &limits).await;
    run.approve().await;
    gate.reached().await;
    let ended = run.until_ended(Phase::Unfinished, "OutOfTime").await;
    gate.open();
    assert_eq!(reported(&ended).result.unwrap().outcome, "out_of_time");
    assert_eq!(reported(&ended).head_commit, run.head());
    run.until_expired().await;
}
