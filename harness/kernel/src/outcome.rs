//! What a run leaves behind.

use foundry_llm::{LlmError, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// The value that was submitted, when the run was to end with one (KERN-28).
    pub output: Option<Value>,
}

impl Outcome {
    /// The last thing the model said in this run; an empty text says nothing.
    pub fn text(&self) -> Option<&str> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Assistant { reply } => {
                reply.text.as_deref().filter(|text| !text.trim().is_empty())
            }
            Entry::User { .. }
            | Entry::Results { .. }
            | Entry::Fold { .. }
            | Entry::Stubs { .. } => None,
        })
    }

    /// What a person reads as the run's answer: the value that it was to end with, else
    /// what the model said last; and of a run that did not end of itself, why (BIND-10).
    pub fn answer(&self) -> String {
        let value = self.output.as_ref().map(Value::to_string);
        let said = value.or_else(|| self.text().map(|text| text.trim().to_owned()));
        let said = said.filter(|said| !self.stop.is_said_by(said));
        match (said, &self.stop) {
            (Some(said), Stop::EndTurn) => said,
            (Some(said), stop) => format!("{said}\n\n{}", stop.in_words()),
            (None, stop) => stop.in_words(),
        }
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

impl Stop {
    /// Whether the reason is this very text, as that of a refusal is.
    fn is_said_by(&self, text: &str) -> bool {
        matches!(self, Self::Failed(Failure::Refused(reason)) if reason.trim() == text)
    }

    /// Why the run ended, as a sentence for a person.
    pub fn in_words(&self) -> String {
        match self {
            Self::EndTurn => "The model ended its turn without a word.".to_owned(),
            Self::MaxTurns => "The limit of model turns was reached before the end.".to_owned(),
            Self::Budget { reason } => format!("A budget is spent: {reason}."),
            Self::Aborted => "The run was called off.".to_owned(),
            Self::Interrupted => "The run was interrupted.".to_owned(),
            Self::Failed(failure) => format!("The run could not go on: {failure}."),
        }
    }
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
    /// The conversation does not fit the model's window, and nothing more can be left out.
    #[error(
        "the conversation needs about {needed} tokens where the model's window leaves {window}, \
         with all shortened that may be: take a model with a larger window, or say less"
    )]
    ContextTooSmall {
        /// Estimated tokens of the smallest form.
        needed: u64,
        /// Tokens the window leaves for it.
        window: u64,
    },
    /// The model gave nothing, was asked once more, and again gave nothing.
    #[error("the model gave an empty reply, and another when it was asked again")]
    Empty,
    /// The model went round in circles, and a hint did not help.
    #[error("the model repeats itself without getting further: {what}")]
    Repeating {
        /// What was done again and again.
        what: String,
    },
    /// The model ended without submitting the value it was asked for (KERN-28).
    #[error("the model ended without submitting the value that was asked for, though reminded")]
    NoOutput,
}

#[cfg(test)]
mod tests;
