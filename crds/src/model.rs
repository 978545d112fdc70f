//! `Model`: a language model, where it is served and whose key pays for it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::form::{self, immutable, required};

/// A language model that agents of this namespace can use through the relay.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "foundry.flow.life",
    version = "v1alpha1",
    kind = "Model",
    namespaced,
    status = "ModelStatus",
    derive = "PartialEq",
    shortname = "fmd",
    category = "foundry",
    doc = "A language model that agents of this namespace can use through the relay.",
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type=='Ready')].status"}"#,
    printcolumn = r#"{"name":"Provider","type":"string","jsonPath":".spec.provider"}"#,
    printcolumn = r#"{"name":"Upstream","type":"string","jsonPath":".status.upstreamModel"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[x_kube(
    // Agents and usage records hold the wire id as a string.
    validation = immutable("wireId", "cannot change, for agents hold it; create another Model"),
    validation = required(
        ".baseUrl",
        "self.provider != 'openaiCompatible' || has(self.baseUrl)",
        "an openaiCompatible provider has no address of its own; say where it is served",
    ),
    validation = required(
        ".apiKey",
        "has(self.apiKey) || has(self.baseUrl)",
        "the provider wants a key; name a Secret and its key, or set baseUrl to a server that wants none",
    )
)]
#[serde(rename_all = "camelCase")]
pub struct ModelSpec {
    /// The id agents and catalogs use, for example `gpt-5-mini`. Cannot change.
    #[schemars(schema_with = "form::wire_id")]
    pub wire_id: String,
    /// Which protocol and provider serve this model: `openai`, `anthropic`, or
    /// `openaiCompatible` for any server that speaks OpenAI Chat Completions.
    pub provider: Provider,
    /// The provider's own name of the model. Absent means the `wireId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::upstream_model")]
    pub upstream_model: Option<String>,
    /// Base URL, http or https, without `/chat/completions` or `/messages`, credentials
    /// and query. Absent means the provider's own; required for `openaiCompatible`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::base_url")]
    pub base_url: Option<String>,
    /// Secret and key in the same namespace that hold the provider's API key. May be
    /// absent only with a `baseUrl`, for servers that want none. It is read at each
    /// call, so a rotation needs nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<SecretKeyRef>")]
    pub api_key: Option<SecretKeyRef>,
    /// Tokens that fit the model's context window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::whole::<1, 100_000_000>")]
    pub max_context_tokens: Option<i64>,
    /// Reasoning levels this model accepts, such as `low`; empty means none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::reasoning_efforts")]
    pub reasoning_efforts: Vec<String>,
    /// Prices, in micros of the accounting currency per million tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::choice::<Prices>")]
    pub prices: Option<Prices>,
}

/// Which protocol and provider serve a model.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum Provider {
    /// OpenAI Chat Completions.
    #[serde(rename = "openai")]
    OpenAi,
    /// Anthropic Messages.
    Anthropic,
    /// Any server that speaks OpenAI Chat Completions at `baseUrl`.
    #[serde(rename = "openaiCompatible")]
    OpenAiCompatible,
}

/// A key of a Secret in the same namespace.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct SecretKeyRef {
    /// Name of the Secret.
    #[schemars(schema_with = "form::secret_name")]
    pub name: String,
    /// Key in the Secret.
    #[schemars(schema_with = "form::secret_key")]
    pub key: String,
}

/// Prices in micros (millionths) of the accounting currency per million tokens.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Prices {
    /// Fresh input tokens.
    #[schemars(schema_with = "form::whole::<0, 1_000_000_000_000>")]
    pub input: i64,
    /// Output tokens.
    #[schemars(schema_with = "form::whole::<0, 1_000_000_000_000>")]
    pub output: i64,
    /// Input tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::whole::<0, 1_000_000_000_000>")]
    pub cache_read: Option<i64>,
    /// Input tokens written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::whole::<0, 1_000_000_000_000>")]
    pub cache_write: Option<i64>,
}

/// What came of a model's spec.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct ModelStatus {
    /// `metadata.generation` this status speaks of; -1 before the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The provider's name of the model that calls use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::words::<256>")]
    pub upstream_model: Option<String>,
    /// Whether the provider answered last time; written by the API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reachable: Option<bool>,
    /// Conditions after Kubernetes' conventions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "form::conditions")]
    pub conditions: Vec<Condition>,
}
