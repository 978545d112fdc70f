//! `Harness`: which image runs an agent and what it can do.

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A harness: the program that runs agents, and which tools and features it has.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[kube(
    group = "foundry.flow.life",
    version = "v1alpha1",
    kind = "Harness",
    plural = "harnesses",
    namespaced,
    status = "HarnessStatus",
    derive = "PartialEq",
    shortname = "hn",
    category = "foundry"
)]
#[serde(rename_all = "camelCase")]
pub struct HarnessSpec {
    /// `pod` runs a workload; `chat` is served by the conversation server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HarnessHost>,
    /// Container image; wins over the operator's `FOUNDRY_HARNESS_IMAGE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Program inside the image; `/harness` unless said otherwise (WORK-04).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Extra features, such as `repo_scope`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// Whether skills may be attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allows_skills: Option<bool>,
    /// Catalog tools this harness can run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Tools every agent on this harness has without a grant (MEM-12).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub always_granted: Vec<String>,
    /// CPU and memory of the harness container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequirements>,
    /// Further environment variables of the harness container.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
    /// `coding` puts the pod under the coding network policy (WORK-10, NET-03).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_role: Option<NetworkRole>,
}

/// Where a harness runs.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub enum HarnessHost {
    /// In a pod of its own.
    #[default]
    Pod,
    /// In the conversation server: no workload.
    Chat,
}

/// Network policy a pod falls under.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub enum NetworkRole {
    /// Platform services only.
    #[default]
    Think,
    /// Git hosts and registries too.
    Coding,
}

/// A plain environment variable. Secrets are never given this way.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct EnvVar {
    /// Variable name.
    pub name: String,
    /// Variable value.
    pub value: String,
}

/// What came of a harness' spec.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct HarnessStatus {
    /// `metadata.generation` this status speaks of; -1 before the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Image that pods of this harness get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Conditions after Kubernetes' conventions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
