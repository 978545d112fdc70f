//! What a run leaves behind.

use foundry_llm::{LlmError, Usage};
use serde::{Deserialize, Serialize};

use crate::entry::{Entry, UserInput};

/// What a run produced and why it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Every entry of this run, its first input included (KERN-07).
    pub entries: Vec<Entry>,
    /// Tokens of all its model calls, whatever the end (CHAT-10).
    pub usage: Usage,
    /// Model replies it took.
    pub turns: u32,
    /// Why it ended.
    pub stop: Stop,
    /// Input that was queued and that no model call took up; it belongs to the next run.
    pub left_over: Vec<UserInput>,
}

impl Outcome {
    /// The last thing the model said in this run.
    pub fn text(&self) -> Option<&str> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Assistant { reply } => reply.text.as_deref(),
            Entry::User { .. } | Entry::Results { .. } | Entry::Fold { .. } => None,
        })
    }
}

/// Why a run ended (KERN-01).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The model had nothing more to do.
    EndTurn,
    /// The limit of model turns is reached; the rest is another run's (LOOP-06).
    MaxTurns,
    /// The tokens granted are spent, or the relay says that a budget is.
    Budget {
        /// Which, in words for a person.
        reason: String,
    },
    /// The host called the run off.
    Aborted,
    /// A step was interrupted and nothing was queued to go on with (KERN-27).
    Interrupted,
    /// The run could not go on.
    Failed(Failure),
}

/// Why a run could not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The model could not be reached, or answered with an error, and no retry is left.
    #[error("{0}")]
    Model(LlmError),
    /// The model, or its provider's safety system, declined to answer.
    #[error("the model refused: {0}")]
    Refused(String),
}
