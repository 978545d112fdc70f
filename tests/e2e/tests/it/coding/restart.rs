//! A run whose agent is brought back begins again.

use std::time::SystemTime;

use fakes::model::{Gate, Point};
use foundry_client::{AgentState, QuestionView, Status};
use foundry_crds::coding_run::Phase;
use jiff::{SignedDuration, Timestamp};
use pretty_assertions::assert_eq;
use testenv::eventually;

use super::notes;
use super::play::{Part, command};
use super::run::{Run, build, complete, reported};
use super::world::World;
use crate::world::DEADLINE;

impl Run {
    /// Restarts the agent and waits for the plan that its new start asks about.
    pub async fn restarted(&self, start: i64) -> QuestionView {
        self.world.api.restart_agent(&self.name).await.unwrap();
        self.asked_again(start).await
    }

    /// Waits for the plan that this start asks about.
    async fn asked_again(&self, start: i64) -> QuestionView {
        self.until("planned again", |status, reported| {
            status.phase == Some(Phase::AwaitingApproval) && reported.start_number == Some(start)
        })
        .await;
        self.question().await
    }
}

/// LIFE-11, LIFE-13, LIFE-14, CODE-34
#[tokio::test(flavor = "multi_thread")]
async fn a_finished_run_whose_agent_is_restarted_begins_again_on_the_same_pull_request() {
    let world = World::shared().await;
    let run = world.apply_notes("again").await;
    run.approve().await;
    let first = run.until_succeeded().await;
    run.until_expired().await;

    let question = run.restarted(2).await;
    let agent = world.api.get_agent(&run.name).await.unwrap();
    assert_eq!((agent.status, agent.process_generation), (Status::Active, 2));
    assert_eq!(agent.state, AgentState::Running);
    let left = agent.ttl_at.unwrap().duration_since(now());
    let hours = SignedDuration::from_hours;
    assert!(left <= hours(4) && left > hours(4) - SignedDuration::from_mins(5), "{left:?}");
    assert_eq!(question.plan_sha256, reported(&first).plan.map(|plan| plan.sha256));
    let planning = run.resource().await;
    assert_eq!(reported(&planning).plan.unwrap().approved_by, None);
    assert_eq!(reported(&planning).result, None);
    let closed = world.api.answer(&run.name, &build(&question)).await.unwrap();
    assert_eq!(closed.question_id, question.id);

    run.until_succeeded().await;
    run.until_expired().await;
    assert_eq!(run.requests(Part::Planning).len(), 2 * notes::planning().len());
    assert_eq!(run.requests(Part::Building).len(), 2 * notes::building().len());
}

/// CODE-34
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_waited_when_its_agent_was_ended_is_asked_about_anew() {
    let world = World::shared().await;
    let run = world.apply_notes("anew").await;
    let old = run.plan_question().await;
    world.api.expire_agent(&run.name).await.unwrap();
    run.until_ended(Phase::Unfinished, "Stopped").await;
    let new = run.restarted(2).await;
    assert_ne!(new.id, old.id);
    let refused = world.api.answer(&run.name, &build(&old)).await.unwrap_err();
    assert_eq!(refused.status(), Some(409), "{refused}");
    let document = world.api.get_coding_run(&run.name).await.unwrap().plan.unwrap().document_id;
    world.api.plan_link(&run.name, &document).await.unwrap();
    world.api.answer(&run.name, &build(&new)).await.unwrap();
    run.until_succeeded().await;
}

/// LIFE-03, LIFE-10
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_a_person_stops_is_unfinished_and_begins_again_when_it_is_started() {
    let world = World::shared().await;
    let run = world.apply_notes("stopped").await;
    let question = run.plan_question().await;
    world.api.stop_agent(&run.name).await.unwrap();
    run.until_ended(Phase::Unfinished, "Stopped").await;
    let refused = world.api.answer(&run.name, &build(&question)).await.unwrap_err();
    assert_eq!(refused.status(), Some(409), "{refused}");
    assert_eq!(run.requests(Part::Building).len(), 0);

    world.api.start_agent(&run.name).await.unwrap();
    let again = run.asked_again(2).await;
    world.api.answer(&run.name, &build(&again)).await.unwrap();
    run.until_succeeded().await;
    run.until_expired().await;
}

/// LIFE-14
#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_added_to_the_branch_of_a_run_is_not_overwritten_when_it_begins_again() {
    let world = World::shared().await;
    let run = world.apply_notes("touched").await;
    run.approve().await;
    run.until_succeeded().await;
    run.until_expired().await;
    let mine = run.bare.commit(&run.branch(), "A touch of my own", &[("AUTHORS", Some(b"ann"))]);
    let mine = Some(mine.unwrap());

    world.api.restart_agent(&run.name).await.unwrap();
    run.until("refused", |status, _| status.phase == Some(Phase::Failed)).await;
    let refused = run.until_ended(Phase::Failed, "CloneFailed").await;
    assert!(complete(&refused).2.contains("ann@example.com"), "{:?}", complete(&refused));
    assert_eq!(run.head(), mine);
    assert_eq!(run.requests(Part::Planning).len(), notes::planning().len(), "no model was asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_deleted_in_the_middle_leaves_no_agent_and_no_process() {
    let world = World::shared().await;
    let gate = Gate::new();
    world.play("deleted", Part::Planning, notes::planning());
    let building = [notes::mend(), command("ls").held(Point::Headers, &gate)];
    world.play("deleted", Part::Building, building);
    let run = world.apply("deleted", &notes::files(&world)).await;
    run.approve().await;
    gate.reached().await;
    let home = run.harness().await.home;
    world.kubectl(&["delete", "codingrun", &run.name, "--wait"]).await;
    eventually("nothing of it is left", DEADLINE, || async {
        let agent = world.api.get_agent(&run.name).await.map(|agent| agent.state);
        let seen = world.api.get_coding_run(&run.name).await.map(|run| run.phase);
        let mut left = world.stack.lock().await.harnesses().unwrap();
        left.retain(|harness| harness.agent == run.name);
        match (agent, seen, left.is_empty(), home.exists()) {
            (Err(agent), Err(seen), true, false)
                if (agent.status(), seen.status()) == (Some(404), Some(404)) =>
            {
                Ok(())
            }
            left => Err(format!("{left:?}")),
        }
    })
    .await;
    gate.open();
    assert_eq!((run.head(), run.pull_requests()), (None, Vec::new()));
}

fn now() -> Timestamp {
    SystemTime::now().try_into().unwrap()
}
