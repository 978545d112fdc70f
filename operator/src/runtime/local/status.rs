//! What is reported on the Pod of a process: what a kubelet would say.

use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated,
    ContainerStateWaiting, ContainerStatus, Pod, PodCondition, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use super::process::Exit;
use crate::conditions::whole_second;

/// How a process fares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    /// Not started, and why.
    Waiting { reason: &'static str, message: String },
    /// Alive since.
    Running(Timestamp),
    /// Ended for good.
    Over { exit: Exit, message: String, at: Timestamp },
}

/// Since when the Pod says its process runs.
pub fn running_since(pod: &Pod) -> Option<Timestamp> {
    let container = pod.status.as_ref()?.container_statuses.as_ref()?.first()?;
    container.state.as_ref()?.running.as_ref()?.started_at.as_ref().map(|at| at.0)
}

/// How often the Pod says its process was started again.
pub fn restarts(pod: &Pod) -> i32 {
    pod.status
        .as_ref()
        .and_then(|status| status.container_statuses.as_ref()?.first())
        .map_or(0, |container| container.restart_count)
}

/// The status of a Pod whose process fares like this.
pub fn of(container: &Container, life: &Life, restarts: i32) -> PodStatus {
    let (phase, state, ready) = match life {
        Life::Waiting { reason, message } => (
            "Pending",
            ContainerState {
                waiting: Some(ContainerStateWaiting {
                    reason: Some((*reason).to_owned()),
                    message: Some(message.clone()),
                }),
                ..ContainerState::default()
            },
            false,
        ),
        Life::Running(since) => (
            "Running",
            ContainerState {
                running: Some(ContainerStateRunning {
                    started_at: Some(Time(whole_second(*since))),
                }),
                ..ContainerState::default()
            },
            true,
        ),
        Life::Over { exit, message, at } => (
            if exit.is_success() { "Succeeded" } else { "Failed" },
            ContainerState {
                terminated: Some(ContainerStateTerminated {
                    exit_code: exit.code(),
                    finished_at: Some(Time(whole_second(*at))),
                    reason: Some(if exit.is_success() { "Completed" } else { "Error" }.to_owned()),
                    message: Some(message.clone()),
                    ..ContainerStateTerminated::default()
                }),
                ..ContainerState::default()
            },
            false,
        ),
    };
    PodStatus {
        phase: Some(phase.to_owned()),
        conditions: Some(vec![PodCondition {
            type_: "Ready".to_owned(),
            status: if ready { "True" } else { "False" }.to_owned(),
            ..PodCondition::default()
        }]),
        container_statuses: Some(vec![ContainerStatus {
            name: container.name.clone(),
            image: container.image.clone().unwrap_or_default(),
            image_id: String::new(),
            ready,
            started: Some(ready),
            restart_count: restarts,
            state: Some(state),
            ..ContainerStatus::default()
        }]),
        ..PodStatus::default()
    }
}
