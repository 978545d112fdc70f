use std::sync::Arc;

use async_trait::async_trait;
use foundry_client::{SpawnSwarm, SwarmView};
use foundry_kernel::{Execute, ToolError};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{arguments, result, write_failed};
use crate::api::Api;

/// `spawn_swarm`: starts a swarm for the agent (SWARM-02).
pub(super) struct Spawn(pub(super) Arc<dyn Api>);

/// `dismiss_swarm`: ends one (SWARM-04).
pub(super) struct Dismiss(pub(super) Arc<dyn Api>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    swarm_id: String,
}

#[async_trait]
impl Execute for Spawn {
    async fn execute(&self, given: Map<String, Value>) -> Result<String, ToolError> {
        let swarm: SpawnSwarm = arguments(given)?;
        let spawned = self.0.spawn_swarm(&swarm).await.map_err(|error| write_failed(&error))?;
        result(&shown(&spawned))
    }
}

#[async_trait]
impl Execute for Dismiss {
    async fn execute(&self, given: Map<String, Value>) -> Result<String, ToolError> {
        let Arguments { swarm_id } = arguments(given)?;
        let dismissed =
            self.0.dismiss_swarm(&swarm_id).await.map_err(|error| write_failed(&error))?;
        result(&shown(&dismissed))
    }
}

/// What a model needs to follow a swarm; what it said itself is not said again.
fn shown(swarm: &SwarmView) -> Value {
    let members = swarm.members.iter().map(
        |member| json!({ "name": member.name, "agent_id": member.agent_id, "phase": member.phase }),
    );
    json!({
        "swarm_id": swarm.id,
        "phase": swarm.phase,
        "dismissed": swarm.dismissed,
        "members": members.collect::<Vec<_>>(),
    })
}
