//! The run: decides what comes next, and never waits for it.

mod calls;
mod settings;
mod state;
#[cfg(test)]
mod tests;
mod turn;

use std::sync::Arc;

use foundry_llm::{LlmError, Reply, Usage};
use jiff::Timestamp;

use crate::entry::{Entry, UserInput};
use crate::outcome::{Outcome, Stop};
use crate::policy::fit::Fit;
use crate::policy::interrupt::{self, Goes, Signal};
use crate::policy::permit::Mode;
use crate::step::Step;
use crate::tool::{AssembleError, Tool, Toolbox};
use crate::view::{self, Conversation, view};

pub use settings::{RunOptions, Settings};
pub(crate) use state::Note;
pub use state::RunState;
use state::{Asks, Phase};

/// One run of the loop. See the crate's documentation.
#[derive(Clone, Debug)]
pub struct Run {
    state: RunState,
    tools: Toolbox,
    /// How many tools were found when this was measured, and the bytes of all in sight.
    tool_bytes: Option<(usize, u64)>,
}

impl Run {
    /// Assembles a run. Fails before anything is asked of a model when a tool could
    /// not be called (LOOP-29) or the history could not be sent.
    pub fn new(options: RunOptions) -> Result<Self, AssembleError> {
        let RunOptions { settings, history, input, tools } = options;
        let tools = Toolbox::assemble(tools, settings.output.as_ref())?;
        if input.is_blank() {
            return Err(AssembleError::EmptyInput);
        }
        let state = RunState::begin(settings, history, input);
        let seen = view(&state.said.log, state.said.began);
        if !seen.starts_with_user() {
            return Err(AssembleError::HistoryStart);
        }
        view::report_repairs(&seen.repaired);
        Ok(Self { state, tools, tool_bytes: None })
    }

    /// Takes up a stored run with the tools of today. Of a batch that was out when it was
    /// stored, reads are handed out again; writes may have run already, so their outcome is
    /// unknown (KERN-26). A call whose tool is gone is answered.
    pub fn resume(state: RunState, tools: Vec<Arc<Tool>>) -> Result<Self, AssembleError> {
        let tools = Toolbox::assemble(tools, state.settings.output.as_ref())?;
        let mut run = Self { state, tools, tool_bytes: None };
        run.settle_what_was_out();
        Ok(run)
    }

    /// The run without its executors, to be stored.
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// Model replies so far; summaries are none.
    pub fn turns(&self) -> u32 {
        self.state.turns
    }

    /// Everything said so far, the history before this run included.
    pub fn log(&self) -> &[Entry] {
        &self.state.said.log
    }

    /// The entries that were appended since this was last asked, to be stored and shown.
    pub fn take_new_entries(&mut self) -> Vec<Entry> {
        let told = &mut self.state.news.entries_told;
        let new = self.state.said.log.get(*told..).unwrap_or_default().to_vec();
        *told = self.state.said.log.len();
        new
    }

    /// What else is to be told since this was last asked.
    pub(crate) fn take_notes(&mut self) -> Vec<Note> {
        let news = &mut self.state.news;
        let mut notes = std::mem::take(&mut news.notes);
        if let Some(percent) = news.percent
            && news.percent_told != news.percent
        {
            news.percent_told = news.percent;
            notes.push(Note::Context { percent });
        }
        notes
    }

    /// What is to be done next; the same answer until its result is fed.
    pub fn step(&mut self, now: Timestamp) -> Step {
        loop {
            let next = match &self.state.phase {
                Phase::Ready => self.next_turn(),
                Phase::Fitting => self.make_fit(),
                Phase::Stumbled { call, error } => {
                    let (call, error) = (call.clone(), error.clone());
                    self.after_failure(call, error, now)
                }
                Phase::Calling { call } => return Step::CallModel(self.model_call(call)),
                Phase::Running { .. } => return Step::CallTools(self.hand_out()),
                Phase::Done { stop } => return Step::Done(self.outcome(stop.clone())),
            };
            self.state.phase = next;
        }
    }

    /// Feeds what came of a model call. An answer that nobody waits for any more, as
    /// after an interrupt, changes nothing (KERN-25).
    pub fn replied(&mut self, answer: Result<Reply, LlmError>) {
        let call = match std::mem::replace(&mut self.state.phase, Phase::Fitting) {
            Phase::Calling { call } => call,
            other => {
                self.state.phase = other;
                return;
            }
        };
        self.state.phase = match (answer, call.asks) {
            (Ok(reply), Asks::Turn) => self.take_reply(reply),
            (Ok(reply), Asks::Summary { covers, messages: _ }) => {
                self.take_summary(covers, Ok(&reply))
            }
            (Err(error), asks @ (Asks::Turn | Asks::Summary { .. })) => {
                Phase::Stumbled { call: state::Calling { asks, ..call }, error }
            }
        };
    }

    /// Counts tokens that tools spent on models of their own, as a sub-agent does
    /// (KERN-30). They count against the run's limits.
    pub fn spent(&mut self, usage: Usage) {
        self.state.usage.add(usage);
    }

    /// Queues input, which is taken up at the next boundary (CHAT-11).
    pub fn steer(&mut self, input: UserInput) {
        if !input.is_blank() {
            self.state.queue.push(input);
        }
    }

    /// Changes which calls need leave, from the next batch on (CHAT-19).
    pub fn set_mode(&mut self, mode: Mode) {
        self.state.settings.mode = mode;
    }

    /// Ends the step in flight: a model call appends nothing, a retry wait is over, a
    /// batch that was not fed is closed (KERN-25, KERN-26). What is queued continues
    /// the run; with nothing queued it ends as interrupted (KERN-27).
    pub fn interrupt(&mut self) {
        self.obey(Signal::Interrupt);
    }

    /// Ends the run, whatever it is doing.
    pub fn abort(&mut self) {
        self.obey(Signal::Abort);
    }

    fn obey(&mut self, signal: Signal) {
        let goes = interrupt::obey(signal, self.state.phase.at());
        if goes != Goes::Stays {
            self.state.failing_since = None;
            self.close_batch();
        }
        match goes {
            Goes::Stays => {}
            Goes::ToBoundary => {
                self.state.interrupted = true;
                self.state.phase = Phase::Ready;
            }
            Goes::Ends(stop) => self.state.phase = Phase::Done { stop },
        }
    }

    fn outcome(&self, stop: Stop) -> Outcome {
        let said = &self.state.said;
        Outcome {
            entries: said.log.get(said.began..).unwrap_or_default().to_vec(),
            usage: self.state.usage,
            turns: self.state.turns,
            stop,
            left_over: self.state.queue.clone(),
            output: self.state.output.clone(),
        }
    }

    /// Lets the policy of the window look at the conversation.
    fn with_fit<T>(&mut self, ask: impl FnOnce(&mut Fit, &Conversation<'_>) -> T) -> T {
        let Self { state, tools, tool_bytes } = self;
        let stays = |name: &str| tools.stays(name);
        let found = state.activated.len();
        let tool_bytes = match tool_bytes.filter(|(measured, _)| *measured == found) {
            Some((_, bytes)) => bytes,
            None => tool_bytes.insert((found, tools.spec_bytes(&state.activated))).1,
        };
        let conversation = state.said.conversation(&state.settings, tool_bytes, &stays);
        ask(&mut state.fit, &conversation)
    }
}
