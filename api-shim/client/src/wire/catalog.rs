//! What there is to choose from: tools, models, harnesses; and who is asking.

use serde::{Deserialize, Serialize};

/// Every tool of the catalog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolList {
    /// The tools, by name.
    pub items: Vec<CatalogTool>,
}

/// A tool of the catalog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CatalogTool {
    /// Name by which it is granted and called.
    pub name: String,
    /// What it does, written for a model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: serde_json::Value,
    /// Which part of the platform serves it.
    pub family: ToolFamily,
    /// Whether it changes anything.
    pub effect: Effect,
}

/// Which part of the platform serves a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ToolFamily {
    /// The agent's own memory and checkpoints.
    Agent,
    /// Messages to people and other agents.
    Communications,
    /// Evidence and insights.
    Intelligence,
    /// Agents, swarms and runs.
    Foundry,
    /// Repositories and checks.
    Coding,
}

/// Whether a tool changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Effect {
    /// It only reads; calls of one turn may run together.
    Read,
    /// It writes; calls of one turn run in order.
    Write,
}

/// Every model of the workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelList {
    /// The models, by name.
    pub items: Vec<ModelView>,
}

/// A model that agents of the workspace can use through the relay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelView {
    /// Name of the Model resource.
    pub name: String,
    /// The id that agents and requests use.
    pub wire_id: String,
    /// Which provider, and so which wire form, serves it.
    pub provider: Provider,
    /// Whether `auto` means this model.
    pub is_auto: bool,
    /// Tokens that fit the context window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_context_tokens: Option<i64>,
    /// Reasoning levels it accepts; empty means none.
    pub reasoning_efforts: Vec<String>,
    /// Whether its references resolve.
    pub ready: bool,
    /// One word for why it is not ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Which provider serves a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Provider {
    /// OpenAI Chat Completions.
    #[serde(rename = "openai")]
    OpenAi,
    /// Anthropic Messages.
    #[serde(rename = "anthropic")]
    Anthropic,
    /// Another server that speaks OpenAI Chat Completions.
    #[serde(rename = "openai_compatible")]
    OpenAiCompatible,
}

/// What a harness can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HarnessView {
    /// Name of the Harness resource.
    pub id: String,
    /// Catalog tools it can run.
    pub tools: Vec<String>,
    /// Tools every agent on it has without a grant.
    pub always_granted: Vec<String>,
    /// Extra features.
    pub features: Vec<String>,
    /// Whether skills may be attached.
    pub allows_skills: bool,
}

/// Who the caller is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Me {
    /// Subject the caller acts as.
    pub subject: String,
    /// Workspace that ids are looked up in.
    pub workspace: String,
    /// Roles in that workspace.
    pub roles: Vec<String>,
    /// `person`, `agent` or `service`.
    pub actor: String,
}
