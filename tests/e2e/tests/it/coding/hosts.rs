//! Git hosts and pull request APIs that refuse.

use fakes::git::GitServer;
use fakes::github::Refusal;
use fakes::model::{Gate, Point};
use foundry_crds::CodingRun;
use foundry_crds::coding_run::Phase;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::notes;
use super::play::{Part, command, commit, finish, push};
use super::run::{complete, reported};
use super::world::World;

/// A run on this host, which cannot be cloned from.
async fn unclonable(world: &World, name: &str, host: &GitServer) -> CodingRun {
    let repository = json!({"repository": {"remote": host.remote(&format!("acme/{name}"))}});
    let run = world.apply_with(name, &notes::files(world), &repository).await;
    let ended = run.until_ended(Phase::Failed, "CloneFailed").await;
    assert_eq!(run.requests(Part::Planning).len(), 0, "no model is asked about nothing");
    assert_eq!(reported(&ended).result.unwrap().outcome, "clone_failed");
    run.until_expired().await;
    ended
}

/// CODE-01
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_refuses_the_key_ends_the_run_with_words_about_the_key() {
    let world = World::shared().await;
    let ended = unclonable(&world, "refused", &world.others.closed).await;
    let message = complete(&ended).2;
    assert!(message.contains("key"), "{message}");
}

/// CODE-01
#[tokio::test(flavor = "multi_thread")]
async fn a_host_key_that_changed_or_that_nobody_knows_ends_the_run_by_name() {
    let world = World::shared().await;
    let (changed, unknown) = tokio::join!(
        unclonable(&world, "changed-host", &world.others.changed),
        unclonable(&world, "unknown-host", &world.others.unknown),
    );
    let (changed, unknown) = (complete(&changed).2, complete(&unknown).2);
    assert!(changed.contains("host key"), "{changed}");
    assert!(unknown.contains("host key") && unknown.contains("known_hosts"), "{unknown}");
    assert_ne!(changed, unknown);
}

/// CODE-05
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_push_is_told_to_the_model_which_gives_up_or_tries_again() {
    const REASON: &str = "this branch is frozen until Monday";
    let world = World::shared().await;
    let gate = Gate::new();
    let begun = || vec![notes::mend(), command(notes::CHECK), commit("Spell return right"), push()];
    let gives_up = finish("failed", "The branch is frozen.");
    world.play("frozen", Part::Planning, notes::planning());
    world.play("frozen", Part::Building, [begun(), vec![gives_up]].concat());
    let again = push().held(Point::Headers, &gate);
    let rest = vec![again, notes::request(), finish("completed", "notes.go parses again.")];
    world.play("thawed", Part::Planning, notes::planning());
    world.play("thawed", Part::Building, [begun(), rest].concat());
    let files = notes::files(&world);
    let frozen = world.apply("frozen", &files).await;
    let thawed = world.apply("thawed", &files).await;
    for run in [&frozen, &thawed] {
        world.git.refuse_pushes(Some(&run.repository), None, Some(REASON));
        run.approve().await;
    }

    gate.reached().await;
    world.git.refuse_pushes(Some(&thawed.repository), None, None);
    gate.open();
    thawed.until_succeeded().await;
    let ended = frozen.until_ended(Phase::Failed, "RunFailed").await;
    assert!(complete(&ended).2.contains("The branch is frozen."), "{:?}", complete(&ended));
    for run in [&frozen, &thawed] {
        let told = run.results(Part::Building, "git_push");
        assert!(told[0].contains(REASON), "{told:?}");
    }
    assert_eq!((frozen.head(), frozen.pull_requests()), (None, Vec::new()));
}

/// CODE-06
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_pull_request_is_told_to_the_model_and_its_branch_stays() {
    const REASON: &str = "Resource not accessible by personal access token";
    let world = World::shared().await;
    world.play("unrequested", Part::Planning, notes::planning());
    let mut building = notes::building();
    building.pop();
    building.push(finish("failed", "The token may not open pull requests."));
    world.play("unrequested", Part::Building, building);
    let run = world.apply("unrequested", &notes::files(&world)).await;
    world.github.refuse(Refusal {
        repository: Some(run.repository.clone()),
        status: 403,
        message: Some(REASON.to_owned()),
        ..Refusal::default()
    });
    run.approve().await;
    let ended = run.until_ended(Phase::Failed, "RunFailed").await;
    assert!(complete(&ended).2.contains("may not open"), "{:?}", complete(&ended));
    let told = run.results(Part::Building, "open_pull_request");
    assert!(told[0].contains(REASON), "{told:?}");
    assert_eq!(run.pull_requests(), []);
    assert_eq!(reported(&ended).head_commit, run.head());
    assert!(run.head().is_some(), "the branch can be looked at");
}
