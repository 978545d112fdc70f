use std::sync::Arc;

use async_trait::async_trait;
use foundry_client::AgentView;
use foundry_kernel::{Execute, ToolError};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::unchanged::MARK_BYTES;
use super::{arguments, read_failed, result, shown};
use crate::api::Api;
use crate::catalog::RESULT_BYTES;

/// `get_agent`: one agent of the workspace, its instructions last.
pub(super) struct GetAgent(pub(super) Arc<dyn Api>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    agent_id: String,
}

#[async_trait]
impl Execute for GetAgent {
    async fn execute(&self, given: Map<String, Value>) -> Result<String, ToolError> {
        let Arguments { agent_id } = arguments(given)?;
        let agent = self.0.get_agent(&agent_id).await.map_err(|error| read_failed(&error))?;
        let whole = result(&InOrder { agent: &agent, instructions: &agent.instructions })?;
        if whole.len() <= RESULT_BYTES - MARK_BYTES {
            return Ok(whole);
        }
        // LOOP-08: a cut must not take the identity, so the instructions go.
        result(&InOrder { agent: &agent, instructions: "(left out: the record is too long)" })
    }
}

/// Fields in the order written here; a map would sort them.
struct InOrder<'a> {
    agent: &'a AgentView,
    instructions: &'a str,
}

impl Serialize for InOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let instructions = ("instructions", Value::from(self.instructions));
        serializer.collect_map(shown(self.agent).into_iter().chain([instructions]))
    }
}
