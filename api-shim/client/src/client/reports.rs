//! What a harness reads and reports of its own agent: inbox, runs, logs, heartbeat,
//! memory, usage.

use http::Method;
use uuid::Uuid;

use super::{Client, agents::append};
use crate::{
    error::ClientError,
    wire::{
        Heartbeat, LogEvent, LogPage, Memory, MemoryPage, PostLogs, Recalled, RecordWake, Remember,
        RunPage, RunRecord, Thoughts, Tier, UsageTotals, Wake, WakeList,
    },
};

impl Client {
    /// `GET /v1/agents/{id}/inbox`, held open by the API for at most `wait_seconds`.
    pub async fn poll_inbox(&self, id: &str, wait_seconds: u64) -> Result<WakeList, ClientError> {
        let mut url = self.url(&["v1", "agents", id, "inbox"]);
        append(&mut url, "wait_seconds", Some(&wait_seconds.to_string()));
        self.get("poll inbox", url).await
    }

    /// `POST /v1/agents/{id}/inbox`.
    pub async fn record_wake(&self, id: &str, wake: &RecordWake) -> Result<Wake, ClientError> {
        let url = self.url(&["v1", "agents", id, "inbox"]);
        self.send_json("record wake", Method::POST, url, wake).await
    }

    /// `POST /v1/agents/{id}/runs`; acknowledges the wake the record names.
    pub async fn record_run(&self, id: &str, run: &RunRecord) -> Result<(), ClientError> {
        let url = self.url(&["v1", "agents", id, "runs"]);
        self.deliver("record run", url, run).await
    }

    /// `GET /v1/agents/{id}/runs`, newest first.
    pub async fn list_runs(
        &self,
        id: &str,
        limit: Option<u32>,
        cursor: Option<&str>,
    ) -> Result<RunPage, ClientError> {
        let mut url = self.url(&["v1", "agents", id, "runs"]);
        append(&mut url, "limit", limit.map(|limit| limit.to_string()).as_deref());
        append(&mut url, "cursor", cursor);
        self.get("list runs", url).await
    }

    /// `POST /v1/agents/{id}/logs`, at most [`crate::MAX_LOG_EVENTS`] events.
    pub async fn post_logs(&self, id: &str, events: Vec<LogEvent>) -> Result<(), ClientError> {
        let url = self.url(&["v1", "agents", id, "logs"]);
        self.deliver("post logs", url, &PostLogs { events }).await
    }

    /// `GET /v1/agents/{id}/logs`: lines after sequence `after`.
    pub async fn read_logs(
        &self,
        id: &str,
        after: i64,
        limit: Option<u32>,
        kind: Option<&str>,
    ) -> Result<LogPage, ClientError> {
        let mut url = self.url(&["v1", "agents", id, "logs"]);
        append(&mut url, "after", Some(&after.to_string()));
        append(&mut url, "limit", limit.map(|limit| limit.to_string()).as_deref());
        append(&mut url, "kind", kind);
        self.get("read logs", url).await
    }

    /// `POST /v1/agents/{id}/heartbeat`.
    pub async fn heartbeat(&self, id: &str, beat: &Heartbeat) -> Result<(), ClientError> {
        let url = self.url(&["v1", "agents", id, "heartbeat"]);
        self.deliver("send heartbeat", url, beat).await
    }

    /// `POST /v1/agents/{id}/memories`.
    pub async fn remember(&self, id: &str, text: &str) -> Result<Memory, ClientError> {
        let url = self.url(&["v1", "agents", id, "memories"]);
        let body = Remember { text: text.to_owned() };
        self.send_json("remember", Method::POST, url, &body).await
    }

    /// `GET /v1/agents/{id}/memories`, newest first.
    pub async fn list_memories(
        &self,
        id: &str,
        tier: Option<Tier>,
        limit: Option<u32>,
        cursor: Option<&str>,
    ) -> Result<MemoryPage, ClientError> {
        let mut url = self.url(&["v1", "agents", id, "memories"]);
        append(&mut url, "tier", tier.map(Tier::as_str));
        append(&mut url, "limit", limit.map(|limit| limit.to_string()).as_deref());
        append(&mut url, "cursor", cursor);
        self.get("list memories", url).await
    }

    /// `GET /v1/agents/{id}/memories/recall`.
    pub async fn recall(
        &self,
        id: &str,
        query: &str,
        limit: Option<u32>,
    ) -> Result<Recalled, ClientError> {
        let mut url = self.url(&["v1", "agents", id, "memories", "recall"]);
        append(&mut url, "q", Some(query));
        append(&mut url, "limit", limit.map(|limit| limit.to_string()).as_deref());
        self.get("recall", url).await
    }

    /// `DELETE /v1/agents/{id}/memories/{memory}`; only a person may.
    pub async fn delete_memory(&self, id: &str, memory: Uuid) -> Result<(), ClientError> {
        let url = self.url(&["v1", "agents", id, "memories", &memory.to_string()]);
        self.send("delete memory", Method::DELETE, url, None).await.map(drop)
    }

    /// `DELETE /v1/agents/{id}/memories`; only a person may.
    pub async fn purge_memories(&self, id: &str) -> Result<(), ClientError> {
        let url = self.url(&["v1", "agents", id, "memories"]);
        self.send("purge memories", Method::DELETE, url, None).await.map(drop)
    }

    /// `GET /v1/agents/{id}/thoughts`.
    pub async fn thoughts(&self, id: &str) -> Result<Thoughts, ClientError> {
        self.get("read thoughts", self.url(&["v1", "agents", id, "thoughts"])).await
    }

    /// `GET /v1/agents/{id}/usage`.
    pub async fn usage(&self, id: &str) -> Result<UsageTotals, ClientError> {
        self.get("read usage", self.url(&["v1", "agents", id, "usage"])).await
    }
}

impl Tier {
    /// The tier as requests and rows spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Archive => "archive",
        }
    }
}
