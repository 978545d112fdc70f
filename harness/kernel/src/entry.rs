//! The log of a conversation: append-only, and the only thing that is stored.

use foundry_llm::{Content, Reply};
use serde::{Deserialize, Serialize};

/// One record of the log. Entries are never changed or removed; what the model
/// sees of them is the [`view`](crate::view()).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Entry {
    /// Said by a person or by the host.
    User {
        /// What was said.
        input: UserInput,
    },
    /// A finished reply of the model. Partial replies never enter the log.
    Assistant {
        /// The reply, whole.
        reply: Reply,
    },
    /// What became of the calls of the reply just before, in call order.
    Results {
        /// One for each call.
        results: Vec<CallResult>,
    },
    /// Older entries told in fewer words. The entries themselves stay.
    Fold {
        /// How many entries, counted from the start of the log, it stands for.
        covers: usize,
        /// What the model reads in their place.
        digest: String,
    },
    /// Older results shown as one line each, save those that stay whole. The entries
    /// themselves stay.
    Stubs {
        /// How many entries, counted from the start of the log, it is about.
        covers: usize,
    },
}

/// What a person or the host says to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserInput {
    /// Its parts.
    pub content: Vec<Content>,
}

impl UserInput {
    /// Whether there is nothing in it that a model could read.
    pub fn is_blank(&self) -> bool {
        self.content.iter().all(|Content::Text { text }| text.trim().is_empty())
    }
}

impl From<&str> for UserInput {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<String> for UserInput {
    fn from(text: String) -> Self {
        Self { content: vec![Content::Text { text }] }
    }
}

/// What became of one tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallResult {
    /// Id of the call, as the model gave it.
    pub call_id: String,
    /// Name of the tool, as the model gave it.
    pub name: String,
    /// What became of it.
    #[serde(flatten)]
    pub settled: Settled,
}

/// How a tool call ended. There is no other way to end (KERN-24).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "settled", rename_all = "snake_case")]
pub enum Settled {
    /// The tool did its work.
    Output {
        /// What it returned.
        content: String,
    },
    /// The tool tried and says why it could not (LOOP-25).
    Failed {
        /// The reason.
        message: String,
    },
    /// The call was started and nobody knows whether it took effect (KERN-26, KERN-41).
    Unknown {
        /// Why nobody knows.
        reason: String,
    },
    /// The call was never started.
    NotRun {
        /// Why not.
        reason: String,
    },
}

impl Settled {
    /// A call that ended well.
    pub fn output(content: impl Into<String>) -> Self {
        Self::Output { content: content.into() }
    }

    /// A call whose tool failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into() }
    }

    /// A call of which nobody knows whether it took effect.
    pub fn unknown(reason: impl Into<String>) -> Self {
        Self::Unknown { reason: reason.into() }
    }

    /// A call that was never started.
    pub fn not_run(reason: impl Into<String>) -> Self {
        Self::NotRun { reason: reason.into() }
    }

    /// Whether the model is to read it as an error.
    pub fn is_error(&self) -> bool {
        !matches!(self, Self::Output { .. })
    }

    /// What the model reads.
    pub fn text(&self) -> String {
        match self {
            Self::Output { content } => content.clone(),
            Self::Failed { message } => message.clone(),
            Self::Unknown { reason } => format!(
                "outcome unknown: {reason}. The call may or may not have taken effect; check before you repeat it."
            ),
            Self::NotRun { reason } => format!("not executed: {reason}"),
        }
    }
}
