//! Agents and the verbs that move them.

use http::Method;

use super::Client;
use crate::{
    error::ClientError,
    wire::{AgentPage, AgentView, CreateAgent, EditAgent},
};

impl Client {
    /// `POST /v1/agents`.
    pub async fn create_agent(&self, agent: &CreateAgent) -> Result<AgentView, ClientError> {
        let url = self.url(&["v1", "agents"]);
        self.send_json("create agent", Method::POST, url, agent).await
    }

    /// `GET /v1/agents`, one page; `query` searches names and slugs.
    pub async fn list_agents(
        &self,
        query: Option<&str>,
        limit: Option<u32>,
        cursor: Option<&str>,
    ) -> Result<AgentPage, ClientError> {
        let mut url = self.url(&["v1", "agents"]);
        append(&mut url, "q", query);
        append(&mut url, "limit", limit.map(|limit| limit.to_string()).as_deref());
        append(&mut url, "cursor", cursor);
        self.get("list agents", url).await
    }

    /// `GET /v1/agents/{id}`.
    pub async fn get_agent(&self, id: &str) -> Result<AgentView, ClientError> {
        self.get("get agent", self.url(&["v1", "agents", id])).await
    }

    /// `PATCH /v1/agents/{id}`.
    pub async fn edit_agent(&self, id: &str, edit: &EditAgent) -> Result<AgentView, ClientError> {
        let url = self.url(&["v1", "agents", id]);
        self.send_json("edit agent", Method::PATCH, url, edit).await
    }

    /// `GET /v1/agents/{id}/children`, archived ones included.
    pub async fn list_children(&self, id: &str) -> Result<AgentPage, ClientError> {
        self.get("list children", self.url(&["v1", "agents", id, "children"])).await
    }

    /// `POST /v1/agents/{id}/start`.
    pub async fn start_agent(&self, id: &str) -> Result<AgentView, ClientError> {
        self.verb("start agent", id, "start").await
    }

    /// `POST /v1/agents/{id}/stop`.
    pub async fn stop_agent(&self, id: &str) -> Result<AgentView, ClientError> {
        self.verb("stop agent", id, "stop").await
    }

    /// `POST /v1/agents/{id}/restart`.
    pub async fn restart_agent(&self, id: &str) -> Result<AgentView, ClientError> {
        self.verb("restart agent", id, "restart").await
    }

    /// `POST /v1/agents/{id}/expire`.
    pub async fn expire_agent(&self, id: &str) -> Result<AgentView, ClientError> {
        self.verb("expire agent", id, "expire").await
    }

    /// `POST /v1/agents/{id}/archive`.
    pub async fn archive_agent(&self, id: &str) -> Result<AgentView, ClientError> {
        self.verb("archive agent", id, "archive").await
    }

    async fn verb(
        &self,
        attempted: &'static str,
        id: &str,
        verb: &str,
    ) -> Result<AgentView, ClientError> {
        let url = self.url(&["v1", "agents", id, verb]);
        let body = self.send(attempted, Method::POST, url, None).await?;
        super::decode(attempted, &body)
    }
}

/// Adds a query parameter when there is a value.
pub(super) fn append(url: &mut url::Url, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        url.query_pairs_mut().append_pair(name, value);
    }
}
