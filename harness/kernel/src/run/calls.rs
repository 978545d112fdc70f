//! From a reply to the results of its calls.

use foundry_llm::{Reply, ToolCall};
use serde_json::Value;

use super::Run;
use super::state::{Phase, Slot, SlotState};
use crate::entry::{CallResult, Entry, Settled};
use crate::outcome::{Failure, Stop};
use crate::policy::interrupt::{self, Closing, Fate};
use crate::policy::permit::{self, Judged};
use crate::policy::repeat::Found;
use crate::policy::{cut_off, empty, finish, truncate};
use crate::step::Batch;
use crate::tool::Effect;

/// What the model reads when it has submitted the value of the run.
const ACCEPTED: &str = "accepted; the run ends with it";

/// Why nobody knows what came of a call of a run that was taken up elsewhere.
const LEFT_OUT: &str = "the run was stopped while this call was out, and went on elsewhere";

impl Run {
    /// Takes a reply; its calls are judged and, unless none is left to be run, handed out.
    pub(super) fn take_reply(&mut self, reply: Reply) -> Phase {
        let usage = reply.usage;
        self.state.turns = self.state.turns.saturating_add(1);
        self.state.failing_since = None;
        self.state.usage.add(usage);
        self.state.fit.replied(usage);
        if !empty::is_empty(&reply) {
            self.state.told.asked_again = false;
        }
        let slots = self.judge_all(&reply);
        let refusal = finish::refusal(&reply);
        let entry = Entry::Assistant { reply };
        self.state.news.percent = Some(self.state.fit.percent_with(&entry)); // CODE-40
        self.state.said.log.push(entry);
        let next = if slots.iter().any(Slot::is_waiting) {
            Phase::Running { slots, handed_out: false }
        } else {
            self.settle(&slots, Vec::new())
        };
        match refusal {
            Some(text) => Phase::Done { stop: Stop::Failed(Failure::Refused(text)) },
            None => next,
        }
    }

    /// Judges calls in their order; what comes after a submitted value is not run.
    fn judge_all(&mut self, reply: &Reply) -> Vec<Slot> {
        let mut is_over = false;
        let judge = |call: &ToolCall| {
            let state = if is_over {
                let settled = interrupt::closed(Fate::NotStarted, Closing::RunEnded);
                SlotState::Decided { settled }
            } else {
                self.judge(reply, call)
            };
            is_over |= matches!(state, SlotState::Submitted { .. });
            Slot { call: call.clone(), state }
        };
        reply.calls.iter().map(judge).collect()
    }

    /// A call walks parse, known, schema; what fails there is answered without running.
    fn judge(&mut self, reply: &Reply, call: &ToolCall) -> SlotState {
        let arguments = match cut_off::arguments(&reply.stop, call) {
            Ok(arguments) => arguments,
            Err(reason) => return SlotState::Decided { settled: Settled::not_run(reason) },
        };
        match permit::judge(&self.tools, &mut self.state.activated, &call.name, arguments) {
            Judged::Run(arguments) => SlotState::Waiting { arguments },
            Judged::Answered(settled) => SlotState::Decided { settled },
            Judged::Submitted { value } => SlotState::Submitted { value },
        }
    }

    /// The calls of the reply that are to be run.
    pub(super) fn hand_out(&mut self) -> Batch {
        let mut calls = Vec::new();
        if let Phase::Running { slots, handed_out } = &mut self.state.phase {
            *handed_out = true;
            let waiting = slots.iter().enumerate();
            calls.extend(
                waiting.filter_map(|(position, slot)| slot.dispatch(position, &self.tools)),
            );
        }
        let settings = &self.state.settings;
        Batch {
            turn: self.state.turns,
            mode: settings.mode,
            remaining_tokens: settings.limits.remaining(self.state.usage),
            calls,
        }
    }

    /// Feeds what came of a batch, by position in it. A call that nothing is said
    /// about counts as unknown. A batch that nobody waits for any more changes nothing.
    pub fn ran(&mut self, settled: Vec<Settled>) {
        if let Phase::Running { slots, .. } = &mut self.state.phase {
            let slots = std::mem::take(slots);
            self.state.phase = self.settle(&slots, settled);
        }
    }

    /// Appends the results of a batch, and says where the run goes from there.
    fn settle(&mut self, slots: &[Slot], reported: Vec<Settled>) -> Phase {
        if slots.is_empty() {
            return Phase::Ready;
        }
        let (results, submitted) = self.results(slots, reported);
        let next = if let Some(value) = submitted {
            self.state.output = Some(value);
            Phase::Done { stop: Stop::EndTurn }
        } else if let Some(stop) = finish::after_calls(&results, &self.tools) {
            Phase::Done { stop }
        } else {
            self.look_for_circles(slots, &results)
        };
        self.state.said.log.push(Entry::Results { results });
        next
    }

    /// One result for each call, and the value that was submitted, if it was: not when a
    /// call before it was never run or is unknown, for the model counted on it.
    fn results(&self, slots: &[Slot], reported: Vec<Settled>) -> (Vec<CallResult>, Option<Value>) {
        let mut reported = reported.into_iter();
        let (mut is_sound, mut submitted) = (true, None);
        let results = slots.iter().map(|slot| match &slot.state {
            SlotState::Decided { settled } => slot.result(settled.clone()),
            SlotState::Waiting { .. } => {
                let silent = || Settled::unknown("nothing was reported of this call");
                let settled = reported.next().unwrap_or_else(silent);
                is_sound &= match &settled {
                    Settled::Output { .. } | Settled::Failed { .. } => true,
                    Settled::Unknown { .. } | Settled::NotRun { .. } => false,
                };
                slot.result(self.fit_to_limit(&slot.call.name, settled))
            }
            SlotState::Submitted { value } if is_sound => {
                submitted = Some(value.clone());
                slot.result(Settled::output(ACCEPTED))
            }
            SlotState::Submitted { .. } => slot.result(Settled::not_run(
                "a call before it was not carried through; submit again when that is settled",
            )),
        });
        (results.collect(), submitted)
    }

    /// Whether the model goes round in a circle. Input that waits may lead out of it.
    fn look_for_circles(&mut self, slots: &[Slot], results: &[CallResult]) -> Phase {
        if !self.state.queue.is_empty() {
            return Phase::Ready;
        }
        let calls = slots.iter().map(|slot| &slot.call);
        match self.state.repeats.settled(calls, results, self.state.settings.repeat) {
            Found::Progress => Phase::Ready,
            Found::Hint(what) => {
                self.state.hint = Some(what);
                Phase::Ready
            }
            Found::Halt(what) => Phase::Done { stop: Stop::Failed(Failure::Repeating { what }) },
        }
    }

    fn fit_to_limit(&self, tool: &str, settled: Settled) -> Settled {
        match self.tools.get(tool) {
            Some(tool) => truncate::settled(settled, tool),
            None => settled,
        }
    }

    /// Every exit leaves each call with its result (KERN-24). What nobody was asked to
    /// run was not run; of the rest nothing is known.
    pub(super) fn close_batch(&mut self) {
        if let Phase::Running { slots, handed_out } = &self.state.phase {
            let fate = if *handed_out { Fate::Running } else { Fate::NotStarted };
            let closed = interrupt::closed(fate, Closing::StepStopped);
            let waiting = slots.iter().filter(|slot| slot.is_waiting()).count();
            self.ran(vec![closed; waiting]);
        }
    }

    /// Answers what cannot be run again of a stored batch: writes that were out, and calls
    /// whose tools are gone.
    pub(super) fn settle_what_was_out(&mut self) {
        let Phase::Running { slots, handed_out } = &mut self.state.phase else { return };
        for slot in slots.iter_mut().filter(|slot| slot.is_waiting()) {
            let known = permit::known(&self.tools, &self.state.activated, &slot.call.name);
            let settled = match (known.map(|tool| tool.effect), *handed_out) {
                (Ok(Effect::Read), _) | (Ok(Effect::Write), false) => continue,
                (Err(reason), false) => Settled::not_run(reason),
                (Ok(Effect::Write) | Err(_), true) => Settled::unknown(LEFT_OUT),
            };
            slot.state = SlotState::Decided { settled };
        }
        if !slots.iter().any(Slot::is_waiting) {
            self.ran(Vec::new());
        }
    }
}
