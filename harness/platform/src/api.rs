//! What a host asks of the API for one agent. Injected, so that the API can host an
//! agent in process and tests need no server.

use async_trait::async_trait;
use foundry_client::{
    AgentPage, AgentView, Answer, AskQuestion, CatalogTool, Client, ClientError, CodingReport,
    HarnessView, Heartbeat, LogEvent, MAX_ANSWER_WAIT_SECONDS, MAX_INBOX_WAIT_SECONDS, Memory,
    ModelView, RunRecord, SavePlan, SavedPlan, SpawnSwarm, SwarmView, Wake,
};
use serde_json::Value;
use uuid::Uuid;

/// The API, as one agent sees it.
#[async_trait]
pub trait Api: Send + Sync {
    /// The agent's own record.
    async fn agent(&self) -> Result<AgentView, ClientError>;
    /// The thoughts block, rendered by [`crate::thoughts::render`].
    async fn thoughts(&self) -> Result<String, ClientError>;
    /// Every tool of the catalog.
    async fn tools(&self) -> Result<Vec<CatalogTool>, ClientError>;
    /// What the agent's harness permits and always grants.
    async fn harness(&self, id: &str) -> Result<HarnessView, ClientError>;
    /// The models of the workspace.
    async fn models(&self) -> Result<Vec<ModelView>, ClientError>;
    /// Waits a little for wakes and takes them under a lease.
    async fn inbox(&self) -> Result<Vec<Wake>, ClientError>;
    /// Stores what came of an evaluation or a wake.
    async fn record_run(&self, run: &RunRecord) -> Result<(), ClientError>;
    /// Stores log events.
    async fn post_logs(&self, events: &[LogEvent]) -> Result<(), ClientError>;
    /// Gives a sign of life.
    async fn heartbeat(&self, beat: &Heartbeat) -> Result<(), ClientError>;
    /// Writes a memory.
    async fn remember(&self, text: &str) -> Result<Memory, ClientError>;
    /// Finds memories.
    async fn recall(&self, query: &str, limit: Option<u32>) -> Result<Vec<Memory>, ClientError>;
    /// Agents of the workspace.
    async fn list_agents(
        &self,
        query: Option<&str>,
        limit: Option<u32>,
        cursor: Option<&str>,
    ) -> Result<AgentPage, ClientError>;
    /// Any agent of the workspace.
    async fn get_agent(&self, id: &str) -> Result<AgentView, ClientError>;
    /// The dead-letter queue of the intelligence service, in that service's own form.
    async fn queue_errors(
        &self,
        queue: Option<&str>,
        limit: Option<u32>,
    ) -> Result<Value, ClientError>;
    /// Stores a plan; the same text again gives the same document.
    async fn save_plan(&self, plan: &SavePlan) -> Result<SavedPlan, ClientError>;
    /// Asks a person; the same id again asks once.
    async fn ask_question(&self, question: &AskQuestion) -> Result<(), ClientError>;
    /// Waits a little for the answer to a question.
    async fn poll_answer(&self, question: Uuid) -> Result<Option<Answer>, ClientError>;
    /// Stores how the agent's coding task stands.
    async fn report_coding(&self, report: &CodingReport) -> Result<(), ClientError>;
    /// Starts a swarm of the agent's.
    async fn spawn_swarm(&self, swarm: &SpawnSwarm) -> Result<SwarmView, ClientError>;
    /// Ends a swarm.
    async fn dismiss_swarm(&self, id: &str) -> Result<SwarmView, ClientError>;
    /// Ends the agent: its work is done (LIFE-11).
    async fn expire(&self) -> Result<(), ClientError>;
}

/// [`Api`] over HTTP.
#[derive(Clone, Debug)]
pub struct ClientApi {
    client: Client,
    agent: String,
}

impl ClientApi {
    /// The API as `agent` sees it.
    pub fn new(client: Client, agent: impl Into<String>) -> Self {
        Self { client, agent: agent.into() }
    }
}

#[async_trait]
impl Api for ClientApi {
    async fn agent(&self) -> Result<AgentView, ClientError> {
        self.client.get_agent(&self.agent).await
    }

    async fn thoughts(&self) -> Result<String, ClientError> {
        Ok(self.client.thoughts(&self.agent).await?.text)
    }

    async fn tools(&self) -> Result<Vec<CatalogTool>, ClientError> {
        Ok(self.client.list_tools().await?.items)
    }

    async fn harness(&self, id: &str) -> Result<HarnessView, ClientError> {
        self.client.get_harness(id).await
    }

    async fn models(&self) -> Result<Vec<ModelView>, ClientError> {
        Ok(self.client.list_models().await?.items)
    }

    async fn inbox(&self) -> Result<Vec<Wake>, ClientError> {
        // The API answers before the client's read timeout (LOOP-20).
        Ok(self.client.poll_inbox(&self.agent, MAX_INBOX_WAIT_SECONDS).await?.wakes)
    }

    async fn record_run(&self, run: &RunRecord) -> Result<(), ClientError> {
        self.client.record_run(&self.agent, run).await
    }

    async fn post_logs(&self, events: &[LogEvent]) -> Result<(), ClientError> {
        self.client.post_logs(&self.agent, events.to_vec()).await
    }

    async fn heartbeat(&self, beat: &Heartbeat) -> Result<(), ClientError> {
        self.client.heartbeat(&self.agent, beat).await
    }

    async fn remember(&self, text: &str) -> Result<Memory, ClientError> {
        self.client.remember(&self.agent, text).await
    }

    async fn recall(&self, query: &str, limit: Option<u32>) -> Result<Vec<Memory>, ClientError> {
        Ok(self.client.recall(&self.agent, query, limit).await?.items)
    }

    async fn list_agents(
        &self,
        query: Option<&str>,
        limit: Option<u32>,
        cursor: Option<&str>,
    ) -> Result<AgentPage, ClientError> {
        self.client.list_agents(query, limit, cursor).await
    }

    async fn get_agent(&self, id: &str) -> Result<AgentView, ClientError> {
        self.client.get_agent(id).await
    }

    async fn queue_errors(
        &self,
        queue: Option<&str>,
        limit: Option<u32>,
    ) -> Result<Value, ClientError> {
        self.client.queue_errors(&self.agent, queue, limit).await
    }

    async fn save_plan(&self, plan: &SavePlan) -> Result<SavedPlan, ClientError> {
        self.client.save_plan(&self.agent, plan).await
    }

    async fn ask_question(&self, question: &AskQuestion) -> Result<(), ClientError> {
        self.client.ask_question(&self.agent, question).await.map(drop)
    }

    async fn poll_answer(&self, question: Uuid) -> Result<Option<Answer>, ClientError> {
        // The API answers before the client's read timeout (LOOP-20).
        let wait = MAX_ANSWER_WAIT_SECONDS;
        Ok(self.client.poll_answer(&self.agent, question, wait).await?.answer)
    }

    async fn report_coding(&self, report: &CodingReport) -> Result<(), ClientError> {
        self.client.report_coding(&self.agent, report).await
    }

    async fn spawn_swarm(&self, swarm: &SpawnSwarm) -> Result<SwarmView, ClientError> {
        self.client.spawn_swarm(&self.agent, swarm).await
    }

    async fn dismiss_swarm(&self, id: &str) -> Result<SwarmView, ClientError> {
        self.client.dismiss_swarm(id).await
    }

    async fn expire(&self) -> Result<(), ClientError> {
        self.client.expire_agent(&self.agent).await.map(drop)
    }
}
