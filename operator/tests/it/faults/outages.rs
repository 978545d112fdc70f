//! The API server and its store go and come back. The operator is not started again.

use std::time::Duration;

use foundry_crds::agent::Activation;
use foundry_crds::{Agent, AgentState};
use k8s_openapi::api::apps::v1::Deployment;
use pretty_assertions::assert_eq;
use testenv::{ControlPlane, Durability, RunFolder, within};

use super::Binary;
use crate::it::world::{DEADLINE, World};

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_outlives_the_api_server_and_the_store_and_makes_nothing_twice() {
    let run = RunFolder::create().unwrap();
    let folder = run.path().join("outages");
    let control_plane = ControlPlane::start(&folder, Durability::Throwaway).await.unwrap();
    control_plane.install().await.unwrap();
    // Kept to the end of the process, as the shared one is.
    let control_plane: &'static ControlPlane = Box::leak(Box::new(control_plane));
    let world = World::on(control_plane, "op-outage").await;
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    let kubeconfig =
        control_plane.kubeconfig_for_service_account("default", "foundry-operator").await;
    let mut operator = Binary::start(&world, &kubeconfig, &world.namespace.name);
    let pid = operator.process.pid();
    world.settles_without_a_node("ann").await;
    let before = world.api::<Deployment>().get("foundry-agent-ann").await.unwrap();

    control_plane.kill_api_server().unwrap();
    // Ready is who could act: one that cannot renew its lease drops the work and says why.
    let it = &operator;
    within("/readyz tells of it", Duration::from_secs(30), || async {
        let said = it.readyz().await.unwrap_or_else(|error| format!("{error:#}"));
        let words = it.process.last_words();
        anyhow::ensure!(said.contains("[-]control-plane failed"), "{said}; {words}");
        anyhow::Ok(())
    })
    .await
    .unwrap();
    control_plane.start_api_server().await.unwrap();
    operator.says("this operator leads").await;
    works(&world, "ben").await;

    control_plane.restart_etcd().await.unwrap();
    works(&world, "eve").await;
    operator.says("this operator leads").await;
    assert_eq!(operator.process.pid(), pid);
    assert!(operator.process.exited().unwrap().is_none(), "{}", operator.process.last_words());

    let after = world.api::<Deployment>().get("foundry-agent-ann").await.unwrap();
    assert_eq!(after.metadata.uid, before.metadata.uid);
    assert_eq!(after.metadata.generation, before.metadata.generation, "nothing was made again");
    let status = world.api::<Agent>().get("ann").await.unwrap().status.unwrap();
    assert_eq!(status.start_number, Some(1));
    world.exactly::<Deployment>(&["foundry-agent-ann"]).await;
}

async fn works(world: &World, agent: &str) {
    let made = within("an agent can be created", DEADLINE, || async {
        let agent = foundry_crds::Agent::new(
            agent,
            foundry_crds::AgentSpec {
                owner: "eve".to_owned(),
                harness: "agent-v1".to_owned(),
                activation: Some(Activation::OnDemand),
                ..foundry_crds::AgentSpec::default()
            },
        );
        let created = world.api::<Agent>().create(&kube::api::PostParams::default(), &agent).await;
        match created {
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
            other => other.map(drop),
        }
    });
    made.await.unwrap();
    world
        .status("the operator works", agent, |status| status.state == Some(AgentState::OnDemand))
        .await;
}
