//! Nodes that KWOK plays: pods are scheduled there and come up, and nothing runs.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::{GRACE, access, components};
use crate::apply::apply;
use crate::process::Process;
use crate::{find_kwok, find_scheduler, within, workspace};

/// Marks the nodes that are played.
const NODE: &str = "testenv/node";
/// Says of a pod how it is to end.
const OUTCOME: &str = "testenv/outcome";
/// Until the nodes are ready.
const PATIENCE: Duration = Duration::from_mins(2);
/// Seconds that a node's lease holds: one write a node in a quarter of it.
const NODE_LEASE_SECONDS: &str = "120";

/// A scheduler and KWOK, which end with this.
pub struct Nodes {
    scheduler: Process,
    kwok: Process,
    client: Client,
}

/// How the process in a pod ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With exit code 0.
    Succeeded,
    /// With exit code 1.
    Failed,
}

impl Nodes {
    /// Starts both, makes the nodes and waits until pods can be scheduled there.
    pub(super) async fn start(folder: &Path, client: Client, count: usize) -> Result<Self> {
        let kubeconfig = access::kubeconfig_path(folder, "admin");
        let logs = components::logs(folder);
        let mut kwok = Command::new(find_kwok()?);
        kwok.arg("--kubeconfig").arg(&kubeconfig);
        kwok.arg("--config").arg(workspace::root().join("tests/controlplane/kwok/stages.yaml"));
        kwok.args(["--manage-all-nodes=false"]);
        kwok.args([&format!("--manage-nodes-with-annotation-selector={NODE}=played")]);
        kwok.args(["--node-lease-duration-seconds", NODE_LEASE_SECONDS]);
        let mut kwok = Process::spawn("kwok", &kwok, &logs.join("kwok.log"))?;
        let mut scheduler = Command::new(find_scheduler()?);
        scheduler.arg("--kubeconfig").arg(&kubeconfig);
        scheduler.args(["--leader-elect=false", "--secure-port=0", "--v=1"]);
        scheduler.args(["--kube-api-qps=500", "--kube-api-burst=1000"]);
        let log = logs.join("kube-scheduler.log");
        let scheduler = Process::spawn("kube-scheduler", &scheduler, &log)?;

        let nodes: Vec<Value> = (0..count).map(node).collect();
        apply(&client, &nodes).await.context("failed to make nodes")?;
        let api: Api<Node> = Api::all(client.clone());
        kwok.wait_for("the nodes are ready", PATIENCE, || are_ready(&api, count)).await?;
        Ok(Self { scheduler, kwok, client })
    }

    /// Has the process in a running pod end.
    #[expect(clippy::disallowed_methods, reason = "plays the kubelet, which is not our code")]
    pub async fn end(&self, namespace: &str, pod: &str, outcome: Outcome) -> Result<()> {
        let word = match outcome {
            Outcome::Succeeded => "succeeded",
            Outcome::Failed => "failed",
        };
        let patch = json!({ "metadata": { "annotations": { OUTCOME: word } } });
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        pods.patch(pod, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .with_context(|| format!("failed to tell pod {pod} how to end"))?;
        let over = || async {
            let phase = pods.get(pod).await?.status.and_then(|status| status.phase);
            let phase = phase.unwrap_or_default();
            ensure!(phase.eq_ignore_ascii_case(word), "it is {phase}");
            anyhow::Ok(())
        };
        within(&format!("pod {pod} has {word}"), PATIENCE, over).await
    }

    /// Process ids of scheduler and KWOK.
    pub fn pids(&self) -> [u32; 2] {
        [self.scheduler.pid(), self.kwok.pid()]
    }

    /// Ends both; the nodes stay, and nobody answers for them.
    pub async fn stop(self) -> Result<()> {
        let Self { scheduler, kwok, client: _ } = self;
        scheduler.stop(GRACE).await?;
        kwok.stop(GRACE).await.map(drop)
    }
}

/// Room for whatever a bench asks for: it measures no scheduler.
fn node(number: usize) -> Value {
    let room = json!({ "cpu": "100k", "memory": "1000Ti", "pods": "100k" });
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": format!("played-{number}"),
            "annotations": { NODE: "played" },
            "labels": { "kubernetes.io/hostname": format!("played-{number}") },
        },
        "status": { "allocatable": room, "capacity": room },
    })
}

/// A node is tainted until a controller has seen that it is ready.
async fn are_ready(nodes: &Api<Node>, wanted: usize) -> Result<()> {
    let nodes = nodes.list(&ListParams::default()).await?;
    let is_ready = |node: &&Node| {
        let spec = node.spec.as_ref();
        let is_tainted =
            spec.is_some_and(|spec| spec.taints.as_ref().is_some_and(|it| !it.is_empty()));
        let status = node.status.as_ref();
        let conditions = status.and_then(|status| status.conditions.as_ref());
        let ready = conditions
            .is_some_and(|all| all.iter().any(|it| it.type_ == "Ready" && it.status == "True"));
        ready && !is_tainted
    };
    let ready = nodes.iter().filter(is_ready).count();
    ensure!(ready >= wanted, "{ready} of {wanted}");
    Ok(())
}
