//! What stands in the way of a coding run, in the cluster runtime, and how it heals.

use foundry_crds::agent::Activation;
use foundry_crds::coding_run::Approval;
use foundry_crds::{Agent, CodingRun, Harness};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ResourceQuota, ResourceQuotaSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::core::DeserializeGuard as Guard;
use kube::{Resource as _, ResourceExt as _};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use testenv::eventually;

use super::coding::{kubectl, patch};
use super::world::{DEADLINE, World, coding, complete};

/// ROUTE-15's rule where no route watches: nothing is made until the Harness can do it.
#[tokio::test]
async fn a_run_waits_for_a_harness_that_can_work_on_a_repository() {
    let world = World::new("op-run-wait").await;
    let operator = world.cluster_operator();
    world.run("fix", |_| {}).await;
    let status = world.stands("fix", "Pending", "HarnessNotFound").await;
    assert_eq!(status.agent, None);
    world.harness("coding-v1").await;
    world.stands("fix", "Pending", "HarnessLacksFeature").await;
    world.exactly::<Agent>(&[]).await;
    patch::<Harness>(&world, "coding-v1", json!({ "spec": coding() })).await;
    world.exactly::<Job>(&["foundry-agent-fix-1"]).await;
    operator.stop().await;
}

#[tokio::test]
async fn a_run_takes_over_no_agent_of_its_name_and_makes_its_own_when_that_is_gone() {
    let world = World::new("op-run-name").await;
    let operator = world.cluster_operator();
    world.can_code().await;
    let agent = world.agent("fix", |spec| spec.activation = Some(Activation::OnDemand)).await;
    world.run("fix", |_| {}).await;
    let status = world.stands("fix", "Pending", "NameTaken").await;
    assert!(complete(&status).1.contains("another name"), "{}", complete(&status).1);
    let present = world.api::<Agent>().get("fix").await.unwrap();
    assert_eq!((present.uid(), present.spec), (agent.uid(), agent.spec));
    world.api::<Agent>().delete("fix", &DeleteParams::default()).await.unwrap();
    world.exactly::<Job>(&["foundry-agent-fix-1"]).await;
    operator.stop().await;
}

/// LIFE-05: whoever says so in an owner reference carries out nobody's run.
#[tokio::test]
async fn an_agent_that_claims_to_be_a_runs_own_is_told_nothing_of_it() {
    let world = World::new("op-run-claim").await;
    let operator = world.cluster_operator();
    let run = world.run("fix", |_| {}).await;
    world.stands("fix", "Pending", "HarnessNotFound").await;
    let mut claiming = Agent::new(
        "fix",
        foundry_crds::AgentSpec {
            owner: "ben".to_owned(),
            harness: "agent-v1".to_owned(),
            activation: Some(Activation::OnDemand),
            ..foundry_crds::AgentSpec::default()
        },
    );
    claiming.metadata.owner_references = run.controller_owner_ref(&()).map(|owner| vec![owner]);
    let claiming = world.create(&claiming).await;
    world.stands("fix", "Pending", "NameTaken").await;
    let present = world.api::<Agent>().get("fix").await.unwrap();
    assert_eq!((present.uid(), present.spec), (claiming.uid(), claiming.spec));
    operator.stop().await;
}

/// A spawned run acts for the owner of the agent that spawned it, and for nobody else.
#[tokio::test]
async fn a_spawned_run_waits_for_its_spawner_and_is_refused_another_owners() {
    let world = World::new("op-run-spawn").await;
    let operator = world.cluster_operator();
    world.can_code().await;
    let on_demand = |owner: &str| {
        let owner = owner.to_owned();
        move |spec: &mut foundry_crds::AgentSpec| {
            spec.owner = owner;
            spec.activation = Some(Activation::OnDemand);
        }
    };
    world.run("fix", |spec| spec.agent = Some("lead".to_owned())).await;
    world.stands("fix", "Pending", "ParentNotFound").await;
    world.agent("other", on_demand("ben")).await;
    world.run("steal", |spec| spec.agent = Some("other".to_owned())).await;
    world.stands("steal", "Pending", "ParentOwner").await;
    world.agent("lead", on_demand("ann")).await;
    world.exactly::<Job>(&["foundry-agent-fix-1"]).await;
    let agent = world.api::<Agent>().get("fix").await.unwrap();
    assert_eq!(agent.spec.parent.as_deref(), Some("lead"));
    assert_eq!(agent.spec.approval, Some(Approval::Itself), "CODE-33");
    operator.stop().await;
}

/// Made again under its name, a run has an agent of its own and not its predecessor's.
#[tokio::test]
async fn a_deleted_run_takes_all_along_and_its_namesake_begins_anew() {
    let world = World::new("op-run-gone").await;
    let operator = world.cluster_operator();
    world.can_code().await;
    world.run("fix", |_| {}).await;
    world.one_pod("fix").await;
    let first = world.api::<Agent>().get("fix").await.unwrap().uid();
    world.api::<CodingRun>().delete("fix", &DeleteParams::default()).await.unwrap();
    let run = world.run("fix", |_| {}).await;
    let agents = world.api::<Agent>();
    eventually("the namesake has an agent of its own", DEADLINE, || async {
        let agent = agents.get("fix").await?;
        anyhow::ensure!(agent.uid() != first, "it is the first one");
        anyhow::ensure!(agent.owner_references()[0].uid == run.uid().unwrap_or_default(), "whose?");
        anyhow::Ok(())
    })
    .await;
    world.stands("fix", "Pending", "Pending").await;
    world.exactly::<Job>(&["foundry-agent-fix-1"]).await;

    world.api::<Agent>().delete("fix", &DeleteParams::default()).await.unwrap();
    let status = world.stands("fix", "Failed", "HarnessLost").await;
    assert!(complete(&status).1.contains("its agent was deleted"), "{}", complete(&status).1);
    world.exactly::<Agent>(&[]).await;
    operator.stop().await;
}

/// A full quota keeps a run waiting in the cluster's words, and it heals untouched.
#[tokio::test]
async fn a_run_that_the_cluster_has_no_room_for_is_pending_and_heals() {
    let world = World::new("op-run-quota").await;
    let quota = ResourceQuota {
        metadata: kube::api::ObjectMeta { name: Some("none".into()), ..Default::default() },
        spec: Some(ResourceQuotaSpec {
            hard: Some([("count/jobs.batch".to_owned(), Quantity("0".to_owned()))].into()),
            ..ResourceQuotaSpec::default()
        }),
        status: None,
    };
    world.create(&quota).await;
    let quotas = world.api::<ResourceQuota>();
    eventually("the quota counts", DEADLINE, || async {
        let status = quotas.get("none").await?.status.and_then(|status| status.hard);
        anyhow::ensure!(status.is_some(), "no status yet");
        anyhow::Ok(())
    })
    .await;
    let operator = world.cluster_operator();
    world.can_code().await;
    world.run("fix", |_| {}).await;
    let status = world.stands("fix", "Pending", "Refused").await;
    assert!(complete(&status).1.contains("exceeded quota"), "{}", complete(&status).1);
    assert!(status.conditions.iter().any(|it| it.type_ == "Reconciling" && it.status == "True"));
    quotas.delete("none", &DeleteParams::default()).await.unwrap();
    world.exactly::<Job>(&["foundry-agent-fix-1"]).await;
    operator.stop().await;
}

/// An object that this operator cannot read is told so, and delays no other.
#[tokio::test]
async fn a_run_that_does_not_decode_is_told_and_blocks_nobody() {
    let world = World::new("op-run-odd").await;
    world.can_code().await;
    world.run("odd", |_| {}).await;
    // A date the API server takes and our clock cannot say.
    let odd = json!({ "status": { "startTime": "9999-12-31T23:59:59Z" } });
    patch_status::<Guard<CodingRun>>(&world, "odd", odd).await;
    let operator = world.cluster_operator();
    world.run("fix", |_| {}).await;
    world.exactly::<Job>(&["foundry-agent-fix-1"]).await;
    let runs = world.api::<Guard<CodingRun>>();
    eventually("the odd one is told", DEADLINE, || async {
        runs.get("odd").await?;
        let said = kubectl(&world, &["get", "codingrun", "odd", "--output", "json"]).await;
        anyhow::ensure!(said.contains("\"Invalid\"") && said.contains("\"Stalled\""), "{said}");
        anyhow::Ok(())
    })
    .await;
    operator.stop().await;
}

#[expect(clippy::disallowed_methods, reason = "the test is another writer")]
async fn patch_status<K>(world: &World, name: &str, body: Value)
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + serde::de::DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    let patch = Patch::Merge(body);
    world.api::<K>().patch_status(name, &PatchParams::default(), &patch).await.unwrap();
}
