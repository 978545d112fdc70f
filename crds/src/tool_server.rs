//! `ToolServer`: an MCP server whose tools agents can have.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::form;
use crate::model::SecretKeyRef;

/// An MCP server whose tools agents of this namespace can have beside their own.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[kube(
    group = "foundry.flow.life",
    version = "v1alpha1",
    kind = "ToolServer",
    namespaced,
    status = "ToolServerStatus",
    derive = "PartialEq",
    shortname = "ts",
    category = "foundry",
    doc = "An MCP server whose tools agents of this namespace can have beside their own.",
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type=='Ready')].status"}"#,
    printcolumn = r#"{"name":"Tools","type":"integer","jsonPath":".status.reported.toolCount"}"#,
    printcolumn = r#"{"name":"URL","type":"string","jsonPath":".spec.url"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name":"Write","type":"boolean","jsonPath":".spec.write","priority":1}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type=='Ready')].reason","priority":1}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ToolServerSpec {
    /// URL of the server's Streamable HTTP endpoint, http or https, without credentials
    /// and query.
    #[schemars(schema_with = "form::tool_server_url")]
    pub url: String,
    /// Secret and key in the same namespace whose value is sent as `Authorization`, as it
    /// is, when the server is connected. Absent means none is sent.
    // SPEC-05
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<SecretKeyRef>")]
    pub auth_secret: Option<SecretKeyRef>,
    /// Whether tools that change something come in too; only read-only ones by default.
    // SPEC-06
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<bool>,
}

/// What came of a tool server's spec.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct ToolServerStatus {
    /// `metadata.generation` this status speaks of; -1 before the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What the API found when it asked the server; written by the API alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<ToolServerReport>")]
    pub reported: Option<ToolServerReport>,
    /// Conditions after Kubernetes' conventions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::conditions")]
    pub conditions: Vec<Condition>,
}

/// What the API found when it asked a server for its tools.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct ToolServerReport {
    /// `metadata.generation` that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::whole::<0, 1_000_000_000>")]
    pub generation: Option<i64>,
    /// Whether the server answered the last time it was asked.
    pub reachable: bool,
    /// Why it did not, for a person; never a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::words::<1024>")]
    pub message: Option<String>,
    /// Tools that agents get: the read-only ones, or all with `spec.write`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::discovered_tools")]
    pub tools: Vec<String>,
    /// How many these are; the TOOLS column. More than `tools` holds when there are over
    /// 256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::whole::<0, 1_000_000>")]
    pub tool_count: Option<i64>,
    /// When what stands here last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::moment")]
    pub since: Option<Time>,
}

impl ToolServerSpec {
    /// Whether tools that change something come in too.
    pub fn allows_writes(&self) -> bool {
        self.write.unwrap_or_default()
    }
}
