//! What a run is to do, and with what.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::entry::{Entry, UserInput};
use crate::policy::empty::EmptyReply;
use crate::policy::fit::DEFAULT_WINDOW;
use crate::policy::ladder::Ladder;
use crate::policy::limits::Limits;
use crate::policy::permit::Mode;
use crate::policy::repeat::Repeat;
use crate::policy::structured::OutputSchema;
use crate::tool::Tool;

/// Output cap in tokens, unless set (KERN-12).
const DEFAULT_MAX_OUTPUT_TOKENS: u32 = 8192;

/// How a run calls its model and when it stops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// `auto` or a wire id; the relay resolves it.
    pub model: String,
    /// Takes over for the rest of the run when `model` fails for good (KERN-42). It is
    /// asked without a reasoning level and a thinking budget, which are the first model's.
    pub fallback_model: Option<String>,
    /// System prompt, sent beside the messages and never among them (KERN-06).
    pub system: String,
    /// Turns and tokens it may spend.
    pub limits: Limits,
    /// What it does about a failed model call.
    pub ladder: Ladder,
    /// The model's window in tokens (CODE-39); a provider that states a smaller one wins.
    pub context_window: u64,
    /// Output cap of one call in tokens (KERN-12).
    pub max_output_tokens: u32,
    /// Sampling temperature; `None` leaves the provider's default.
    pub temperature: Option<f32>,
    /// Reasoning level, for models that list levels.
    pub reasoning_effort: Option<String>,
    /// Thinking budget in tokens (KERN-39).
    pub thinking_budget: Option<u32>,
    /// The value the run is to end with, when it is to end with one (KERN-28).
    pub output: Option<OutputSchema>,
    /// What it does about a reply with nothing in it.
    pub empty: EmptyReply,
    /// How often a model may go round in a circle.
    pub repeat: Repeat,
    /// Which calls need leave.
    pub mode: Mode,
    /// Decides the jitter of retry waits: give each run its own, so that those of one
    /// outage come back spread out. The same seed waits the same.
    pub seed: u64,
}

impl Settings {
    /// Settings with the default limits and ladder.
    pub fn new(model: impl Into<String>, system: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            fallback_model: None,
            system: system.into(),
            limits: Limits::default(),
            ladder: Ladder::default(),
            context_window: DEFAULT_WINDOW,
            max_output_tokens: DEFAULT_MAX_OUTPUT_TOKENS,
            temperature: None,
            reasoning_effort: None,
            thinking_budget: None,
            output: None,
            empty: EmptyReply::default(),
            repeat: Repeat::default(),
            mode: Mode::Bypass,
            seed: 0,
        }
    }
}

/// What a run is made of.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// How it calls the model and when it stops.
    pub settings: Settings,
    /// The conversation before this run; empty, or starting with a user entry.
    pub history: Vec<Entry>,
    /// What is said to the model now.
    pub input: UserInput,
    /// What the model may call, in the order in which it sees them.
    pub tools: Vec<Arc<Tool>>,
}
