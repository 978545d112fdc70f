//! The run: decides what comes next, and never waits for it.

mod state;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use foundry_llm::{LlmError, Reply, Request, ToolCall, ToolChoice};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::entry::{CallResult, Entry, Settled, UserInput};
use crate::outcome::{Failure, Outcome, Stop};
use crate::policy::ladder::{Ladder, Next, Tries};
use crate::policy::limits::Limits;
use crate::policy::{cut_off, finish, permit, truncate};
use crate::step::{Batch, ModelCall, Step};
use crate::tool::{AssembleError, Tool, Toolbox};
use crate::view::{self, view};

pub use state::RunState;
use state::{Phase, Slot, SlotState};

/// Output cap in tokens, unless set (KERN-12).
const DEFAULT_MAX_OUTPUT_TOKENS: u32 = 8192;

/// How a run calls its model and when it stops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// `auto` or a wire id; the relay resolves it.
    pub model: String,
    /// System prompt, sent beside the messages and never among them (KERN-06).
    pub system: String,
    /// Turns and tokens it may spend.
    pub limits: Limits,
    /// What it does about a failed model call.
    pub ladder: Ladder,
    /// Output cap of one call in tokens (KERN-12).
    pub max_output_tokens: u32,
    /// Sampling temperature; `None` leaves the provider's default.
    pub temperature: Option<f32>,
    /// Reasoning level, for models that list levels.
    pub reasoning_effort: Option<String>,
    /// Thinking budget in tokens (KERN-39).
    pub thinking_budget: Option<u32>,
    /// Decides the jitter of retry waits: give each run its own, so that those of one
    /// outage come back spread out. The same seed waits the same.
    pub seed: u64,
}

impl Settings {
    /// Settings with the default limits and ladder.
    pub fn new(model: impl Into<String>, system: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            system: system.into(),
            limits: Limits::default(),
            ladder: Ladder::default(),
            max_output_tokens: DEFAULT_MAX_OUTPUT_TOKENS,
            temperature: None,
            reasoning_effort: None,
            thinking_budget: None,
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

/// One run of the loop. See the crate's documentation.
#[derive(Clone, Debug)]
pub struct Run {
    state: RunState,
    tools: Toolbox,
}

impl Run {
    /// Assembles a run. Fails before anything is asked of a model when a tool could
    /// not be called (LOOP-29) or the history could not be sent.
    pub fn new(options: RunOptions) -> Result<Self, AssembleError> {
        let RunOptions { settings, history, input, tools } = options;
        let tools = Toolbox::assemble(tools)?;
        if input.is_blank() {
            return Err(AssembleError::EmptyInput);
        }
        let state = RunState::begin(settings, history, input);
        let seen = view(&state.log, state.began);
        if !seen.starts_with_user() {
            return Err(AssembleError::HistoryStart);
        }
        view::report_repairs(&seen.repaired);
        Ok(Self { state, tools })
    }

    /// Takes up a stored run with the tools of today. A batch that was out when it was
    /// stored is handed out again: run its reads again, and feed [`Settled::Unknown`]
    /// for the writes, which may have run already. A call whose tool is gone is
    /// answered as not run.
    pub fn resume(state: RunState, tools: Vec<Arc<Tool>>) -> Result<Self, AssembleError> {
        let tools = Toolbox::assemble(tools)?;
        let mut run = Self { state, tools };
        run.refuse_calls_of_missing_tools();
        Ok(run)
    }

    /// The run without its executors, to be stored.
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// Model replies so far.
    pub fn turns(&self) -> u32 {
        self.state.turns
    }

    /// Everything said so far, the history before this run included.
    pub fn log(&self) -> &[Entry] {
        &self.state.log
    }

    /// The entries that were appended since this was last asked, to be stored and shown.
    pub fn take_new_entries(&mut self) -> Vec<Entry> {
        let new = self.state.log.get(self.state.told..).unwrap_or_default().to_vec();
        self.state.told = self.state.log.len();
        new
    }

    /// What is to be done next; the same answer until its result is fed.
    pub fn step(&mut self, now: Timestamp) -> Step {
        loop {
            let next = match &self.state.phase {
                Phase::Ready => self.next_turn(),
                Phase::Stumbled { attempt, error } => self.after_failure(*attempt, error, now),
                Phase::Calling { attempt, not_before, after } => {
                    return Step::CallModel(self.model_call(*attempt, *not_before, after.clone()));
                }
                Phase::Running { .. } => return Step::CallTools(self.hand_out()),
                Phase::Done { stop } => return Step::Done(self.outcome(stop.clone())),
            };
            self.state.phase = next;
        }
    }

    /// Feeds what came of a model call. An answer that nobody waits for any more, as
    /// after an interrupt, changes nothing (KERN-25).
    pub fn replied(&mut self, answer: Result<Reply, LlmError>) {
        let Phase::Calling { attempt, .. } = self.state.phase else { return };
        self.state.phase = match answer {
            Ok(reply) => self.take_reply(reply),
            Err(error) => Phase::Stumbled { attempt, error },
        };
    }

    /// Feeds what came of a batch, by position in it. A call that nothing is said
    /// about counts as unknown. A batch that nobody waits for any more changes nothing.
    pub fn ran(&mut self, settled: Vec<Settled>) {
        let Phase::Running { slots, .. } = &self.state.phase else { return };
        let mut reported = settled.into_iter();
        let results: Vec<CallResult> = slots
            .iter()
            .map(|slot| match &slot.state {
                SlotState::Decided { settled } => slot.result(settled.clone()),
                SlotState::Waiting { .. } => {
                    let settled = reported
                        .next()
                        .unwrap_or_else(|| Settled::unknown("nothing was reported of this call"));
                    slot.result(self.fit_to_limit(&slot.call.name, settled))
                }
            })
            .collect();
        self.state.phase = match finish::after_calls(&results, &self.tools) {
            Some(stop) => Phase::Done { stop },
            None => Phase::Ready,
        };
        self.state.log.push(Entry::Results { results });
    }

    /// Queues input, which is taken up at the next boundary (CHAT-11).
    pub fn steer(&mut self, input: UserInput) {
        if !input.is_blank() {
            self.state.queue.push(input);
        }
    }

    /// Ends the step in flight: a model call appends nothing, a retry wait is over, a
    /// batch that was not fed is closed (KERN-25, KERN-26). What is queued continues
    /// the run; with nothing queued it ends as interrupted (KERN-27).
    pub fn interrupt(&mut self) {
        if matches!(self.state.phase, Phase::Done { .. }) {
            return;
        }
        self.close_batch();
        self.state.phase = Phase::Ready;
        self.state.interrupted = true;
    }

    /// Ends the run, whatever it is doing.
    pub fn abort(&mut self) {
        if matches!(self.state.phase, Phase::Done { .. }) {
            return;
        }
        self.close_batch();
        self.state.phase = Phase::Done { stop: Stop::Aborted };
    }

    /// The boundary between two turns: end here, or ask the model once more.
    fn next_turn(&mut self) -> Phase {
        let interrupted = std::mem::take(&mut self.state.interrupted);
        if self.state.queue.is_empty() {
            if interrupted {
                return Phase::Done { stop: Stop::Interrupted };
            }
            if let Some(stop) = finish::check(self.state.log.last()) {
                return Phase::Done { stop };
            }
        }
        if let Some(stop) = self.state.settings.limits.check(self.state.turns, self.state.usage) {
            return Phase::Done { stop };
        }
        // Only now: input that no model call would take up stays queued for the next run.
        let queued = self.state.queue.drain(..).map(|input| Entry::User { input });
        self.state.log.extend(queued);
        Phase::Calling { attempt: 0, not_before: None, after: None }
    }

    fn after_failure(&self, attempt: u32, error: &LlmError, now: Timestamp) -> Phase {
        let tries = Tries { retries_made: attempt, seed: self.retry_seed() };
        match self.state.settings.ladder.next(error, tries, now) {
            Next::Wait { until } => Phase::Calling {
                attempt: attempt.saturating_add(1),
                not_before: Some(until),
                after: Some(error.clone()),
            },
            Next::Halt => Phase::Done { stop: finish::after_error(error) },
        }
    }

    fn take_reply(&mut self, reply: Reply) -> Phase {
        self.state.turns = self.state.turns.saturating_add(1);
        self.state.usage.add(reply.usage);
        let slots: Vec<Slot> = reply.calls.iter().map(|call| self.judge(&reply, call)).collect();
        let refusal = finish::refusal(&reply);
        self.state.log.push(Entry::Assistant { reply });
        if slots.iter().any(Slot::is_waiting) {
            return Phase::Running { slots, handed_out: false };
        }
        if !slots.is_empty() {
            let results = slots.iter().filter_map(Slot::decided).collect();
            self.state.log.push(Entry::Results { results });
        }
        match refusal {
            Some(text) => Phase::Done { stop: Stop::Failed(Failure::Refused(text)) },
            None => Phase::Ready,
        }
    }

    /// A call walks parse, known, schema; what fails there is answered without running.
    fn judge(&self, reply: &Reply, call: &ToolCall) -> Slot {
        let verdict = cut_off::arguments(&reply.stop, call).and_then(|arguments| {
            permit::check(&self.tools, &call.name, &arguments).map(|()| arguments)
        });
        let state = match verdict {
            Ok(arguments) => SlotState::Waiting { arguments },
            Err(reason) => SlotState::Decided { settled: Settled::not_run(reason) },
        };
        Slot { call: call.clone(), state }
    }

    fn fit_to_limit(&self, tool: &str, settled: Settled) -> Settled {
        match self.tools.get(tool) {
            Some(tool) => truncate::settled(settled, tool.limit_bytes, tool.form),
            None => settled,
        }
    }

    /// Every exit leaves each call with its result (KERN-24). What nobody was asked to
    /// run was not run; of the rest nothing is known.
    fn close_batch(&mut self) {
        if let Phase::Running { slots, handed_out } = &self.state.phase {
            let closed = if *handed_out {
                Settled::unknown("the step was stopped while this call was out")
            } else {
                Settled::not_run("the step was stopped before this call began")
            };
            let waiting = slots.iter().filter(|slot| slot.is_waiting()).count();
            self.ran(vec![closed; waiting]);
        }
    }

    fn refuse_calls_of_missing_tools(&mut self) {
        let Phase::Running { slots, .. } = &mut self.state.phase else { return };
        for slot in slots.iter_mut().filter(|slot| slot.is_waiting()) {
            if let Err(reason) = permit::known(&self.tools, &slot.call.name) {
                slot.state = SlotState::Decided { settled: Settled::not_run(reason) };
            }
        }
        if !slots.iter().any(Slot::is_waiting) {
            self.ran(Vec::new());
        }
    }

    fn model_call(
        &self,
        attempt: u32,
        not_before: Option<Timestamp>,
        after: Option<LlmError>,
    ) -> ModelCall {
        let seen = view(&self.state.log, self.state.began);
        debug_assert_eq!(view::violations(&seen), [], "a request of our own making breaks a rule");
        let settings = &self.state.settings;
        let request = Request {
            model: settings.model.clone(),
            system: settings.system.clone(),
            messages: seen.messages,
            tools: self.tools.specs(),
            tool_choice: ToolChoice::Auto,
            max_output_tokens: settings.max_output_tokens,
            temperature: settings.temperature,
            reasoning_effort: settings.reasoning_effort.clone(),
            thinking_budget: settings.thinking_budget,
        };
        let turn = self.state.turns.saturating_add(1);
        ModelCall { request, turn, attempt, not_before, after }
    }

    fn hand_out(&mut self) -> Batch {
        let mut calls = Vec::new();
        if let Phase::Running { slots, handed_out } = &mut self.state.phase {
            *handed_out = true;
            let waiting = slots.iter().enumerate();
            calls.extend(
                waiting.filter_map(|(position, slot)| slot.dispatch(position, &self.tools)),
            );
        }
        Batch { turn: self.state.turns, calls }
    }

    fn outcome(&self, stop: Stop) -> Outcome {
        Outcome {
            entries: self.state.log.get(self.state.began..).unwrap_or_default().to_vec(),
            usage: self.state.usage,
            turns: self.state.turns,
            stop,
            left_over: self.state.queue.clone(),
        }
    }

    fn retry_seed(&self) -> u64 {
        self.state.settings.seed ^ u64::from(self.state.turns).rotate_left(32)
    }
}
