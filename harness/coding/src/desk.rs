//! Where plans are kept and people are asked: the platform, or a terminal.

use async_trait::async_trait;
use foundry_client::QuestionKind;

use crate::task::stage::{Plan, Reply};

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What kind of answer is wanted.
    pub kind: QuestionKind,
    /// The question.
    pub text: String,
    /// Possible answers.
    pub options: Vec<String>,
    /// The answer the model would take.
    pub recommended: Option<String>,
    /// SHA-256 of the plan that is to be approved.
    pub plan_sha256: Option<String>,
}

/// Where plans are kept and people are asked.
#[async_trait]
pub trait Desk: Send + Sync {
    /// Keeps a plan.
    async fn save_plan(&self, markdown: &str) -> Result<Plan, DeskError>;

    /// Asks, and waits for the answer as long as it takes. Dropped when the task ends.
    async fn ask(&self, question: &Question) -> Result<Reply, DeskError>;

    /// Takes note of a question that the agent answered itself (CODE-32).
    fn answered_itself(&self, question: &Question, answer: &str);
}

/// Why there is no plan or no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeskError {
    /// It was refused, or did not work out; the model reads this.
    #[error("{0}")]
    Failed(String),
    /// Nobody will ever answer: the question is closed, or there is nobody.
    #[error("{0}")]
    Closed(String),
}
