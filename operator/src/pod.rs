//! The pod of a harness, rendered from an agent, its Harness and the settings.

use std::collections::BTreeMap;

use foundry_crds::agent::Lifetime;
use foundry_crds::harness::NetworkRole;
use foundry_crds::{HarnessSpec, meta};
use k8s_openapi::api::core::v1::{
    Capabilities, Container, EmptyDirVolumeSource, EnvVar, PodSecurityContext, PodSpec,
    PodTemplateSpec, ProjectedVolumeSource, ResourceRequirements, SeccompProfile, SecurityContext,
    ServiceAccountTokenProjection, Toleration, Volume, VolumeMount, VolumeProjection,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource as _;

use crate::agent::AgentId;
use crate::config::TemplateConfig;

mod amount;
mod coding;

/// User and group of every harness process (WORK-07).
const NONROOT: i64 = 65_532;
/// Seconds that a projected token is good for.
pub const TOKEN_SECONDS: i64 = 3_600;
/// Folder that the token is mounted in.
const TOKEN_FOLDER: &str = "/var/run/secrets/foundry";
/// Name of the token in its folder.
const TOKEN_FILE: &str = "token";
/// Seconds a harness has to finish its run, flush its log and leave.
pub const GRACE_SECONDS: i64 = 30;
/// Program of harnesses that name none (WORK-04).
const DEFAULT_COMMAND: &str = "/harness";

/// Labels that select the pods of one agent: they never change.
pub fn selector(agent: &AgentId) -> BTreeMap<String, String> {
    BTreeMap::from([
        (meta::label::APP.to_owned(), meta::label::APP_HARNESS.to_owned()), // WORK-10
        (meta::label::AGENT.to_owned(), agent.name.clone()),
    ])
}

/// Metadata of an object that carries or is a harness of this start.
pub fn metadata(agent: &AgentId, harness: &HarnessSpec, start: i64) -> ObjectMeta {
    let mut labels = selector(agent);
    labels.insert(meta::label::MANAGED_BY.to_owned(), meta::label::MANAGED_BY_OPERATOR.to_owned());
    labels.insert(meta::label::START.to_owned(), start.to_string());
    if harness.network_role == Some(NetworkRole::Coding) {
        labels.insert(meta::label::ROLE.to_owned(), meta::label::ROLE_CODING.to_owned()); // WORK-10
    }
    ObjectMeta {
        labels: Some(labels),
        annotations: Some(BTreeMap::from([(
            meta::annotation::PROCESS_START.to_owned(),
            start.to_string(),
        )])),
        ..ObjectMeta::default()
    }
}

/// The reference that makes an object the agent's own, so that it goes with it.
///
/// It does not block the owner's deletion: that would need a right on finalizers.
pub fn owner(agent: &AgentId) -> OwnerReference {
    OwnerReference {
        api_version: foundry_crds::Agent::api_version(&()).into_owned(),
        kind: foundry_crds::Agent::kind(&()).into_owned(),
        name: agent.name.clone(),
        uid: agent.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(false),
    }
}

/// The image a harness' pods get: its own wins over the setting (WORK-02, WORK-03).
pub fn image<'a>(harness: &'a HarnessSpec, settings: &'a TemplateConfig) -> &'a str {
    let of_the_installation = if harness.has_repo_scope() {
        &settings.harness_coding_image
    } else {
        &settings.harness_image
    };
    harness.image.as_deref().unwrap_or(of_the_installation)
}

/// CPU and memory of a harness' container: its own, else what coding takes.
fn resources(harness: &HarnessSpec) -> Option<ResourceRequirements> {
    match &harness.resources {
        None if harness.has_repo_scope() => Some(coding::default_resources()), // WORK-11
        own => own.clone(),
    }
}

/// The pod template of one start of an agent.
pub fn template(
    agent: &AgentId,
    lifetime: Lifetime,
    harness: &HarnessSpec,
    settings: &TemplateConfig,
    start: i64,
) -> PodTemplateSpec {
    PodTemplateSpec {
        metadata: Some(metadata(agent, harness, start)),
        spec: Some(PodSpec {
            service_account_name: Some(meta::HARNESS_SERVICE_ACCOUNT.to_owned()), // WORK-04
            automount_service_account_token: Some(false),                         // WORK-04
            enable_service_links: Some(false),
            restart_policy: Some(
                match lifetime {
                    Lifetime::Persistent => "Always",
                    Lifetime::Ephemeral => "Never",
                }
                .to_owned(),
            ),
            termination_grace_period_seconds: Some(GRACE_SECONDS),
            security_context: Some(PodSecurityContext {
                run_as_non_root: Some(true),
                run_as_user: Some(NONROOT),
                run_as_group: Some(NONROOT),
                fs_group: Some(NONROOT),
                seccomp_profile: Some(SeccompProfile {
                    type_: "RuntimeDefault".to_owned(),
                    localhost_profile: None,
                }),
                ..PodSecurityContext::default()
            }),
            node_selector: settings
                .node_selector
                .as_ref()
                .map(|pair| BTreeMap::from([(pair.key.clone(), pair.value.clone())])), // WORK-09
            tolerations: settings.toleration.as_ref().map(|pair| {
                vec![Toleration {
                    key: Some(pair.key.clone()),
                    operator: Some("Equal".to_owned()),
                    value: Some(pair.value.clone()),
                    ..Toleration::default()
                }]
            }), // WORK-09
            containers: vec![container(agent, harness, settings, start)],
            volumes: Some(
                [writable("tmp"), writable("work"), token()]
                    .into_iter()
                    .chain(harness.has_repo_scope().then(coding::volume)) // WORK-12
                    .collect(),
            ),
            ..PodSpec::default()
        }),
    }
}

fn container(
    agent: &AgentId,
    harness: &HarnessSpec,
    settings: &TemplateConfig,
    start: i64,
) -> Container {
    Container {
        name: "harness".to_owned(),
        image: Some(image(harness, settings).to_owned()),
        command: Some(vec![harness.command.clone().unwrap_or_else(|| DEFAULT_COMMAND.to_owned())]),
        env: Some(environment(agent, harness, settings, start)),
        resources: resources(harness),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true), // WORK-08
            run_as_non_root: Some(true),
            capabilities: Some(Capabilities {
                drop: Some(vec!["ALL".to_owned()]), // WORK-07
                add: None,
            }),
            ..SecurityContext::default()
        }),
        volume_mounts: Some(
            [
                mount("tmp", "/tmp"),   // WORK-08
                mount("work", "/work"), // WORK-08
                VolumeMount { read_only: Some(true), ..mount("token", TOKEN_FOLDER) },
            ]
            .into_iter()
            .chain(harness.has_repo_scope().then(coding::volume_mount)) // WORK-12
            .collect(),
        ),
        working_dir: Some("/work".to_owned()),
        ..Container::default()
    }
}

/// What a harness knows from its environment; all else it asks the API for.
fn environment(
    agent: &AgentId,
    harness: &HarnessSpec,
    settings: &TemplateConfig,
    start: i64,
) -> Vec<EnvVar> {
    let seconds = |value: Option<u32>| value.map(|seconds| seconds.to_string());
    let everybodys = [
        ("FOUNDRY_API_URL", Some(settings.api_url.clone())),
        ("FOUNDRY_AGENT_ID", Some(agent.name.clone())),
        ("FOUNDRY_AGENT_NAMESPACE", Some(agent.namespace.clone())),
        ("FOUNDRY_TOKEN_FILE", Some(format!("{TOKEN_FOLDER}/{TOKEN_FILE}"))),
        ("FOUNDRY_EVALUATE_SECONDS", seconds(settings.evaluate_seconds)),
        ("FOUNDRY_HEARTBEAT_SECONDS", seconds(settings.heartbeat_seconds)),
        ("HOME", Some("/work".to_owned())),
        ("TMPDIR", Some("/tmp".to_owned())),
    ];
    // What is ours and unset stays unset too.
    let reserved = everybodys.clone().map(|(name, _)| name);
    let mut ours: Vec<EnvVar> =
        everybodys.into_iter().filter_map(|(name, value)| Some(variable(name, value?))).collect();
    if harness.has_repo_scope() {
        ours.extend(coding::environment(start));
        if let Some(resources) = resources(harness) {
            ours.extend(coding::tuning(harness, &resources));
        }
    }
    let theirs = harness
        .env
        .iter()
        .filter(|theirs| !reserved.contains(&theirs.name.as_str()))
        .filter(|theirs| !ours.iter().any(|ours| ours.name == theirs.name))
        .map(|theirs| variable(&theirs.name, theirs.value.clone()))
        .collect::<Vec<_>>();
    ours.into_iter().chain(theirs).collect()
}

fn variable(name: &str, value: String) -> EnvVar {
    EnvVar { name: name.to_owned(), value: Some(value), value_from: None }
}

fn mount(volume: &str, path: &str) -> VolumeMount {
    VolumeMount { name: volume.to_owned(), mount_path: path.to_owned(), ..VolumeMount::default() }
}

fn writable(name: &str) -> Volume {
    Volume {
        name: name.to_owned(),
        empty_dir: Some(EmptyDirVolumeSource::default()),
        ..Volume::default()
    }
}

/// The token a harness shows to the API: for that audience only, and short-lived.
fn token() -> Volume {
    Volume {
        name: "token".to_owned(),
        projected: Some(ProjectedVolumeSource {
            sources: Some(vec![VolumeProjection {
                service_account_token: Some(ServiceAccountTokenProjection {
                    audience: Some(meta::TOKEN_AUDIENCE.to_owned()),
                    expiration_seconds: Some(TOKEN_SECONDS),
                    path: TOKEN_FILE.to_owned(),
                }),
                ..VolumeProjection::default()
            }]),
            ..ProjectedVolumeSource::default()
        }),
        ..Volume::default()
    }
}

#[cfg(test)]
mod tests;
