//! `Harness`: which image runs an agent and what it can do.

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::core::Rule;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::form::{self, forbidden};

/// Feature of a harness that works on the repository of its agent (CODE-09).
pub const REPO_SCOPE: &str = "repo_scope";

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
    category = "foundry",
    doc = "A harness: the program that runs agents, and which tools and features it has.",
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type=='Ready')].status"}"#,
    printcolumn = r#"{"name":"Image","type":"string","jsonPath":".status.image"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
// The conversation server has no pod, so what describes one would be silently without
// effect.
#[x_kube(
    validation = only_for_pods("image"),
    validation = only_for_pods("command"),
    validation = only_for_pods("resources"),
    validation = only_for_pods("env"),
    validation = only_for_pods("networkRole")
)]
#[serde(rename_all = "camelCase")]
pub struct HarnessSpec {
    /// Where agents of this harness run: `pod` (the default) in a workload of their own;
    /// `chat` in the conversation server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "pod"))]
    #[schemars(schema_with = "form::choice::<HarnessHost>")]
    pub host: Option<HarnessHost>,
    /// Container image. Absent means the operator's own choice: its variable
    /// `FOUNDRY_HARNESS_IMAGE`, or `FOUNDRY_HARNESS_CODING_IMAGE` with the feature
    /// `repo_scope`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::image")]
    pub image: Option<String>,
    /// Absolute path of the program inside the image, without arguments; `/harness` by
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::command")]
    pub command: Option<String>,
    /// Extra features. With `repo_scope` agents work on a repository, and their pods get
    /// the Secrets `foundry-harness-ssh` and `foundry-harness-git`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::features")]
    pub features: Vec<String>,
    /// Whether skills may be attached to agents of this harness; not by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allows_skills: Option<bool>,
    /// Catalog tools this harness can run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::tool_names")]
    pub tools: Vec<String>,
    /// Tools every agent on this harness has without a grant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::tool_names")]
    pub always_granted: Vec<String>,
    /// CPU and memory of the harness container. Absent means none are set, and with the
    /// feature `repo_scope` from 1 CPU and 2Gi to 4 CPU and 8Gi.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::resources")]
    pub resources: Option<ResourceRequirements>,
    /// Further environment variables of the harness container. They are read by
    /// everybody who may read the Harness: never secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::env")]
    pub env: Vec<EnvVar>,
    /// Network policy its pods fall under: `think` (the default) reaches platform
    /// services only; `coding` reaches Git hosts and package registries too.
    // WORK-10
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<NetworkRole>")]
    pub network_role: Option<NetworkRole>,
}

impl HarnessSpec {
    /// Whether agents of this harness work on a repository: its pods are given keys for
    /// Git, and the tools to build what they find.
    pub fn has_repo_scope(&self) -> bool {
        self.features.iter().any(|feature| feature == REPO_SCOPE)
    }
}

fn only_for_pods(field: &str) -> Rule {
    forbidden(
        &format!(".{field}"),
        format!("self.host != 'chat' || !has(self.{field})"),
        "is of a pod, and host: chat has none; leave it out",
    )
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
    #[schemars(schema_with = "form::env_name")]
    pub name: String,
    /// Variable value.
    #[schemars(schema_with = "form::words::<4096>")]
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
    #[schemars(schema_with = "form::words::<512>")]
    pub image: Option<String>,
    /// Conditions after Kubernetes' conventions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::conditions")]
    pub conditions: Vec<Condition>,
}
