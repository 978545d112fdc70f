//! Pods on nodes that KWOK plays: they are scheduled, come up and end, and nothing runs.

use foundry_crds::AgentState;
use foundry_crds::agent::DesiredState;
use kube::ResourceExt as _;
use serde_json::json;
use testenv::{ControlPlane, Durability, Nodes, Outcome};

use super::world::{World, reason};

/// A control plane of its own: on a shared one the pods of all other tests would come up too.
async fn world() -> (World, Nodes) {
    let folder = testenv::scratch("nodes").unwrap().join("control plane");
    let control_plane = ControlPlane::start(&folder, Durability::Throwaway).await.unwrap();
    control_plane.install().await.unwrap();
    let nodes = control_plane.start_nodes(1).await.unwrap();
    // It ends with this process.
    let control_plane: &'static ControlPlane = Box::leak(Box::new(control_plane));
    let namespace = testenv::namespace(control_plane, "op-nodes").await;
    (World { control_plane, namespace }, nodes)
}

/// LIFE-02, LIFE-07, LIFE-09, LIFE-11: agents run where there are nodes, one pod at a time,
/// and a run ends as its harness reports or as its process does.
#[tokio::test]
async fn on_nodes_agents_run_and_runs_go_through_their_phases() {
    let (world, nodes) = world().await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.can_code().await;
    world.agent("ann", |_| {}).await;
    for name in ["good", "bad"] {
        world.run(name, |_| {}).await;
    }

    let is_running = |status: &foundry_crds::AgentStatus| status.state == Some(AgentState::Running);
    let status = world.status("the agent runs", "ann", is_running).await;
    assert_eq!(reason(&status, "Ready", true), Some("Running"));
    let first = world.one_pod("ann").await;
    world.edit("ann", json!({ "starts": 1 })).await;
    let is_again =
        |status: &foundry_crds::AgentStatus| is_running(status) && status.start_number == Some(2);
    world.status("the agent runs again", "ann", is_again).await;
    assert_ne!(world.one_pod("ann").await.uid(), first.uid());

    for name in ["good", "bad"] {
        world.stands(name, "Planning", "Planning").await;
    }
    let pod = world.one_pod("bad").await.name_any();
    nodes.end(&world.namespace.name, &pod, Outcome::Failed).await.unwrap();
    world.stands("bad", "Failed", "HarnessLost").await;

    let result = json!({ "startNumber": 1, "result": { "outcome": "completed" } });
    world.report("good", result).await;
    world.stands("good", "Succeeded", "Succeeded").await;
    let pod = world.one_pod("good").await.name_any();
    nodes.end(&world.namespace.name, &pod, Outcome::Succeeded).await.unwrap();
    let is_over = |status: &foundry_crds::AgentStatus| status.finished_start == Some(1);
    world.status("its process ended well", "good", is_over).await;

    // A stopped agent's pod ends and goes, as a kubelet would have it.
    let stopped = json!({ "desiredState": DesiredState::Stopped });
    world.edit("ann", stopped).await;
    world.no_pod("ann").await;
    operator.stop().await;
    nodes.stop().await.unwrap();
}
