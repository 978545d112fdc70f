//! The desk of a pod: plans become documents, questions wait at the API.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foundry_client::{
    AskQuestion, ClientError, LogLevel, MAX_OPTION_BYTES, MAX_PLAN_BYTES, MAX_QUESTION_BYTES,
    MAX_QUESTION_OPTIONS, QuestionKind, SavePlan, SavedPlan,
};
use foundry_platform::api::Api;
use foundry_platform::events::EventLog;
use foundry_platform::retry::Backoff;
use foundry_platform::text::cut;
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until};
use uuid::Uuid;

use crate::desk::{Desk, DeskError, Question};
use crate::digest::sha256;
use crate::kind;
use crate::task::stage::{Plan, Reply};

/// First and longest wait while the API is away.
const WAITS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(15));
/// How often a plan is offered to the API before the model hears that it was not kept.
const PLAN_TRIES: u32 = 8;
/// The least time between two polls: an API that answers at once must not make us spin.
const APART: Duration = Duration::from_secs(1);

/// The desk of a pod.
pub(crate) struct PlatformDesk {
    pub api: Arc<dyn Api>,
    pub log: EventLog,
    /// Start number of this process.
    pub generation: i64,
}

#[async_trait]
impl Desk for PlatformDesk {
    async fn save_plan(&self, markdown: &str) -> Result<Plan, DeskError> {
        if markdown.len() > MAX_PLAN_BYTES {
            let bytes = markdown.len();
            return Err(DeskError::Failed(format!(
                "the plan has {bytes} bytes; save one of at most {MAX_PLAN_BYTES}"
            )));
        }
        let body = SavePlan { generation: self.generation, markdown: markdown.to_owned() };
        let SavedPlan { document_id, sha256: stored, location } = self.store(&body).await?;
        // A person approves this digest: it must be that of the text which is built.
        if stored != sha256(markdown) {
            return Err(DeskError::Failed(format!(
                "the platform stored another text than it was given (document {document_id}); \
                 save the plan again"
            )));
        }
        let data = json!({ "location": location, "document_id": document_id, "sha256": stored });
        let line = format!("plan saved at {location}"); // CODE-30
        self.log.write(kind::PLAN, LogLevel::Info, &line, Some(data));
        Ok(Plan { markdown: markdown.to_owned(), sha256: stored, location: Some(location) })
    }

    async fn ask(&self, question: &Question) -> Result<Reply, DeskError> {
        let id = Uuid::now_v7();
        let body = body(id, self.generation, question);
        self.log.write(kind::QUESTION, LogLevel::Info, &body.text, Some(details(&body))); // CODE-17
        self.put(&body).await?;
        let answer = self.answer(id).await?;
        self.log.write(
            kind::ANSWER,
            LogLevel::Info,
            &format!("answered by {}: {}", answer.answered_by, answer.text),
            Some(json!({ "question_id": id })),
        );
        Ok(Reply { text: answer.text, plan_sha256: answer.plan_sha256 })
    }

    fn answered_itself(&self, question: &Question, answer: &str) {
        let body = body(Uuid::now_v7(), self.generation, question);
        self.log.write(kind::QUESTION, LogLevel::Info, &body.text, Some(details(&body)));
        let line = format!("answered by the agent itself: {answer}");
        let data = json!({ "question_id": body.id });
        self.log.write(kind::ANSWER, LogLevel::Info, &line, Some(data));
    }
}

impl PlatformDesk {
    async fn store(&self, plan: &SavePlan) -> Result<SavedPlan, DeskError> {
        let mut backoff = Backoff::new(WAITS.0, WAITS.1);
        for _ in 1..PLAN_TRIES {
            match self.api.save_plan(plan).await {
                Err(error) if error.is_transient() => self.pause(&mut backoff, &error).await,
                Err(error) => return Err(failed(&error)),
                Ok(saved) => return Ok(saved),
            }
        }
        self.api.save_plan(plan).await.map_err(|error| failed(&error))
    }

    /// Asks until the API has the question, however long it is away.
    async fn put(&self, question: &AskQuestion) -> Result<(), DeskError> {
        let mut backoff = Backoff::new(WAITS.0, WAITS.1);
        loop {
            match self.api.ask_question(question).await {
                Ok(()) => return Ok(()),
                Err(error) if may_pass(&error) => self.pause(&mut backoff, &error).await,
                Err(error) => return Err(closed_or_failed(&error)),
            }
        }
    }

    /// Waits for the answer, however long it takes and whoever is away meanwhile.
    async fn answer(&self, question: Uuid) -> Result<foundry_client::Answer, DeskError> {
        let mut backoff = Backoff::new(WAITS.0, WAITS.1);
        loop {
            let next = Instant::now() + APART;
            match self.api.poll_answer(question).await {
                Ok(Some(answer)) => return Ok(answer),
                Ok(None) => {
                    backoff.succeeded();
                    sleep_until(next).await;
                }
                Err(error) if may_pass(&error) => self.pause(&mut backoff, &error).await,
                Err(error) => return Err(closed_or_failed(&error)),
            }
        }
    }

    /// Waits before the next try; says once an outage that it does.
    async fn pause(&self, backoff: &mut Backoff, error: &ClientError) {
        if !backoff.is_failing() {
            self.log.error(&error.to_string());
        }
        sleep(backoff.failed()).await;
    }
}

fn body(id: Uuid, generation: i64, question: &Question) -> AskQuestion {
    let Question { kind, text, options, recommended, plan_sha256 } = question;
    AskQuestion {
        id,
        generation,
        kind: *kind,
        text: cut(text, MAX_QUESTION_BYTES),
        options: options
            .iter()
            .take(MAX_QUESTION_OPTIONS)
            .map(|option| cut(option, MAX_OPTION_BYTES))
            .collect(),
        recommended: recommended.as_deref().map(|answer| cut(answer, MAX_QUESTION_BYTES)),
        plan_sha256: plan_sha256.clone(),
    }
}

/// What the question's log line carries beside its text.
fn details(question: &AskQuestion) -> serde_json::Value {
    let AskQuestion { id, generation: _, kind, text: _, options, recommended, plan_sha256 } =
        question;
    json!({
        "id": id,
        "kind": match kind { QuestionKind::Plan => "plan", QuestionKind::Question => "question" },
        "options": options,
        "recommended": recommended,
        "plan_sha256": plan_sha256,
    })
}

/// A wait for a person may take hours: a refused token, too, may be taken again, and an
/// API that has just begun may not see the agent yet.
fn may_pass(error: &ClientError) -> bool {
    error.is_transient() || matches!(error.status(), Some(401 | 403 | 404))
}

fn failed(error: &ClientError) -> DeskError {
    DeskError::Failed(error.to_string())
}

/// A conflict means that the task is no longer ours: a later start, or an end.
fn closed_or_failed(error: &ClientError) -> DeskError {
    match error.status() {
        Some(409 | 410) => DeskError::Closed(error.to_string()),
        _ => failed(error),
    }
}

#[cfg(test)]
mod tests;
