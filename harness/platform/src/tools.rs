//! The platform's own tools, each an executor over [`Api`].

mod get_agent;
mod list_agents;
mod list_queue_errors;
mod recall;
mod remember;
mod swarms;
mod unchanged;

use std::sync::Arc;

use foundry_client::{AgentView, ClientError, Failure};
use foundry_kernel::ToolError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::api::Api;
use crate::catalog::Executors;
use unchanged::Unchanged;

/// Every tool that a host of this crate can run.
pub fn executors(api: &Arc<dyn Api>) -> Executors {
    Executors::from([
        ("dismiss_swarm", Arc::new(swarms::Dismiss(api.clone())) as _),
        ("get_agent", Unchanged::over(get_agent::GetAgent(api.clone()))),
        ("list_agents", Unchanged::over(list_agents::ListAgents(api.clone()))),
        ("list_queue_errors", Arc::new(list_queue_errors::ListQueueErrors(api.clone())) as _),
        ("recall", Unchanged::over(recall::Recall(api.clone()))),
        ("remember", Arc::new(remember::Remember(api.clone())) as _),
        ("spawn_swarm", Arc::new(swarms::Spawn(api.clone())) as _),
    ])
}

/// Reads the arguments of a call into the tool's own type.
pub fn arguments<T: DeserializeOwned>(given: Map<String, Value>) -> Result<T, ToolError> {
    serde_json::from_value(Value::Object(given))
        .map_err(|error| ToolError::Failed(format!("the arguments do not fit: {error}")))
}

fn result(value: &impl Serialize) -> Result<String, ToolError> {
    serde_json::to_string(value)
        .map_err(|error| ToolError::Failed(format!("failed to write the result: {error}")))
}

/// A failed read: the model reads why (LOOP-25).
fn read_failed(error: &ClientError) -> ToolError {
    ToolError::Failed(error.to_string())
}

/// A failed write: without the API's own answer nobody knows whether it took effect.
fn write_failed(error: &ClientError) -> ToolError {
    match error.failure {
        Failure::TimedOut
        | Failure::Unreachable(_)
        | Failure::Unreadable(_)
        // A gateway's words, not the API's.
        | Failure::Status { status: 502 | 504, .. } => ToolError::Unknown(error.to_string()),
        Failure::Status { .. } | Failure::NoToken(_) | Failure::Unsendable(_) => {
            ToolError::Failed(error.to_string())
        }
    }
}

/// What a model is shown of an agent: who and what first, instructions last, so
/// that a cut never takes the identity (LOOP-08).
fn shown(agent: &AgentView) -> Vec<(&'static str, Value)> {
    vec![
        ("id", json!(agent.id)),
        ("slug", json!(agent.slug)),
        ("name", json!(agent.name)),
        ("owner", json!(agent.owner)),
        ("harness_id", json!(agent.harness_id)),
        ("lifetime", json!(agent.lifetime)),
        ("status", json!(agent.status)),
        ("state", json!(agent.state)),
        ("reason", json!(agent.reason)),
        ("generation", json!(agent.generation)),
        ("parent_agent_id", json!(agent.parent_agent_id)),
        ("swarm_id", json!(agent.swarm_id)),
        ("model", json!(agent.model)),
        ("tools", json!(agent.tools)),
    ]
}

#[cfg(test)]
mod tests;
