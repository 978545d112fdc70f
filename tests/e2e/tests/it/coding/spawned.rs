//! A run that an agent spawned approves its own plan.

use fakes::model::{Reply, When};
use foundry_client::{AgentState, SpawnCodingAgent};
use foundry_crds::coding_run::Phase;
use foundry_crds::{Agent, CodingRun, Harness};
use kube::api::ListParams;
use pretty_assertions::assert_eq;
use testenv::eventually;

use super::notes;
use super::play::{Part, finish, mark};
use super::run::{Run, reported};
use super::world::{World, example, token_of};
use crate::world::DEADLINE;

const PARENT: &str = "lead";

/// An always-on agent that may spawn; gives what its own process proves itself with.
async fn parent(world: &World) -> String {
    let mut harness: Harness = example("quickstart/harness.yaml");
    harness.spec.tools.push("spawn_coding_agent".to_owned());
    world.create(harness).await;
    let mut agent: Agent = example("quickstart/agent.yaml");
    agent.metadata.name = Some(PARENT.to_owned());
    agent.spec.tools = vec!["spawn_coding_agent".to_owned()];
    agent.spec.instructions = Some(format!("You are `{PARENT}`; {}.", mark(PARENT)));
    let lead = When::any().system(mark(PARENT));
    world.model.on((lead, Reply::text("Nothing is due.")));
    world.create(agent).await;
    let running = || async {
        let agent = world.api.get_agent(PARENT).await.map_err(|error| error.to_string())?;
        if agent.state == AgentState::Running { Ok(()) } else { Err(format!("{agent:?}")) }
    };
    eventually("the parent runs", DEADLINE, running).await;
    token_of(&world.harness_of(PARENT).await)
}

/// ROUTE-14, ROUTE-15, CODE-32, CODE-33, CODE-37
#[tokio::test(flavor = "multi_thread")]
async fn a_spawned_run_asks_nobody_and_says_so() {
    let world = World::shared().await;
    let api = world.as_holder(parent(&world).await).await;
    let mut run = world.lay("spawned", "acme/spawned", &notes::files(&world));
    world.play("spawned", Part::Planning, notes::planning());
    let mut building = notes::building();
    // Too early: the write-up is still to come.
    building.insert(4, finish("completed", "notes.go parses again."));
    world.play("spawned", Part::Building, building);
    let spawn = SpawnCodingAgent {
        task: format!("Mend what is broken ({}).", mark("spawned")),
        remote: world.git.remote(&run.repository),
        idempotency_key: Some("once".to_owned()),
        ..SpawnCodingAgent::default()
    };
    for (harness, status) in [("agent-v1", 422), ("no-such-harness", 404)] {
        let spawn = SpawnCodingAgent {
            harness_id: Some(harness.to_owned()),
            idempotency_key: None,
            ..spawn.clone()
        };
        let refused = api.spawn_coding_agent(PARENT, &spawn).await.unwrap_err();
        assert_eq!(refused.status(), Some(status), "{refused}");
    }
    let since = world.version().await;
    let view = api.spawn_coding_agent(PARENT, &spawn).await.unwrap();
    let again = api.spawn_coding_agent(PARENT, &spawn).await.unwrap();
    assert_eq!((&again.id, view.parent_agent_id.as_deref()), (&view.id, Some(PARENT)));
    run.name.clone_from(&view.id);

    let (phases, done) = tokio::join!(run.phases(&since), run.until_phase(Phase::Succeeded));
    assert!(!phases.contains(&Phase::AwaitingApproval), "{phases:?}");
    run.assert_whole().await;
    let agent = world.api.get_agent(&run.name).await.unwrap();
    let approved_by = reported(&done).plan.unwrap().approved_by;
    assert!(agent.mailbox.is_some());
    assert_eq!((approved_by, agent.parent_agent_id.as_deref()), (agent.mailbox, Some(PARENT)));
    assert_eq!(run.log_of("question").await, []);
    let refused = run.results(Part::Building, "finish");
    assert!(refused[0].contains("pull request"), "{refused:?}");
    run.until_expired().await;
    assert_spawned_once(&world, &run).await;
}

async fn assert_spawned_once(world: &World, run: &Run) {
    let runs = world.objects::<CodingRun>().list(&ListParams::default()).await.unwrap();
    let mut spawned: Vec<_> =
        runs.into_iter().filter(|run| run.spec.agent.as_deref() == Some(PARENT)).collect();
    assert_eq!(spawned.len(), 1);
    assert_eq!(spawned.remove(0).metadata.name.as_ref(), Some(&run.name));
    let children = world.api.list_children(PARENT).await.unwrap().items;
    let children: Vec<_> = children.into_iter().map(|child| child.id).collect();
    assert_eq!(children, [run.name.as_str()]);
}
