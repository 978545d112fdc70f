//! What a run remembers between steps, and what is stored of it.

use std::sync::Arc;

use foundry_llm::{LlmError, ToolCall, Usage};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Settings;
use crate::entry::{CallResult, Entry, Settled, UserInput};
use crate::outcome::Stop;
use crate::step::Dispatch;
use crate::tool::Toolbox;

/// A run without its executors. Opaque, and made to be stored between two steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    pub(super) settings: Settings,
    pub(super) log: Vec<Entry>,
    /// Index of this run's first entry.
    pub(super) began: usize,
    /// How many entries were handed out as new.
    pub(super) told: usize,
    pub(super) usage: Usage,
    pub(super) turns: u32,
    pub(super) queue: Vec<UserInput>,
    pub(super) interrupted: bool,
    pub(super) phase: Phase,
}

impl RunState {
    pub(super) fn begin(settings: Settings, history: Vec<Entry>, input: UserInput) -> Self {
        let began = history.len();
        let mut log = history;
        log.push(Entry::User { input });
        Self {
            settings,
            log,
            began,
            told: began,
            usage: Usage::default(),
            turns: 0,
            queue: Vec::new(),
            interrupted: false,
            phase: Phase::Ready,
        }
    }
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub(super) enum Phase {
    /// Between two turns.
    Ready,
    /// A model call is to be made, or is out.
    Calling { attempt: u32, not_before: Option<Timestamp>, after: Option<LlmError> },
    /// A model call failed, and what to do about it is not decided yet.
    Stumbled { attempt: u32, error: LlmError },
    /// Calls are to be run, or are out. At least one is waiting.
    Running { slots: Vec<Slot>, handed_out: bool },
    /// Over.
    Done { stop: Stop },
}

/// One call of a reply, on its way to its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Slot {
    pub(super) call: ToolCall,
    pub(super) state: SlotState,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "slot", rename_all = "snake_case")]
pub(super) enum SlotState {
    /// To be run.
    Waiting { arguments: Map<String, Value> },
    /// Answered without running.
    Decided { settled: Settled },
}

impl Slot {
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.state, SlotState::Waiting { .. })
    }

    pub(super) fn result(&self, settled: Settled) -> CallResult {
        CallResult { call_id: self.call.id.clone(), name: self.call.name.clone(), settled }
    }

    /// What a host is asked to run, if anything.
    pub(super) fn dispatch(&self, position: usize, tools: &Toolbox) -> Option<Dispatch> {
        let SlotState::Waiting { arguments } = &self.state else { return None };
        let tool = Arc::clone(tools.get(&self.call.name)?);
        let (call, arguments) = (self.call.clone(), arguments.clone());
        Some(Dispatch { position, call, arguments, tool })
    }

    pub(super) fn decided(&self) -> Option<CallResult> {
        match &self.state {
            SlotState::Decided { settled } => Some(self.result(settled.clone())),
            SlotState::Waiting { .. } => None,
        }
    }
}
