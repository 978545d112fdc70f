//! What a run remembers between steps, and what is stored of it.

use std::sync::Arc;

use foundry_llm::{LlmError, Message, ToolCall, Usage};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Settings;
use crate::entry::{CallResult, Entry, Settled, UserInput};
use crate::host::Event;
use crate::outcome::Stop;
use crate::policy::finish::Told;
use crate::policy::fit::{Fit, Stage};
use crate::policy::interrupt::At;
use crate::policy::ladder::Effort;
use crate::policy::repeat::Repeats;
use crate::step::Dispatch;
use crate::tool::Toolbox;
use crate::view::Conversation;

/// A run without its executors. Opaque, and made to be stored between two steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    pub(super) settings: Settings,
    pub(super) said: Said,
    /// How the conversation fits the model's window.
    pub(super) fit: Fit,
    /// Deferred tools that were found, in that order (KERN-08).
    pub(super) activated: Vec<String>,
    pub(super) usage: Usage,
    pub(super) turns: u32,
    pub(super) queue: Vec<UserInput>,
    pub(super) interrupted: bool,
    /// When the turn failed first; its clock runs on over other requests and other models.
    pub(super) failing_since: Option<Timestamp>,
    /// Whether the fallback model has taken over (KERN-42).
    pub(super) fell_back: bool,
    pub(super) told: Told,
    pub(super) repeats: Repeats,
    /// A hint for the model, said at the next boundary.
    pub(super) hint: Option<String>,
    /// The value that was submitted (KERN-28).
    pub(super) output: Option<Value>,
    pub(super) news: News,
    pub(super) phase: Phase,
}

impl RunState {
    pub(super) fn begin(settings: Settings, history: Vec<Entry>, input: UserInput) -> Self {
        let began = history.len();
        let mut log = history;
        log.push(Entry::User { input });
        Self {
            fit: Fit::new(settings.context_window),
            settings,
            said: Said { log, began, thinking_from: began },
            activated: Vec::new(),
            usage: Usage::default(),
            turns: 0,
            queue: Vec::new(),
            interrupted: false,
            failing_since: None,
            fell_back: false,
            told: Told::default(),
            repeats: Repeats::default(),
            hint: None,
            output: None,
            news: News { entries_told: began, ..News::default() },
            phase: Phase::Ready,
        }
    }

    /// The model that is asked now.
    pub(super) fn model(&self) -> &str {
        match (&self.settings.fallback_model, self.fell_back) {
            (Some(fallback), true) => fallback,
            (Some(_), false) | (None, _) => &self.settings.model,
        }
    }
}

/// What was said so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Said {
    pub(super) log: Vec<Entry>,
    /// Index of this run's first entry.
    pub(super) began: usize,
    /// Reasoning of entries before this one is another run's or another model's.
    pub(super) thinking_from: usize,
}

impl Said {
    /// The same as policies see it.
    pub(super) fn conversation<'a>(
        &'a self,
        settings: &Settings,
        tool_bytes: u64,
        stays: &'a dyn Fn(&str) -> bool,
    ) -> Conversation<'a> {
        let system = u64::try_from(settings.system.len()).unwrap_or(u64::MAX);
        // A thinking budget is put on top of the output cap (KERN-39).
        let thinking = settings.thinking_budget.unwrap_or_default();
        let max_output_tokens = settings.max_output_tokens.saturating_add(thinking);
        Conversation {
            log: &self.log,
            began: self.began,
            fixed_bytes: system.saturating_add(tool_bytes),
            max_output_tokens,
            stays,
            thinking_from: self.thinking_from,
        }
    }
}

/// What happened and was not told yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct News {
    /// How many entries were handed out as new.
    pub(super) entries_told: usize,
    pub(super) notes: Vec<Note>,
    /// How full the window is, and what was told of it last (CODE-40).
    pub(super) percent: Option<u8>,
    pub(super) percent_told: Option<u8>,
}

/// Something to tell a host that no entry says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub(crate) enum Note {
    /// KERN-42
    Fallback { from: String, to: String, error: LlmError },
    /// KERN-05
    Compacted { stage: Stage, before_tokens: u64, after_tokens: u64 },
    /// CODE-40
    Context { percent: u8 },
}

impl Note {
    pub(crate) fn event(&self) -> Event<'_> {
        match self {
            Self::Fallback { from, to, error } => Event::Fallback { from, to, error },
            Self::Compacted { stage, before_tokens, after_tokens } => Event::Compacted {
                stage: *stage,
                before_tokens: *before_tokens,
                after_tokens: *after_tokens,
            },
            Self::Context { percent } => Event::Context { percent: *percent },
        }
    }
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub(super) enum Phase {
    /// Between two turns.
    Ready,
    /// The model is to be asked, as soon as what is said to it fits its window.
    Fitting,
    /// A model call is to be made, or is out.
    Calling { call: Calling },
    /// A model call failed, and what to do about it is not decided yet.
    Stumbled { call: Calling, error: LlmError },
    /// Calls are to be run, or are out. At least one is waiting.
    Running { slots: Vec<Slot>, handed_out: bool },
    /// Over.
    Done { stop: Stop },
}

impl Phase {
    pub(super) fn at(&self) -> At {
        match self {
            Self::Ready => At::Boundary,
            Self::Fitting | Self::Calling { .. } | Self::Stumbled { .. } => At::Asking,
            Self::Running { .. } => At::Calls,
            Self::Done { .. } => At::Over,
        }
    }
}

/// A model call, with what was tried before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Calling {
    pub(super) asks: Asks,
    /// Retries made, this one included.
    pub(super) attempt: u32,
    /// Of the failures so far, those without a completion.
    pub(super) without_completion: u32,
    pub(super) effort: Effort,
    pub(super) not_before: Option<Timestamp>,
    pub(super) after: Option<LlmError>,
}

/// What a model call asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "asks", rename_all = "snake_case")]
pub(super) enum Asks {
    /// The next turn.
    Turn,
    /// A summary of the first entries (KERN-05).
    Summary { covers: usize, messages: Vec<Message> },
}

impl Calling {
    pub(super) fn first(asks: Asks) -> Self {
        Self {
            asks,
            attempt: 0,
            without_completion: 0,
            effort: Effort::AsSet,
            not_before: None,
            after: None,
        }
    }
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
    /// Submits the value that the run is to end with, once the calls before it are
    /// settled (KERN-28).
    Submitted { value: Value },
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
}
