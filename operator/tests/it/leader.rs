//! One operator works at a time.

use foundry_crds::AgentState;
use foundry_crds::agent::Activation;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use testenv::eventually;

use super::world::{DEADLINE, World};

async fn holder(world: &World) -> String {
    let leases: Api<Lease> = Api::namespaced(world.client(), "default");
    let lease = leases.get(&format!("foundry-operator-{}", world.namespace.name)).await.unwrap();
    lease.spec.unwrap().holder_identity.unwrap()
}

async fn works(world: &World, agent: &str) {
    world.agent(agent, |spec| spec.activation = Some(Activation::OnDemand)).await;
    world
        .status("an operator works", agent, |status| status.state == Some(AgentState::OnDemand))
        .await;
}

/// A stopped leader hands over at once; the lease is empty in between.
#[tokio::test]
async fn a_stopped_leader_releases_the_lease_and_the_other_takes_over() {
    let world = World::new("op-lease").await;
    world.harness("agent-v1").await;
    let first = world.cluster_operator();
    works(&world, "one").await;
    let before = holder(&world).await;
    let second = world.cluster_operator();
    first.stop().await;
    eventually("the second leads", DEADLINE, || async {
        let now = holder(&world).await;
        anyhow::ensure!(!now.is_empty() && now != before, "{now}");
        anyhow::Ok(())
    })
    .await;
    works(&world, "two").await;
    second.stop().await;
    assert_eq!(holder(&world).await, "", "released");
}

/// After a crash the lease is seen unchanged for its duration, then taken.
#[tokio::test]
async fn a_dead_leader_is_replaced_once_its_lease_expires() {
    let world = World::new("op-crash").await;
    world.harness("agent-v1").await;
    let first = world.cluster_operator();
    works(&world, "one").await;
    first.kill().await;
    let second = world.cluster_operator();
    works(&world, "two").await;
    second.stop().await;
}
