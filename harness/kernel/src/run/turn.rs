//! From the boundary between two turns to a reply: what is said to the model, whether it
//! fits, and what to do when the call fails.

use foundry_llm::{ErrorKind, LlmError, Reply, Request, ToolChoice};
use jiff::Timestamp;

use super::state::{Asks, Calling, Note, Phase};
use super::{Run, Settings};
use crate::entry::Entry;
use crate::outcome::{Failure, Stop};
use crate::policy::finish::{self, Wants};
use crate::policy::fit::{Fit, Prepared, Stage};
use crate::policy::interrupt::{self, Queued};
use crate::policy::ladder::{Effort, Next, Tries};
use crate::policy::{empty, fallback, repeat, structured};
use crate::rules;
use crate::step::{ModelCall, Purpose};
use crate::view::{self, view_of};

impl Run {
    /// The boundary between two turns: end here, or ask the model once more.
    pub(super) fn next_turn(&mut self) -> Phase {
        let queued = if self.state.queue.is_empty() { Queued::Nothing } else { Queued::Input };
        let was_interrupted = std::mem::take(&mut self.state.interrupted);
        if let Some(stop) = interrupt::at_boundary(was_interrupted, queued) {
            return Phase::Done { stop };
        }
        let next = match queued {
            Queued::Nothing => self.at_rest(),
            Queued::Input => finish::Next::GoOn,
        };
        if let finish::Next::End(stop) = next {
            return Phase::Done { stop };
        }
        if let Some(stop) = self.state.settings.limits.check(self.state.turns, self.state.usage) {
            return Phase::Done { stop };
        }
        // Only now: input that no model call would take up stays queued for the next run.
        self.take_up(&next);
        Phase::Fitting
    }

    /// What follows when nothing is queued.
    fn at_rest(&mut self) -> finish::Next {
        if self.overflowed_silently() {
            return finish::Next::GoOn;
        }
        let settings = &self.state.settings;
        let wants =
            if settings.output.is_some() { Wants::Value } else { Wants::Text(settings.empty) };
        finish::check(&self.state.said.log, wants, self.state.told, &self.tools)
    }

    /// Whether the last reply is an overflow that nobody spoke of. Where nothing was made
    /// smaller for the one before, a second would only bring a third.
    fn overflowed_silently(&mut self) -> bool {
        match self.state.said.log.as_slice() {
            [.., Entry::Assistant { .. }, Entry::Assistant { .. }] => false,
            _ => self.with_fit(|fit, conversation| fit.was_cut_silently(conversation)),
        }
    }

    /// Appends what is queued, or else what the run itself has to say.
    fn take_up(&mut self, next: &finish::Next) {
        let hint = self.state.hint.take();
        let own = match next {
            finish::Next::Nudge => {
                self.state.told.nudged = true;
                Some(structured::nudge())
            }
            finish::Next::AskAgain => {
                self.state.told.asked_again = true;
                Some(empty::question())
            }
            finish::Next::GoOn if self.state.queue.is_empty() => hint.as_deref().map(repeat::hint),
            finish::Next::GoOn | finish::Next::End(_) => None,
        };
        if !self.state.queue.is_empty() {
            self.state.repeats.forget();
        }
        let queued = self.state.queue.drain(..).chain(own);
        self.state.said.log.extend(queued.map(|input| Entry::User { input }));
    }

    /// Shortens what is shown to the model until it fits, then asks (KERN-05).
    pub(super) fn make_fit(&mut self) -> Phase {
        if let Some(stop) = self.state.settings.limits.check(self.state.turns, self.state.usage) {
            return Phase::Done { stop }; // a summary may have spent the last tokens
        }
        match self.with_fit(Fit::prepare) {
            Prepared::Fits => {
                self.state.news.percent = Some(self.state.fit.percent_prepared());
                Phase::Calling { call: Calling::first(Asks::Turn) }
            }
            Prepared::Append(entry) => {
                let stage = match &entry {
                    Entry::Stubs { .. } => Stage::Micro,
                    Entry::Fold { .. }
                    | Entry::User { .. }
                    | Entry::Assistant { .. }
                    | Entry::Results { .. } => Stage::Structural,
                };
                self.compact(stage, entry);
                Phase::Fitting
            }
            Prepared::Summarise { covers, messages } => {
                Phase::Calling { call: Calling::first(Asks::Summary { covers, messages }) }
            }
            Prepared::TooSmall { needed, window } => {
                let stop = Stop::Failed(Failure::ContextTooSmall { needed, window });
                Phase::Done { stop }
            }
        }
    }

    /// Takes a summary, or why there is none; what follows is for the window's policy.
    pub(super) fn take_summary(
        &mut self,
        covers: usize,
        answer: Result<&Reply, &LlmError>,
    ) -> Phase {
        if let Ok(reply) = answer {
            self.state.usage.add(reply.usage);
        }
        let fold = self.with_fit(|fit, conversation| fit.summarised(covers, answer, conversation));
        if let Some(fold) = fold {
            self.compact(Stage::Summary, fold);
        }
        Phase::Fitting
    }

    fn compact(&mut self, stage: Stage, entry: Entry) {
        let before_tokens = self.with_fit(|fit, conversation| fit.tokens(conversation));
        self.state.said.log.push(entry);
        let after_tokens = self.with_fit(|fit, conversation| fit.tokens(conversation));
        let note = Note::Compacted { stage, before_tokens, after_tokens };
        self.state.news.notes.push(note);
    }

    pub(super) fn after_failure(
        &mut self,
        call: Calling,
        error: LlmError,
        now: Timestamp,
    ) -> Phase {
        if error.kind == ErrorKind::Overflow && call.asks == Asks::Turn {
            self.state.fit.overflowed(&error); // no retry: the next request is another one
            return Phase::Fitting;
        }
        let tries = Tries {
            retries_made: call.attempt,
            without_completion: call.without_completion,
            seed: self.retry_seed(),
            since: *self.state.failing_since.get_or_insert(now),
        };
        let stands_by = self.state.settings.fallback_model.is_some() && !self.state.fell_back;
        let ladder = fallback::ladder(self.state.settings.ladder, stands_by);
        let (until, effort) = match ladder.next(&error, tries, now) {
            Next::Wait { until, effort } => (until, effort),
            Next::Halt => return self.given_up(&call.asks, error),
        };
        let without_completion = u32::from(error.kind == ErrorKind::NoCompletion);
        let effort = match (call.effort, effort) {
            (Effort::AsSet, Effort::AsSet) => Effort::AsSet,
            (Effort::Dropped, _) | (_, Effort::Dropped) => Effort::Dropped,
        };
        let call = Calling {
            asks: call.asks,
            attempt: call.attempt.saturating_add(1),
            without_completion: call.without_completion.saturating_add(without_completion),
            effort,
            not_before: Some(until),
            after: Some(error),
        };
        Phase::Calling { call }
    }

    /// No retry is left: a summary is gone without, a turn has one more model perhaps.
    fn given_up(&mut self, asks: &Asks, error: LlmError) -> Phase {
        let stop = finish::after_error(&error);
        if matches!(stop, Stop::Budget { .. }) {
            return Phase::Done { stop };
        }
        if let Asks::Summary { covers, messages: _ } = asks {
            return self.take_summary(*covers, Err(&error));
        }
        let fallback = self.state.settings.fallback_model.as_deref();
        let Some(to) = fallback::takes_over(&error, fallback, self.state.fell_back) else {
            return Phase::Done { stop };
        };
        let (from, to) = (self.state.model().to_owned(), to.to_owned());
        self.state.news.notes.push(Note::Fallback { from, to, error });
        self.state.fell_back = true;
        // Its signatures are the other model's (KERN-40).
        self.state.said.thinking_from = self.state.said.log.len();
        // The retries are its own, the clock is the turn's.
        Phase::Calling { call: Calling::first(Asks::Turn) }
    }

    pub(super) fn model_call(&self, call: &Calling) -> ModelCall {
        let (purpose, messages, tool_choice) = match &call.asks {
            Asks::Turn => (Purpose::Turn, self.messages(), ToolChoice::Auto),
            // The rest is as in a turn, so that the provider's cache holds.
            Asks::Summary { covers: _, messages } => {
                (Purpose::Summary, messages.clone(), ToolChoice::None)
            }
        };
        let settings = &self.state.settings;
        let (reasoning_effort, thinking_budget) = self.reasoning(settings, call.effort);
        let request = Request {
            model: self.state.model().to_owned(),
            system: settings.system.clone(),
            messages,
            tools: self.tools.specs(&self.state.activated),
            tool_choice,
            max_output_tokens: settings.max_output_tokens,
            temperature: settings.temperature,
            reasoning_effort,
            thinking_budget,
        };
        ModelCall {
            request,
            purpose,
            turn: self.state.turns.saturating_add(1),
            attempt: call.attempt,
            not_before: call.not_before,
            after: call.after.clone(),
        }
    }

    fn messages(&self) -> Vec<foundry_llm::Message> {
        let (state, tools) = (&self.state, &self.tools);
        let stays = |name: &str| tools.stays(name);
        let tool_bytes = 0; // what is shown does not depend on them
        let seen = view_of(&state.said.conversation(&state.settings, tool_bytes, &stays));
        debug_assert_eq!(view::violations(&seen), [], "a request of our own making breaks a rule");
        debug_assert!(
            !seen.repaired.iter().any(|found| rules::is_our_own(found, state.said.began)),
            "what this run wrote had to be repaired: {:?}",
            seen.repaired
        );
        seen.messages
    }

    /// Level and budget are the first model's: another may know neither, and takes no
    /// thinking in the middle of a tool loop that began without it.
    fn reasoning(&self, settings: &Settings, effort: Effort) -> (Option<String>, Option<u32>) {
        if self.state.fell_back {
            return (None, None);
        }
        match effort {
            Effort::AsSet => (settings.reasoning_effort.clone(), settings.thinking_budget),
            Effort::Dropped => (None, settings.thinking_budget), // CODE-43
        }
    }

    fn retry_seed(&self) -> u64 {
        self.state.settings.seed ^ u64::from(self.state.turns).rotate_left(32)
    }
}
