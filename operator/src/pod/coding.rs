//! What the pod of a coding harness has beside every other: keys for Git, room to
//! build in, and variables that keep tools within that room.

use std::collections::BTreeMap;

use foundry_crds::{HarnessSpec, meta};
use k8s_openapi::api::core::v1::{
    EnvVar, EnvVarSource, ResourceRequirements, SecretKeySelector, SecretVolumeSource, Volume,
    VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::amount::thousandths;
use super::{mount, variable};

/// Folder that the SSH keys are mounted in.
const SSH_FOLDER: &str = "/etc/foundry/ssh";
/// Name of their volume.
const SSH_VOLUME: &str = "ssh";
/// Keys are read by the harness alone.
const SSH_MODE: i32 = 0o400;
/// Tokens for the Git hosts' own APIs: each a key of one Secret, each optional.
const TOKENS: [&str; 2] = ["GITHUB_TOKEN", "AZURE_DEVOPS_TOKEN"];
const MIB: u64 = 1024 * 1024;

/// CPU and memory of a coding container whose Harness names none (WORK-11).
pub fn default_resources() -> ResourceRequirements {
    let amounts = |cpu: &str, memory: &str| {
        BTreeMap::from([
            ("cpu".to_owned(), Quantity(cpu.to_owned())),
            ("memory".to_owned(), Quantity(memory.to_owned())),
        ])
    };
    ResourceRequirements {
        requests: Some(amounts("1", "2Gi")),
        limits: Some(amounts("4", "8Gi")),
        claims: None,
    }
}

/// The keys for SSH: without them the pod waits, for it could not clone (WORK-12).
pub fn volume() -> Volume {
    Volume {
        name: SSH_VOLUME.to_owned(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(meta::SSH_SECRET.to_owned()),
            default_mode: Some(SSH_MODE),
            items: None,
            optional: None,
        }),
        ..Volume::default()
    }
}

/// Where they are.
pub fn volume_mount() -> VolumeMount {
    VolumeMount { read_only: Some(true), ..mount(SSH_VOLUME, SSH_FOLDER) }
}

/// Variables that are the operator's to set, whatever a Harness says.
pub fn environment(start: i64) -> Vec<EnvVar> {
    let tokens = TOKENS.into_iter().map(|name| EnvVar {
        name: name.to_owned(),
        value: None,
        value_from: Some(EnvVarSource {
            secret_key_ref: Some(SecretKeySelector {
                name: meta::GIT_SECRET.to_owned(),
                key: name.to_owned(),
                optional: Some(true),
            }),
            ..EnvVarSource::default()
        }),
    });
    [
        variable("FOUNDRY_START_NUMBER", start.to_string()),
        variable("FOUNDRY_SSH_DIR", SSH_FOLDER.to_owned()),
    ]
    .into_iter()
    .chain(tokens)
    .collect()
}

/// What keeps Go and Node within the container's limits, as far as it has some, unless
/// the Harness says better (WORK-11).
pub fn tuning(harness: &HarnessSpec, resources: &ResourceRequirements) -> Vec<EnvVar> {
    let limit = |name: &str| thousandths(resources.limits.as_ref()?.get(name)?);
    let cpus = limit("cpu").map(|millis| (millis / 1_000).max(1));
    let mebibytes = limit("memory").map(|millis| millis / 1_000 / MIB).filter(|&it| it > 0);
    [
        ("GOMAXPROCS", cpus.map(|cpus| cpus.to_string())),
        // Both are soft bounds within a hard one: what is beside the heap needs room too.
        ("GOMEMLIMIT", mebibytes.map(|it| format!("{}MiB", it * 9 / 10))),
        ("NODE_OPTIONS", mebibytes.map(|it| format!("--max-old-space-size={}", it * 3 / 4))),
    ]
    .into_iter()
    .filter(|(name, _)| !harness.env.iter().any(|theirs| theirs.name == *name))
    .filter_map(|(name, value)| Some(variable(name, value?)))
    .collect()
}
