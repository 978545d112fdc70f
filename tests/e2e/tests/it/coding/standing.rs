//! A coding agent that stays: each wake of its inbox is a task.

use foundry_client::{AgentState, LogLine, QuestionView, RecordWake, Status};
use foundry_crds::Agent;
use pretty_assertions::assert_eq;
use serde_json::json;
use testenv::eventually;

use super::notes;
use super::play::Part;
use super::run::{Run, build};
use super::world::{PERSON, World};
use crate::world::{DEADLINE, assert_whole};

async fn agent(world: &World, name: &str) -> Run {
    world.play_notes(name);
    let run = world.lay(name, &format!("acme/{name}"), &notes::files(world));
    let object: Agent = serde_json::from_value(json!({
        "apiVersion": "foundry.flow.life/v1alpha1",
        "kind": "Agent",
        "metadata": {"name": name},
        "spec": {
            "owner": PERSON,
            "harness": "coding-v1",
            "instructions": "Keep the notes in order.",
            "repository": {"remote": world.git.remote(&run.repository)},
        },
    }))
    .unwrap();
    world.create(object).await;
    run
}

impl Run {
    async fn wake(&self, key: &str) {
        let wake = RecordWake {
            source: "person".to_owned(),
            text: Some(format!("Mend what is broken ({}).", self.mark)),
            idempotency_key: Some(key.to_owned()),
            ..RecordWake::default()
        };
        self.world.api.record_wake(&self.name, &wake).await.unwrap();
    }

    /// Waits for another question than this one.
    async fn question_after(&self, old: &QuestionView) -> QuestionView {
        eventually("another question is asked", DEADLINE, || async {
            let new = self.question().await;
            if new.id == old.id { Err("still the old one") } else { Ok(new) }
        })
        .await
    }

    /// Waits until so many tasks ended well.
    async fn until_results(&self, count: usize) {
        eventually(&format!("{count} tasks end"), DEADLINE, || async {
            let results = self.log_of("result").await;
            let well = |line: &LogLine| line.event.message.starts_with("completed");
            if results.len() == count && results.iter().all(well) {
                return Ok(());
            }
            Err(format!("{results:#?}"))
        })
        .await;
    }
}

/// CODE-28, CODE-31, CODE-34
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_stays_plans_each_wake_anew_also_when_it_was_killed_over_one() {
    let world = World::shared().await;
    let run = agent(&world, "standing").await;
    run.wake("one").await;
    let lost = run.question().await;
    run.harness().await.kill().unwrap();

    let first = run.question_after(&lost).await;
    assert_eq!(first.plan_sha256, lost.plan_sha256);
    let late = world.api.answer(&run.name, &build(&lost)).await.unwrap_err();
    assert_eq!(late.status(), Some(409), "{late}");
    world.api.answer(&run.name, &build(&first)).await.unwrap();
    run.until_results(1).await;
    let process = run.harness().await;

    run.wake("one").await;
    run.wake("two").await;
    let second = run.question_after(&first).await;
    world.api.answer(&run.name, &build(&second)).await.unwrap();
    run.until_results(2).await;

    let heads: Vec<_> = run.pull_requests().into_iter().map(|request| request.head).collect();
    assert_eq!(heads.len(), 2, "{heads:?}");
    for head in &heads {
        assert!(head.starts_with(&run.branch()), "{head}");
        assert_eq!(run.bare.ahead("main", head).unwrap(), 1);
    }
    assert_ne!(heads[0], heads[1]);
    assert_eq!(run.requests(Part::Planning).len(), 3 * notes::planning().len());
    assert_eq!(run.requests(Part::Building).len(), 2 * notes::building().len());
    let agent = world.api.get_agent(&run.name).await.unwrap();
    assert_eq!((agent.status, agent.state), (Status::Active, AgentState::Running));
    assert_eq!(run.harness().await, process);
    assert_whole(&run.log().await);
}
