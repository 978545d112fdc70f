//! Swarms.

use http::Method;

use super::{Client, agents::append};
use crate::{
    error::ClientError,
    wire::{SpawnSwarm, SwarmPage, SwarmView},
};

impl Client {
    /// `POST /v1/agents/{id}/swarms`: the agent `id` starts a swarm.
    pub async fn spawn_swarm(
        &self,
        id: &str,
        swarm: &SpawnSwarm,
    ) -> Result<SwarmView, ClientError> {
        let url = self.url(&["v1", "agents", id, "swarms"]);
        self.send_json("spawn swarm", Method::POST, url, swarm).await
    }

    /// `GET /v1/agents/{id}/swarms`, one page of those that the agent started.
    pub async fn list_swarms(
        &self,
        id: &str,
        limit: Option<u32>,
        cursor: Option<&str>,
    ) -> Result<SwarmPage, ClientError> {
        let mut url = self.url(&["v1", "agents", id, "swarms"]);
        append(&mut url, "limit", limit.map(|limit| limit.to_string()).as_deref());
        append(&mut url, "cursor", cursor);
        self.get("list swarms", url).await
    }

    /// `GET /v1/swarms/{id}`.
    pub async fn get_swarm(&self, id: &str) -> Result<SwarmView, ClientError> {
        self.get("get swarm", self.url(&["v1", "swarms", id])).await
    }

    /// `POST /v1/swarms/{id}/dismiss`: every active member expires.
    pub async fn dismiss_swarm(&self, id: &str) -> Result<SwarmView, ClientError> {
        let url = self.url(&["v1", "swarms", id, "dismiss"]);
        let body = self.send("dismiss swarm", Method::POST, url, None).await?;
        super::decode("dismiss swarm", &body)
    }
}
