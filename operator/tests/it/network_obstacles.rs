//! What comes in the way of network policies, and what they come in the way of.

use anyhow::ensure;
use foundry_crds::Agent;
use foundry_crds::agent::{Activation, Lifetime};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams};
use pretty_assertions::assert_eq;
use serde_json::json;
use testenv::eventually;

use super::network::{CODING, HARNESS, both, change, forbid_policies, says_again};
use super::world::{DEADLINE, World};

/// Whoever copies one of the two copies its labels. The operator may not touch the copy, and
/// a try would be refused each time a pod is begun.
#[tokio::test]
async fn a_copy_of_a_policy_under_another_name_keeps_no_agent_from_running() {
    let world = World::new("op-fence-copy").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    world.one_pod("ann").await;
    let mut copy = both(&world).await.remove(0);
    operator.stop().await;
    copy.metadata.name = Some("a-copy".to_owned());
    copy.metadata.uid = None;
    copy.metadata.resource_version = None;
    copy.metadata.managed_fields = None;
    copy.metadata.owner_references = None;
    let copy = world.create(&copy).await;

    let operator = world.cluster_operator();
    world.agent("ben", |_| {}).await;
    world.one_pod("ben").await;
    let found = world.exactly::<NetworkPolicy>(&["a-copy", HARNESS, CODING]).await;
    assert_eq!(found[0].uid(), copy.uid());
    operator.stop().await;
}

/// NET-01: `kubectl delete agent --cascade=orphan` leaves a Deployment, whose next pod no
/// operator makes.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test is another writer")]
async fn policies_stay_as_long_as_anything_is_there_that_makes_harness_pods() {
    let world = World::new("op-fence-orphan").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    world.one_pod("ann").await;
    operator.stop().await;
    world.api::<Agent>().delete("ann", &DeleteParams::orphan()).await.unwrap();
    world.exactly::<Agent>(&[]).await;
    let none = Patch::Merge(json!({ "spec": { "replicas": 0 } }));
    let deployments = world.api::<Deployment>();
    deployments.patch("foundry-agent-ann", &PatchParams::default(), &none).await.unwrap();
    world.no_pod("ann").await;
    let laid = both(&world).await;

    // What is put right was wanted, and is there still.
    change(&world, HARNESS, json!({ "spec": { "ingress": [{}] } })).await;
    let operator = world.cluster_operator();
    let found = says_again(&world, "a way in", &laid[0]).await;
    assert_eq!(found.uid(), laid[0].uid());
    both(&world).await;

    deployments.delete("foundry-agent-ann", &DeleteParams::background()).await.unwrap();
    world.exactly::<NetworkPolicy>(&[]).await;
    operator.stop().await;
}

/// LIFE-12: what runs goes on, for as long as it may.
#[tokio::test]
async fn a_deadline_moves_where_no_policy_can_be_laid() {
    let world = World::new("op-fence-later").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("parent", |spec| spec.activation = Some(Activation::OnDemand)).await;
    let kid = |spec: &mut foundry_crds::AgentSpec| {
        spec.lifetime = Some(Lifetime::Ephemeral);
        spec.parent = Some("parent".to_owned());
        spec.ttl_at = Some(Time("2040-01-01T00:00:00Z".parse().unwrap()));
    };
    world.agent("kid", kid).await;
    world.one_pod("kid").await;
    let jobs = world.api::<Job>();
    let seconds = || async {
        let job = jobs.get("foundry-agent-kid-1").await?;
        let began = job.status.and_then(|status| status.start_time);
        ensure!(began.is_some(), "it has not begun");
        anyhow::Ok(job.spec.and_then(|spec| spec.active_deadline_seconds).unwrap_or_default())
    };
    let before = eventually("the Job begins", DEADLINE, seconds).await;
    operator.stop().await;
    forbid_policies(&world).await;

    let operator = world.cluster_operator();
    world.edit("kid", json!({ "ttlAt": "2041-01-01T00:00:00Z" })).await;
    eventually("it may run for longer", DEADLINE, || async {
        let now = seconds().await?;
        ensure!(now > before, "{now} s, as before");
        anyhow::Ok(())
    })
    .await;
    operator.stop().await;
}
