//! `Model`: a language model, where it is served and whose key pays for it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    category = "foundry"
)]
#[serde(rename_all = "camelCase")]
pub struct ModelSpec {
    /// The id agents and catalogs use, for example `gpt-5-mini`.
    pub wire_id: String,
    /// Which protocol and provider serve this model.
    pub provider: Provider,
    /// The provider's own name of the model. Defaults to `wireId`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_model: Option<String>,
    /// Base URL, without `/chat/completions` or `/messages`. Required for
    /// `openaiCompatible`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Secret and key in the same namespace that hold the provider's API key.
    /// Absent for servers that want none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key: Option<SecretKeyRef>,
    /// Tokens that fit the context window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_context_tokens: Option<i64>,
    /// Reasoning levels this model accepts; empty means none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasoning_efforts: Vec<String>,
    /// Prices, in micros of the accounting currency per million tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
}

/// Which protocol and provider serve a model (KERN-03).
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
    pub name: String,
    /// Key in the Secret.
    pub key: String,
}

/// Prices in micros (millionths) of the accounting currency per million tokens.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Prices {
    /// Fresh input tokens.
    pub input: i64,
    /// Output tokens.
    pub output: i64,
    /// Input tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<i64>,
    /// Input tokens written to the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<i64>,
}

/// What came of a model's spec.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct ModelStatus {
    /// `metadata.generation` this status speaks of; -1 before the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Whether the provider answered last time; written by the API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reachable: Option<bool>,
    /// Conditions after Kubernetes' conventions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
