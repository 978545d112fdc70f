//! What a run asks of its host.

use std::sync::Arc;

use foundry_llm::{LlmError, Request, ToolCall};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::outcome::Outcome;
use crate::policy::permit::Mode;
use crate::tool::Tool;

/// What is to be done next.
#[derive(Clone, Debug)]
pub enum Step {
    /// Ask the model, and feed the answer to [`Run::replied`](crate::Run::replied).
    CallModel(ModelCall),
    /// Run these calls, and feed what came of them to [`Run::ran`](crate::Run::ran).
    CallTools(Batch),
    /// Nothing: the run is over.
    Done(Outcome),
}

/// One call of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCall {
    /// What to send.
    pub request: Request,
    /// What the reply is for, and so how it is asked for.
    pub purpose: Purpose,
    /// Which turn of the run it is for, from 1.
    pub turn: u32,
    /// 0 for the first try, then one more for each retry. A fallback model begins at 0 again.
    pub attempt: u32,
    /// Wait until then before sending; set for a retry.
    pub not_before: Option<Timestamp>,
    /// What the attempt before failed with.
    pub after: Option<LlmError>,
}

/// What a model call is for (KERN-04).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The next turn: made as a stream.
    Turn,
    /// A summary of what is older, so that the conversation fits: a one-shot completion.
    /// Nobody is shown it, and it is no turn of the run.
    Summary,
}

/// The calls of one reply that are to be run, in call order.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Which turn of the run they belong to, from 1.
    pub turn: u32,
    /// Whether they need leave, as the run's settings say. Asked at dispatch, for it may
    /// have changed since (CHAT-19).
    pub mode: Mode,
    /// Tokens that the run may still spend, when there is a limit.
    pub remaining_tokens: Option<u64>,
    /// The calls. Those that were refused before are not among them.
    pub calls: Vec<Dispatch>,
}

/// One call that may be run.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// Its place among all calls of the reply, from 0.
    pub position: usize,
    /// The call as the model made it.
    pub call: ToolCall,
    /// Its arguments, parsed and found to fit.
    pub arguments: Map<String, Value>,
    /// The tool.
    pub tool: Arc<Tool>,
}
