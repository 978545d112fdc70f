//! What is deleted, or over, while no operator is there.

use std::time::Duration;

use anyhow::ensure;
use foundry_crds::agent::Activation;
use foundry_crds::{Agent, AgentState, CodingRun};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use serde_json::json;
use testenv::eventually;

use super::ephemeral;
use crate::it::world::World;

/// kubernetes.md, section 4: gone in 60 s. All of that is the control plane's own work, and
/// on a busy machine it takes longer.
const GONE_WITHIN: Duration = Duration::from_mins(2);

/// There is no finalizer that only an operator could take off.
#[tokio::test]
async fn an_agent_and_a_run_deleted_without_an_operator_take_all_along() {
    let world = World::new("op-down").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.can_code().await;
    world.agent("ann", |_| {}).await;
    world.run("fix", |_| {}).await;
    world.one_pod("ann").await;
    world.one_pod("fix").await;
    operator.stop().await;

    world.api::<Agent>().delete("ann", &DeleteParams::default()).await.unwrap();
    world.api::<CodingRun>().delete("fix", &DeleteParams::default()).await.unwrap();
    eventually("all of both is gone", GONE_WITHIN, || async {
        let all = ListParams::default();
        let left = [
            ("agents", world.api::<Agent>().list(&all).await?.items.len()),
            ("runs", world.api::<CodingRun>().list(&all).await?.items.len()),
            ("deployments", world.api::<Deployment>().list(&all).await?.items.len()),
            ("jobs", world.api::<Job>().list(&all).await?.items.len()),
            ("pods", world.api::<Pod>().list(&all).await?.items.len()),
            ("policies", world.api::<NetworkPolicy>().list(&all).await?.items.len()),
        ];
        ensure!(left.iter().all(|(_, count)| *count == 0), "{left:?}");
        anyhow::Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_namespace_deleted_without_an_operator_goes() {
    let world = World::new("op-down-space").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.can_code().await;
    world.agent("ann", |_| {}).await;
    world.run("fix", |_| {}).await;
    world.one_pod("ann").await;
    world.one_pod("fix").await;
    operator.stop().await;
    let name = &world.namespace.name;
    let namespaces: Api<Namespace> = Api::all(world.client());
    namespaces.delete(name, &DeleteParams::default()).await.unwrap();
    eventually("the namespace is gone", GONE_WITHIN, || async {
        let found = namespaces.get_opt(name).await?;
        ensure!(found.is_none(), "{:?}", found.and_then(|it| it.status));
        anyhow::Ok(())
    })
    .await;
}

/// LIFE-12: an end that comes while no operator is there is acted on by the next one.
#[tokio::test]
async fn a_ttl_that_passes_without_an_operator_is_acted_on_by_the_next_one() {
    let world = World::new("op-down-ttl").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("parent", |spec| spec.activation = Some(Activation::OnDemand)).await;
    world.agent("kid", |spec| ephemeral(spec, 3_600)).await;
    world.one_pod("kid").await;
    operator.stop().await;
    world.edit("kid", json!({ "ttlAt": "2020-01-01T00:00:00Z" })).await;

    let operator = world.cluster_operator();
    let is_over = |status: &foundry_crds::AgentStatus| status.state == Some(AgentState::Expired);
    world.status("the agent is expired", "kid", is_over).await;
    world.exactly::<Job>(&[]).await;
    world.no_pod("kid").await;
    operator.stop().await;
}
