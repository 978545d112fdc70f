//! Coding agents: their runs, plans, questions and reports.

use http::Method;
use uuid::Uuid;

use super::{Client, agents::append};
use crate::{
    error::ClientError,
    wire::{
        Answer, AnswerPoll, AskQuestion, CodingReport, CodingRunPage, CodingRunView, DocumentLink,
        PostAnswer, QuestionList, QuestionView, SavePlan, SavedPlan, SpawnCodingAgent,
    },
};

impl Client {
    /// `POST /v1/agents/{id}/coding-agents`: the agent `id` spawns a coding run.
    pub async fn spawn_coding_agent(
        &self,
        id: &str,
        spawn: &SpawnCodingAgent,
    ) -> Result<CodingRunView, ClientError> {
        let url = self.url(&["v1", "agents", id, "coding-agents"]);
        self.send_json("spawn coding agent", Method::POST, url, spawn).await
    }

    /// `GET /v1/coding-runs`, one page.
    pub async fn list_coding_runs(
        &self,
        limit: Option<u32>,
        cursor: Option<&str>,
    ) -> Result<CodingRunPage, ClientError> {
        let mut url = self.url(&["v1", "coding-runs"]);
        append(&mut url, "limit", limit.map(|limit| limit.to_string()).as_deref());
        append(&mut url, "cursor", cursor);
        self.get("list coding runs", url).await
    }

    /// `GET /v1/coding-runs/{id}`.
    pub async fn get_coding_run(&self, id: &str) -> Result<CodingRunView, ClientError> {
        self.get("get coding run", self.url(&["v1", "coding-runs", id])).await
    }

    /// `POST /v1/agents/{id}/plans`; at most [`crate::MAX_PLAN_BYTES`] of Markdown.
    pub async fn save_plan(&self, id: &str, plan: &SavePlan) -> Result<SavedPlan, ClientError> {
        let url = self.url(&["v1", "agents", id, "plans"]);
        self.send_json("save plan", Method::POST, url, plan).await
    }

    /// `GET /v1/agents/{id}/plans/{document}`: where the plan can be read for a while.
    pub async fn plan_link(&self, id: &str, document: &str) -> Result<DocumentLink, ClientError> {
        let url = self.url(&["v1", "agents", id, "plans", document]);
        self.get("get plan link", url).await
    }

    /// `POST /v1/agents/{id}/questions`.
    pub async fn ask_question(
        &self,
        id: &str,
        question: &AskQuestion,
    ) -> Result<QuestionView, ClientError> {
        let url = self.url(&["v1", "agents", id, "questions"]);
        self.send_json("ask question", Method::POST, url, question).await
    }

    /// `GET /v1/agents/{id}/questions`: those that wait for an answer.
    pub async fn list_questions(&self, id: &str) -> Result<QuestionList, ClientError> {
        self.get("list questions", self.url(&["v1", "agents", id, "questions"])).await
    }

    /// `GET /v1/agents/{id}/questions/{question}/answer`, held open by the API for at
    /// most `wait_seconds`, [`crate::MAX_ANSWER_WAIT_SECONDS`] at most. A question that
    /// a later start or an expiry has closed answers 409, reason `QuestionClosed`.
    pub async fn poll_answer(
        &self,
        id: &str,
        question: Uuid,
        wait_seconds: u64,
    ) -> Result<AnswerPoll, ClientError> {
        let question = question.to_string();
        let mut url = self.url(&["v1", "agents", id, "questions", &question, "answer"]);
        append(&mut url, "wait_seconds", Some(&wait_seconds.to_string()));
        self.get("poll answer", url).await
    }

    /// `POST /v1/agents/{id}/answer`; only a person may (ROUTE-12).
    pub async fn answer(&self, id: &str, answer: &PostAnswer) -> Result<Answer, ClientError> {
        let url = self.url(&["v1", "agents", id, "answer"]);
        self.send_json("answer question", Method::POST, url, answer).await
    }

    /// `POST /v1/agents/{id}/coding`: how the agent's task stands.
    pub async fn report_coding(&self, id: &str, report: &CodingReport) -> Result<(), ClientError> {
        let url = self.url(&["v1", "agents", id, "coding"]);
        let body = super::encode("report coding", report)?;
        self.send("report coding", Method::POST, url, Some(body)).await.map(drop)
    }

    /// `GET /v1/agents/{id}/queue-errors`: the dead-letter queue of the intelligence
    /// service, in that service's own form (CODE-36).
    pub async fn queue_errors(
        &self,
        id: &str,
        queue: Option<&str>,
        limit: Option<u32>,
    ) -> Result<serde_json::Value, ClientError> {
        let mut url = self.url(&["v1", "agents", id, "queue-errors"]);
        append(&mut url, "queue", queue);
        append(&mut url, "limit", limit.map(|limit| limit.to_string()).as_deref());
        self.get("list queue errors", url).await
    }
}
