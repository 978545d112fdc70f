//! What a run asks of its host.

use std::sync::Arc;

use foundry_llm::{LlmError, Request, ToolCall};
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::outcome::Outcome;
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
    /// Which turn of the run it is for, from 1.
    pub turn: u32,
    /// 0 for the first try of this turn, then one more for each retry.
    pub attempt: u32,
    /// Wait until then before sending; set for a retry.
    pub not_before: Option<Timestamp>,
    /// What the attempt before failed with.
    pub after: Option<LlmError>,
}

/// The calls of one reply that are to be run, in call order.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Which turn of the run they belong to, from 1.
    pub turn: u32,
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
