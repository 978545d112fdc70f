//! One run of the kernel for this agent, and what is kept of it.

use std::sync::Arc;
use std::time::Duration;

use foundry_client::RunRecord;
use foundry_kernel::{
    Failure, Ladder, Limits, Outcome, Run, RunOptions, Settings, Stop, UserInput, drive,
};
use foundry_llm::ErrorKind;
use foundry_platform::tell::Means;
use jiff::Timestamp;
use uuid::Uuid;

use crate::agent::{Agent, Ready};
use crate::tell::{Teller, Told};
use crate::working_set::Cycle;

/// Fewest model turns of a cycle (LOOP-05).
const FEWEST_TURNS: u32 = 10;
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
            settings: settings(ready, id),
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
        self.mind().gate.open();
        let means = Means {
            broker: self.broker.clone(),
            route: ready.route,
            clock: self.clock.clone(),
            lines: Arc::new(self.log.clone()),
        };
        let mut teller = Teller::new(means, id, &self.stop);
        let outcome = drive(&mut run, &mut teller).await;
        let told = teller.finish(&outcome);
        let thought = Thought {
            record: record(id, reason, (started_at, self.clock.now()), &outcome),
            called_a_tool: !told.lookups.is_empty(),
            ending: ending(&outcome.stop),
        };
        self.pace(ready, &outcome.stop);
        self.keep(what, started_at, &outcome, told);
        Some(thought)
    }

    /// Delays the next cycle as far as the provider or a budget asks for it.
    fn pace(&self, ready: &Ready, stop: &Stop) {
        match stop {
            Stop::Failed(Failure::Model(error)) => {
                if let Some(pacing) = error.retry_after.filter(|pacing| !pacing.is_zero()) {
                    let reason = format!("the provider asks to wait: {error}");
                    self.close_gate(&ready.agent, &reason, pacing.min(LONGEST_PACING));
                }
            }
            Stop::Budget { reason } => {
                let reason = format!("a budget is spent: {reason}");
                self.close_gate(&ready.agent, &reason, BUDGET_PACING);
            }
            Stop::EndTurn
            | Stop::MaxTurns
            | Stop::Aborted
            | Stop::Interrupted
            | Stop::Failed(Failure::Refused(_)) => {}
        }
    }

    /// Adds the cycle to the working set (LOOP-10).
    fn keep(&self, what: String, at: Timestamp, outcome: &Outcome, told: Told) {
        if let Some(percent) = told.context_percent {
            self.vitals.set_context_percent(percent);
        }
        let conclusion = match &outcome.stop {
            Stop::EndTurn => outcome.text().unwrap_or("nothing further").to_owned(),
            Stop::MaxTurns => "cut off by the limit of turns; not finished".to_owned(),
            Stop::Budget { .. } | Stop::Aborted | Stop::Interrupted | Stop::Failed(_) => {
                format!("{}; not finished", name(&outcome.stop))
            }
        };
        self.mind().cycles.push(&Cycle { at, what, lookups: told.lookups, conclusion });
    }
}

/// The agent's turns, ten at least (LOOP-05).
fn max_turns(given: i64) -> u32 {
    u32::try_from(given).unwrap_or(if given < 0 { 0 } else { u32::MAX }).max(FEWEST_TURNS)
}

fn settings(ready: &Ready, id: Uuid) -> Settings {
    let mut settings = Settings::new(&ready.agent.model, &ready.system);
    settings.limits = Limits { max_turns: max_turns(ready.agent.max_turns), ..Limits::default() };
    settings.ladder = Ladder::agent();
    settings.seed = id.as_u64_pair().1;
    settings
}

fn record(
    id: Uuid,
    reason: &str,
    (started_at, finished_at): (Timestamp, Timestamp),
    outcome: &Outcome,
) -> RunRecord {
    let usage = outcome.usage;
    RunRecord {
        id,
        wake_id: None,
        reason: reason.to_owned(),
        started_at,
        finished_at,
        turns: outcome.turns,
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        outcome: name(&outcome.stop).to_owned(),
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

fn ending(stop: &Stop) -> Ending {
    match stop {
        Stop::EndTurn | Stop::MaxTurns => Ending::Settled,
        Stop::Budget { .. } | Stop::Aborted | Stop::Interrupted => Ending::MayPass,
        Stop::Failed(Failure::Refused(_)) => Ending::Refused,
        Stop::Failed(Failure::Model(error)) => match error.kind {
            ErrorKind::Overflow | ErrorKind::BadRequest | ErrorKind::Refused => Ending::Refused,
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
