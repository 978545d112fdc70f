//! One run of the kernel for this agent, and what is kept of it.

use std::sync::Arc;
use std::time::Duration;

use foundry_client::{LogLevel, ModelView, RunRecord};
use foundry_kernel::{
    Failure, Ladder, Limits, Outcome, Repeat, Run, RunOptions, Settings, Stop, UserInput, drive,
};
use foundry_llm::{ErrorKind, LlmError};
use foundry_platform::events::kind;
use foundry_platform::gate::{Blocked, CLOSED_FOR};
use foundry_platform::relay;
use foundry_platform::tell::{self, Means};
use jiff::Timestamp;
use uuid::Uuid;

use crate::agent::{Agent, Ready};
use crate::tell::Teller;
use crate::working_set::{Cycle, Lookup};

/// Fewest model turns of a cycle (LOOP-05).
const FEWEST_TURNS: u32 = 10;
/// So often in a row a call may bring the same before its cycle is ended over it: not
/// within the turns that every cycle has (LOOP-05), whose end is the usual one (LOOP-06).
const HALT_AFTER: u32 = FEWEST_TURNS + 2;
/// The longest a provider's pacing holds up the next cycle.
const LONGEST_PACING: Duration = Duration::from_hours(1);
/// How long a spent budget holds up the next cycle.
const BUDGET_PACING: Duration = Duration::from_mins(5);

/// What a run is for.
pub(crate) struct Purpose {
    /// As the cycle log names it: `evaluation 3 of start 2`.
    pub what: String,
    /// As the run record names it: `evaluation` or `wake`.
    pub reason: &'static str,
    /// The user turn.
    pub input: String,
}

/// What came of a run.
pub(crate) struct Thought {
    pub record: RunRecord,
    /// Whether the model called any tool; a research checkpoint will not count (LOOP-17).
    pub called_a_tool: bool,
    pub ending: Ending,
}

/// Whether what a run was for is done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The model had its say.
    Settled,
    /// It did not, and asking again may go better with nothing changed.
    MayPass,
    /// It did not, and something must change first: the input, or the model.
    Refused,
}

impl Agent {
    /// Runs the loop once; `None` when it could not be assembled (LOOP-29).
    pub(crate) async fn think(&self, ready: &Ready, purpose: Purpose) -> Option<Thought> {
        let Purpose { what, reason, input } = purpose;
        let id = Uuid::now_v7();
        let started_at = self.clock.now();
        let options = RunOptions {
            settings: self.settings(ready, id),
            history: Vec::new(),
            input: UserInput::from(input),
            tools: ready.tools.clone(),
        };
        let mut run = match Run::new(options) {
            Ok(run) => run,
            Err(error) => {
                self.block(&ready.agent, &error.to_string());
                return None;
            }
        };
        self.open_gate(&ready.agent);
        let means = Means {
            broker: self.broker.clone(),
            route: ready.route.clone(),
            fallback: None,
            clock: self.clock.clone(),
            lines: Arc::new(self.log.clone()),
            vitals: self.vitals.clone(),
        };
        let mut teller = Teller::new(means, id, &self.stop);
        let outcome = drive(&mut run, &mut teller).await;
        let model = judge(&outcome.stop, ready.model.as_ref());
        self.follow(ready, &outcome.stop, model, &teller);
        let lookups = teller.finish(&outcome);
        let thought = Thought {
            record: record(id, reason, (started_at, self.clock.now()), &outcome, model),
            called_a_tool: !lookups.is_empty(),
            ending: ending(&outcome.stop, model),
        };
        self.keep(what, started_at, &outcome, lookups);
        Some(thought)
    }

    /// What an end that is no good means for the next cycle: it is told, and delays that
    /// as far as the provider, a budget or an unusable model asks for it.
    fn follow(&self, ready: &Ready, stop: &Stop, model: Model, teller: &Teller) {
        match stop {
            Stop::Failed(failure) => {
                let reason = tell::failed(failure);
                if model == Model::Unusable {
                    self.tell_unusable(ready, &reason, teller);
                    return;
                }
                teller.line(kind::ERROR, LogLevel::Error, &reason);
                if let Failure::Model(error) = failure
                    && let Some(pacing) = error.retry_after.filter(|pacing| !pacing.is_zero())
                {
                    let reason = format!("the provider asks to wait: {error}");
                    self.close_gate(&ready.agent, &reason, pacing.min(LONGEST_PACING));
                }
            }
            Stop::Budget { reason } => {
                let reason = format!("a budget is spent: {reason}");
                self.close_gate(&ready.agent, &reason, BUDGET_PACING);
            }
            Stop::EndTurn | Stop::MaxTurns => self.mind().models.open(),
            Stop::Aborted | Stop::Interrupted => {}
        }
    }

    /// The reason is the turn's answer, and is said once and not in each cycle (BIND-10).
    fn tell_unusable(&self, ready: &Ready, reason: &str, teller: &Teller) {
        match self.close_models(ready, reason) {
            Blocked::New => {
                let seconds = CLOSED_FOR.as_secs();
                let line = format!(
                    "{reason}; no cycle for {seconds} s unless the agent or its model changes"
                );
                teller.line(kind::ERROR, LogLevel::Error, &line);
            }
            Blocked::Unchanged => {}
        }
    }

    /// Adds the cycle to the working set (LOOP-10).
    fn keep(&self, what: String, at: Timestamp, outcome: &Outcome, lookups: Vec<Lookup>) {
        let conclusion = match &outcome.stop {
            Stop::EndTurn => outcome.text().unwrap_or("nothing further").to_owned(),
            Stop::MaxTurns => "cut off by the limit of turns; not finished".to_owned(),
            Stop::Budget { .. } | Stop::Aborted | Stop::Interrupted | Stop::Failed(_) => {
                outcome.answer()
            }
        };
        self.mind().cycles.push(&Cycle { at, what, lookups, conclusion });
    }

    fn settings(&self, ready: &Ready, id: Uuid) -> Settings {
        let mut settings = Settings::new(&ready.agent.model, &ready.system);
        let max_turns = max_turns(ready.agent.max_turns);
        settings.limits = Limits { max_turns, ..Limits::default() };
        settings.ladder = Ladder::agent();
        settings.repeat = Repeat { halt_after: HALT_AFTER, ..Repeat::default() };
        settings.context_window = ready.route.window(self.model.context_tokens); // CODE-39
        settings.max_output_tokens = relay::output_cap(settings.context_window);
        settings.reasoning_effort = ready.effort.sent().map(str::to_owned);
        settings.seed = id.as_u64_pair().1;
        settings
    }
}

/// What a run has shown of the agent's model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    /// Nothing that speaks against it.
    Usable,
    /// It cannot be used until somebody changes something (BIND-10).
    Unusable,
}

fn judge(stop: &Stop, row: Option<&ModelView>) -> Model {
    match stop {
        Stop::Failed(Failure::Model(error)) if is_of_the_model(error, row) => Model::Unusable,
        Stop::Failed(_)
        | Stop::EndTurn
        | Stop::MaxTurns
        | Stop::Budget { .. }
        | Stop::Aborted
        | Stop::Interrupted => Model::Usable,
    }
}

/// There is no such Model, its provider refuses the key, or the catalog says that what it
/// refers to is not there.
fn is_of_the_model(error: &LlmError, row: Option<&ModelView>) -> bool {
    error.status == Some(404)
        || error.kind == ErrorKind::Auth
        || row.is_some_and(|model| !model.ready)
}

/// The agent's turns, ten at least (LOOP-05).
fn max_turns(given: i64) -> u32 {
    u32::try_from(given).unwrap_or(if given < 0 { 0 } else { u32::MAX }).max(FEWEST_TURNS)
}

fn record(
    id: Uuid,
    reason: &str,
    (started_at, finished_at): (Timestamp, Timestamp),
    outcome: &Outcome,
    model: Model,
) -> RunRecord {
    let usage = outcome.usage;
    let ended = match model {
        Model::Unusable => "no_usable_model",
        Model::Usable => name(&outcome.stop),
    };
    RunRecord {
        id,
        wake_id: None,
        reason: reason.to_owned(),
        started_at,
        finished_at,
        turns: outcome.turns,
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        outcome: ended.to_owned(),
    }
}

fn name(stop: &Stop) -> &'static str {
    match stop {
        Stop::EndTurn => "end_turn",
        Stop::MaxTurns => "max_turns",
        Stop::Budget { .. } => "budget",
        Stop::Aborted => "aborted",
        Stop::Interrupted => "interrupted",
        Stop::Failed(_) => "failed",
    }
}

fn ending(stop: &Stop, model: Model) -> Ending {
    if model == Model::Unusable {
        return Ending::MayPass;
    }
    match stop {
        Stop::EndTurn | Stop::MaxTurns => Ending::Settled,
        Stop::Budget { .. } | Stop::Aborted | Stop::Interrupted => Ending::MayPass,
        // Each may go better with other input: the cycle log, for one, moves on.
        Stop::Failed(
            Failure::Refused(_)
            | Failure::ContextTooSmall { .. }
            | Failure::Empty
            | Failure::Repeating { .. }
            | Failure::NoOutput,
        ) => Ending::Refused,
        Stop::Failed(Failure::Model(error)) => match error.kind {
            ErrorKind::Overflow
            | ErrorKind::BadRequest
            | ErrorKind::Dialect
            | ErrorKind::Refused => Ending::Refused,
            ErrorKind::Limited
            | ErrorKind::Overloaded
            | ErrorKind::Server
            | ErrorKind::Network
            | ErrorKind::Stalled
            | ErrorKind::Broken
            | ErrorKind::NoCompletion
            | ErrorKind::Auth
            | ErrorKind::Budget => Ending::MayPass,
        },
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// LOOP-05
    #[rstest]
    #[case(0, 10)]
    #[case(-5, 10)]
    #[case(9, 10)]
    #[case(10, 10)]
    #[case(11, 11)]
    #[case(250, 250)]
    #[case(i64::MAX, u32::MAX)]
    fn max_turns_cannot_go_below_ten_and_a_higher_value_is_kept(
        #[case] given: i64,
        #[case] kept: u32,
    ) {
        assert_eq!(max_turns(given), kept);
    }
}
