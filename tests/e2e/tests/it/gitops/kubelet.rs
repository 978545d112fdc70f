//! Plays the kubelet: there is no node, and every pod runs.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

/// How often it looks for new pods.
const RHYTHM: Duration = Duration::from_millis(200);

/// Keeps the pods of a namespace running until it is dropped.
pub struct Kubelet {
    _at_work: AbortOnDropHandle<()>,
}

impl Kubelet {
    pub fn start(client: &Client, namespace: &str) -> Self {
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let work = TaskTracker::new().spawn(async move {
            loop {
                look(&pods).await;
                tokio::time::sleep(RHYTHM).await;
            }
        });
        Self { _at_work: AbortOnDropHandle::new(work) }
    }
}

/// A pod that goes while it is looked at is no fault.
async fn look(pods: &Api<Pod>) {
    let Ok(found) = pods.list(&ListParams::default()).await else { return };
    for pod in found {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        if phase == Some("Pending") && pod.metadata.deletion_timestamp.is_none() {
            set(pods, &pod.name_any(), &running(&pod)).await.unwrap_or_default();
        }
    }
}

/// Ends a pod's process as if it had crashed.
pub async fn crash(pods: &Api<Pod>, pod: &Pod) {
    let container = &pod.spec.as_ref().unwrap().containers[0];
    let ended = json!({"terminated": {"exitCode": 1, "reason": "Error"}});
    let status = json!({
        "phase": "Failed",
        "containerStatuses": [container_status(&container.name, container.image.as_deref(), &ended)],
    });
    set(pods, &pod.name_any(), &status).await.unwrap();
}

#[expect(clippy::disallowed_methods, reason = "plays the kubelet, which is not our code")]
async fn set(pods: &Api<Pod>, name: &str, status: &Value) -> Result<(), kube::Error> {
    let parameters =
        PatchParams { field_manager: Some("kubelet".to_owned()), ..PatchParams::default() };
    let patch = Patch::Merge(json!({"status": status}));
    pods.patch_status(name, &parameters, &patch).await.map(drop)
}

fn running(pod: &Pod) -> Value {
    let now = k8s_openapi::jiff::Timestamp::UNIX_EPOCH.to_string();
    let state = json!({"running": {"startedAt": now}});
    let containers: Vec<_> = pod.spec.iter().flat_map(|spec| &spec.containers).collect();
    let statuses: Vec<_> = containers
        .iter()
        .map(|container| container_status(&container.name, container.image.as_deref(), &state))
        .collect();
    let conditions: Vec<_> = ["PodScheduled", "Initialized", "ContainersReady", "Ready"]
        .map(|kind| json!({"type": kind, "status": "True", "lastTransitionTime": now}))
        .into();
    json!({"phase": "Running", "conditions": conditions, "containerStatuses": statuses})
}

fn container_status(name: &str, image: Option<&str>, state: &Value) -> Value {
    let is_running = state.get("running").is_some();
    json!({
        "name": name, "image": image.unwrap_or_default(), "imageID": "", "restartCount": 0,
        "ready": is_running, "started": is_running, "state": state,
    })
}
