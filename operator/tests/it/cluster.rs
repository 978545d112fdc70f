//! The cluster runtime: Deployments, `ReplicaSets`, Jobs and Pods as the kube
//! controllers make them. No node is needed to see them.

use std::time::Duration;

use foundry_crds::agent::{Activation, Lifecycle, Lifetime};
use foundry_crds::harness::NetworkRole;
use foundry_crds::{Agent, AgentState, Harness, HarnessSpec};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, PodSpec, ResourceQuota, ResourceQuotaSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use pretty_assertions::assert_eq;
use serde_json::json;
use testenv::eventually;

use super::world::{DEADLINE, World, reason};

fn hardened(pod: &PodSpec) {
    let security = pod.security_context.as_ref().unwrap();
    assert_eq!(security.run_as_user, Some(65_532));
    assert_eq!(security.run_as_non_root, Some(true));
    assert_eq!(security.seccomp_profile.as_ref().unwrap().type_, "RuntimeDefault");
    assert!(!pod.host_network.unwrap_or(false) && !pod.host_pid.unwrap_or(false));
    for container in &pod.containers {
        let security = container.security_context.as_ref().unwrap();
        assert_eq!(security.read_only_root_filesystem, Some(true));
        assert_eq!(security.allow_privilege_escalation, Some(false));
        let dropped = security.capabilities.as_ref().unwrap().drop.as_ref().unwrap();
        assert_eq!(dropped, &["ALL"]);
    }
}

/// LIFE-02, WORK-04, WORK-07, WORK-08, WORK-10
#[tokio::test]
async fn a_persistent_agent_becomes_a_deployment_whose_one_pod_is_locked_down() {
    let world = World::new("op-persistent").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    let agent = world.agent("ann", |_| {}).await;

    let deployments: Vec<Deployment> = world.exactly(&["foundry-agent-ann"]).await;
    assert_eq!(deployments[0].spec.as_ref().unwrap().replicas, Some(1));
    assert_eq!(deployments[0].owner_references()[0].uid, agent.uid().unwrap());
    let pod = world.one_pod("ann").await;
    assert_eq!(pod.labels()["app"], "foundry-harness");
    assert!(!pod.labels().contains_key("foundry-role"));
    let spec = pod.spec.as_ref().unwrap();
    hardened(spec);
    assert_eq!(spec.service_account_name.as_deref(), Some("foundry-harness"));
    assert_eq!(spec.automount_service_account_token, Some(false));
    assert_eq!(spec.containers[0].command.as_deref(), Some(&["/harness".to_owned()][..]));
    let mounts = spec.containers[0].volume_mounts.as_ref().unwrap();
    for path in ["/tmp", "/work"] {
        let mount = mounts.iter().find(|mount| mount.mount_path == path).unwrap();
        let volumes = spec.volumes.as_ref().unwrap();
        let volume = volumes.iter().find(|volume| volume.name == mount.name).unwrap();
        assert!(volume.empty_dir.is_some(), "{path} is an emptyDir");
    }

    // WORK-09's second half: without a node for it the pod waits, and so it says.
    let status = world.settles_without_a_node("ann").await;
    assert_eq!(status.state, Some(AgentState::Pending));
    assert_eq!(status.start_number, Some(1));
    assert_eq!(status.observed_starts, Some(0));
    assert_eq!(reason(&status, "Ready", false), Some("Pending"));
    assert_eq!(reason(&status, "Running", false), Some("Pending"));
    assert_eq!(status.mailbox.as_deref(), Some("ann@dev-ai.flow.life"));
    operator.stop().await;
}

/// WORK-01: two operators in turn and many looks make one of everything.
#[tokio::test]
async fn reconciling_again_makes_nothing_new_and_writes_nothing() {
    let world = World::new("op-again").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    world.one_pod("ann").await;
    world.settles_without_a_node("ann").await;
    operator.stop().await;
    let before = world.api::<Agent>().get("ann").await.unwrap();
    let deployment = world.api::<Deployment>().get("foundry-agent-ann").await.unwrap();

    let operator = world.cluster_operator();
    // An edit of another agent shows when the new operator has looked at all.
    world.agent("ben", |spec| spec.activation = Some(Activation::OnDemand)).await;
    world
        .status("the new operator works", "ben", |status| {
            status.state == Some(AgentState::OnDemand)
        })
        .await;
    operator.stop().await;
    let after = world.api::<Agent>().get("ann").await.unwrap();
    assert_eq!(before.metadata.resource_version, after.metadata.resource_version);
    let again: Vec<Deployment> = world.exactly(&["foundry-agent-ann"]).await;
    assert_eq!(again[0].metadata.generation, deployment.metadata.generation);
    let sets = world.api::<ReplicaSet>().list(&ListParams::default()).await.unwrap();
    assert_eq!(sets.items.len(), 1);
}

/// LIFE-03, LIFE-16
#[tokio::test]
async fn a_restart_recycles_the_pod_and_an_edit_does_not() {
    let world = World::new("op-restart").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    let first = world.one_pod("ann").await;

    world.edit("ann", json!({ "instructions": "watch the build" })).await;
    let status =
        world.status("the edit counts", "ann", |status| status.start_number == Some(2)).await;
    assert_eq!(status.last_start.unwrap().number, 1, "the process is the first one");
    assert_eq!(world.one_pod("ann").await.uid(), first.uid());

    world.edit("ann", json!({ "starts": 1 })).await;
    let status =
        world.status("the restart counts", "ann", |status| status.observed_starts == Some(1)).await;
    assert_eq!(status.start_number, Some(3));
    assert_eq!(status.last_start.unwrap().number, 3);
    let api = world.api::<Pod>();
    eventually("the pod is another one", DEADLINE, || async {
        let pods = api.list(&ListParams::default()).await?.items;
        let uids: Vec<_> = pods.iter().map(kube::ResourceExt::uid).collect();
        anyhow::ensure!(uids.len() == 1 && uids[0] != first.uid(), "{uids:?}");
        anyhow::Ok(())
    })
    .await;
    world.exactly::<Deployment>(&["foundry-agent-ann"]).await;
    operator.stop().await;
}

/// LIFE-16, WORK-02
#[tokio::test]
async fn a_new_image_of_the_harness_waits_for_the_next_start() {
    let world = World::new("op-image").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    let image = |pod: &Pod| pod.spec.as_ref().unwrap().containers[0].image.clone();
    let first = world.one_pod("ann").await;
    assert_eq!(image(&first).as_deref(), Some("foundry-harness:dev"));

    patch::<Harness>(
        &world,
        "agent-v1",
        json!({ "spec": { "image": "registry.example/harness:2" } }),
    )
    .await;
    let harnesses = world.api::<Harness>();
    eventually("the Harness reports its image", DEADLINE, || async {
        let image = harnesses.get("agent-v1").await?.status.and_then(|status| status.image);
        anyhow::ensure!(image.as_deref() == Some("registry.example/harness:2"), "{image:?}");
        anyhow::Ok(())
    })
    .await;
    // Replicas that somebody changed are put back with the template as it was.
    let scale = json!({ "spec": { "replicas": 0 } });
    patch::<Deployment>(&world, "foundry-agent-ann", scale).await;
    let deployments = world.api::<Deployment>();
    eventually("replicas are one again", DEADLINE, || async {
        let spec = deployments.get("foundry-agent-ann").await?.spec.unwrap_or_default();
        anyhow::ensure!(spec.replicas == Some(1), "{:?}", spec.replicas);
        anyhow::Ok(())
    })
    .await;
    assert_eq!(image(&world.one_pod("ann").await).as_deref(), Some("foundry-harness:dev"));

    world.edit("ann", json!({ "starts": 1 })).await;
    let pods = world.api::<Pod>();
    eventually("the next start has the new image", DEADLINE, || async {
        let images: Vec<_> =
            pods.list(&ListParams::default()).await?.items.iter().map(image).collect();
        anyhow::ensure!(images == [Some("registry.example/harness:2".to_owned())], "{images:?}");
        anyhow::Ok(())
    })
    .await;
    operator.stop().await;
}

/// LIFE-04
#[tokio::test]
async fn an_on_demand_agent_is_ready_without_any_workload() {
    let world = World::new("op-demand").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("ann", |spec| spec.activation = Some(Activation::OnDemand)).await;
    let status = world
        .status("the agent is on demand", "ann", |status| {
            status.state == Some(AgentState::OnDemand)
        })
        .await;
    assert_eq!(reason(&status, "Ready", true), Some("OnDemand"));
    world.exactly::<Deployment>(&[]).await;
    operator.stop().await;
}

/// ONDEM-03, ONDEM-04: the API handles calls itself; what it writes when the wake of an
/// ephemeral agent is handled leaves that agent expired, and at rest.
#[tokio::test]
async fn on_demand_agents_get_no_workload_however_they_are_started_and_expire_without_one() {
    let world = World::new("op-wake").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("ann", |spec| spec.activation = Some(Activation::OnDemand)).await;
    world
        .agent("kid", |spec| {
            ephemeral(spec, 3_600);
            spec.parent = Some("ann".to_owned());
            spec.activation = Some(Activation::OnDemand);
        })
        .await;
    world.edit("ann", json!({ "desiredState": "running", "starts": 1 })).await;
    for name in ["ann", "kid"] {
        world.status("it is on demand", name, |it| it.state == Some(AgentState::OnDemand)).await;
    }
    world.edit("kid", json!({ "lifecycle": "expired", "desiredState": "completed" })).await;
    let status = world
        .status("the agent is expired", "kid", |it| it.state == Some(AgentState::Expired))
        .await;
    assert_eq!(reason(&status, "Ready", true), Some("Expired"));
    assert_eq!(status.workload, None);
    world.edit("ann", json!({ "starts": 2 })).await;
    world.status("a restart counts", "ann", |it| it.observed_starts == Some(2)).await;
    world.exactly::<Deployment>(&[]).await;
    world.exactly::<Job>(&[]).await;
    world.exactly::<Pod>(&[]).await;
    let workloads = ["deployments", "jobs", "pods"];
    let made: Vec<_> = world
        .operator_writes()
        .into_iter()
        .filter(|(resource, _)| workloads.iter().any(|it| resource.starts_with(it)))
        .collect();
    assert_eq!(made, vec![], "not for a moment either");
    operator.stop().await;
}

/// LIFE-10
#[tokio::test]
async fn a_stop_leaves_no_pod_and_a_start_brings_the_same_agent_back() {
    let world = World::new("op-stop").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    world.one_pod("ann").await;

    world.edit("ann", json!({ "desiredState": "stopped" })).await;
    let status = world
        .status("the agent is stopped", "ann", |status| status.state == Some(AgentState::Stopped))
        .await;
    assert_eq!(reason(&status, "Ready", true), Some("Stopped"));
    world.exactly::<Deployment>(&[]).await;
    world.no_pod("ann").await;

    world.edit("ann", json!({ "desiredState": "running", "starts": 1 })).await;
    world.status("start two", "ann", |status| status.start_number == Some(2)).await;
    world.one_pod("ann").await;
    operator.stop().await;
}

/// LIFE-06, LIFE-07, LIFE-08, LIFE-09
#[tokio::test]
async fn an_ephemeral_agent_is_one_job_a_start_and_never_two_at_once() {
    let world = World::new("op-ephemeral").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("parent", |spec| spec.activation = Some(Activation::OnDemand)).await;
    world.agent("kid", |spec| ephemeral(spec, 3_600)).await;

    let jobs: Vec<Job> = world.exactly(&["foundry-agent-kid-1"]).await;
    let spec = jobs[0].spec.as_ref().unwrap();
    assert_eq!(spec.backoff_limit, Some(0));
    assert!(spec.ttl_seconds_after_finished.is_some());
    assert!((3_000..=3_600).contains(&spec.active_deadline_seconds.unwrap()));
    let first = world.one_pod("kid").await;
    hardened(first.spec.as_ref().unwrap());

    world.edit("kid", json!({ "desiredState": "stopped" })).await;
    world.exactly::<Job>(&[]).await;
    world.no_pod("kid").await;
    world.edit("kid", json!({ "desiredState": "running", "starts": 1 })).await;
    world.exactly::<Job>(&["foundry-agent-kid-2"]).await;
    assert_ne!(world.one_pod("kid").await.uid(), first.uid());

    // A restart while it runs: the earlier Job is gone before the next is there.
    world.edit("kid", json!({ "starts": 2 })).await;
    world.exactly::<Job>(&["foundry-agent-kid-3"]).await;
    world.one_pod("kid").await;
    operator.stop().await;
}

/// LIFE-12
#[tokio::test]
async fn an_ephemeral_agent_expires_at_its_ttl_and_leaves_nothing() {
    let world = World::new("op-ttl").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("parent", |spec| spec.activation = Some(Activation::OnDemand)).await;
    world.agent("kid", |spec| ephemeral(spec, 6)).await;
    let stopped = |spec: &mut foundry_crds::AgentSpec| {
        ephemeral(spec, 6);
        spec.desired_state = Some(foundry_crds::agent::DesiredState::Stopped);
    };
    world.agent("idle", stopped).await;

    for name in ["kid", "idle"] {
        world
            .status("the agent is expired", name, |status| {
                status.state == Some(AgentState::Expired)
            })
            .await;
        let spec = world.api::<Agent>().get(name).await.unwrap().spec;
        assert_eq!(spec.lifecycle, Some(Lifecycle::Expired));
    }
    world.exactly::<Job>(&[]).await;
    operator.stop().await;
}

fn ephemeral(spec: &mut foundry_crds::AgentSpec, seconds: i64) {
    spec.lifetime = Some(Lifetime::Ephemeral);
    spec.parent = Some("parent".to_owned());
    spec.ttl_at = Some(Time(Timestamp::from_second(now() + seconds).unwrap()));
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

/// LIFE-22, and a missing reference is transient: it heals untouched.
#[tokio::test]
async fn an_agent_waits_for_its_harness_and_starts_by_itself_when_it_comes() {
    let world = World::new("op-missing").await;
    let operator = world.cluster_operator();
    world.agent("ann", |_| {}).await;
    let status = world
        .status("the Harness is missed", "ann", |status| {
            reason(status, "Ready", false) == Some("HarnessNotFound")
        })
        .await;
    assert_eq!(reason(&status, "Reconciling", true), Some("HarnessNotFound"));
    world.harness("other-v1").await;
    world.harness("agent-v1").await;
    world.one_pod("ann").await;
    let agent = world.api::<Agent>().get("ann").await.unwrap();
    assert_eq!(agent.spec.harness, "agent-v1");
    operator.stop().await;
}

/// Deleted children are back; the deletion of an agent takes them along.
#[tokio::test]
async fn a_deleted_deployment_is_back_and_goes_with_its_agent() {
    let world = World::new("op-heal").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    let first = world.one_pod("ann").await;
    let deployments = world.api::<Deployment>();
    deployments.delete("foundry-agent-ann", &DeleteParams::foreground()).await.unwrap();
    let pods = world.api::<Pod>();
    eventually("another pod lives", Duration::from_mins(1), || async {
        let pods = pods.list(&ListParams::default()).await?.items;
        let uids: Vec<_> = pods.iter().map(kube::ResourceExt::uid).collect();
        anyhow::ensure!(uids.len() == 1 && uids[0] != first.uid(), "{uids:?}");
        anyhow::Ok(())
    })
    .await;

    world.api::<Agent>().delete("ann", &DeleteParams::default()).await.unwrap();
    world.exactly::<Deployment>(&[]).await;
    world.no_pod("ann").await;
    operator.stop().await;
}

/// LIFE-09: the garbage collector takes a Deployment before its pods, which still poll.
#[tokio::test]
async fn an_agent_made_again_under_its_name_waits_for_the_last_pod_of_the_earlier_one() {
    let world = World::new("op-namesake").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    let first = world.one_pod("ann").await.name_any();
    // Stands for a node on which the process takes its time to end.
    patch::<Pod>(&world, &first, json!({ "metadata": { "finalizers": ["test/slow"] } })).await;
    world.api::<Agent>().delete("ann", &DeleteParams::default()).await.unwrap();
    world.exactly::<Deployment>(&[]).await;

    world.agent("ann", |_| {}).await;
    world
        .status("the new agent waits", "ann", |status| {
            reason(status, "Reconciling", true) == Some("Draining")
        })
        .await;
    // The pod of another agent shows that the operator has looked again meanwhile.
    world.agent("ben", |_| {}).await;
    world.one_pod("ben").await;
    world.exactly::<Deployment>(&["foundry-agent-ben"]).await;
    patch::<Pod>(&world, &first, json!({ "metadata": { "finalizers": null } })).await;
    assert_ne!(world.one_pod("ann").await.name_any(), first);
    operator.stop().await;
}

/// WORK-10
#[tokio::test]
async fn only_the_pods_of_a_coding_harness_carry_the_coding_role() {
    let world = World::new("op-coding").await;
    let operator = world.cluster_operator();
    let spec = HarnessSpec { network_role: Some(NetworkRole::Coding), ..HarnessSpec::default() };
    world.create(&Harness::new("agent-v1", spec)).await;
    world.agent("ann", |_| {}).await;
    let pod = world.one_pod("ann").await;
    assert_eq!(pod.labels()["app"], "foundry-harness");
    assert_eq!(pod.labels()["foundry-role"], "coding");
    operator.stop().await;
}

/// LIFE-15: the cluster's own words reach status, and it heals when the quota is freed.
#[tokio::test]
async fn a_refused_workload_is_told_in_the_clusters_words_and_heals() {
    let world = World::new("op-quota").await;
    let quota = ResourceQuota {
        metadata: kube::api::ObjectMeta { name: Some("none".into()), ..Default::default() },
        spec: Some(ResourceQuotaSpec {
            hard: Some([("count/deployments.apps".to_owned(), Quantity("0".to_owned()))].into()),
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
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    let status = world
        .status("the refusal is told", "ann", |status| {
            reason(status, "Ready", false) == Some("Refused")
        })
        .await;
    let refused = status.last_start.unwrap().refused.unwrap();
    assert!(refused.contains("exceeded quota"), "{refused}");
    assert_eq!(status.observed_starts, Some(0), "the verb that waits sees it answered");

    quotas.delete("none", &DeleteParams::default()).await.unwrap();
    world
        .status("it heals untouched", "ann", |status| {
            status.last_start.as_ref().is_some_and(|start| start.refused.is_none())
        })
        .await;
    world.one_pod("ann").await;
    operator.stop().await;
}

#[expect(clippy::disallowed_methods, reason = "the test is another writer")]
async fn patch<K>(world: &World, name: &str, body: serde_json::Value)
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + serde::de::DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    let patch = Patch::Merge(body);
    world.api::<K>().patch(name, &PatchParams::default(), &patch).await.unwrap();
}
