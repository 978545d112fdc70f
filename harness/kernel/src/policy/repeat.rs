//! Honest repetition, and a model that goes round in a circle.
//!
//! The same call with another result is work: a poll, a test run after an edit. What
//! counts is the same calls *and* the same results, batch after batch, alone or in a
//! short round; and one tool failing with the same words whatever it is given.

use std::hash::{DefaultHasher, Hash, Hasher};

use foundry_llm::ToolCall;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::truncate::prefix;
use crate::entry::{CallResult, UserInput};

/// Hint after so many, unless set.
const DEFAULT_HINT_AFTER: u32 = 4;

/// Halt after so many, unless set.
const DEFAULT_HALT_AFTER: u32 = 10;

/// Longest round of batches that is recognised.
const LONGEST_ROUND: usize = 4;

/// Batches that are remembered at most, whatever the settings.
const REMEMBERED: usize = 512;

/// Tools whose errors are remembered: a model may make up names without end.
const ERRING_TOOLS: usize = 32;

/// Bytes of an error or of arguments that are repeated.
const SHOWN_BYTES: usize = 200;

/// How often a model may go round in a circle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeat {
    /// After so many rounds the model is told; 0 for never.
    pub hint_after: u32,
    /// After so many the run fails; 0 for never.
    pub halt_after: u32,
}

impl Default for Repeat {
    fn default() -> Self {
        Self { hint_after: DEFAULT_HINT_AFTER, halt_after: DEFAULT_HALT_AFTER }
    }
}

/// What is to be done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing.
    Progress,
    /// Tell the model, in these words.
    Hint(String),
    /// End the run over this.
    Halt(String),
}

/// What a run remembers of its batches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Repeats {
    /// Fingerprints of the last batches, calls and results, oldest first.
    batches: Vec<u64>,
    /// Tools that last failed, with the error's fingerprint and how many batches in a row
    /// of that tool brought it.
    errors: Vec<Erring>,
    /// Whether the model was told of the rounds it goes.
    hinted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Erring {
    tool: String,
    error: u64,
    times: u32,
    /// Whether the model was told.
    hinted: bool,
}

impl Repeats {
    /// A batch is settled. Says what follows.
    pub(crate) fn settled<'a>(
        &mut self,
        calls: impl Iterator<Item = &'a ToolCall> + Clone,
        results: &[CallResult],
        repeat: Repeat,
    ) -> Found {
        self.remember(fingerprint(calls.clone(), results), repeat);
        let errors = self.count_errors(results);
        let rounds = self.rounds();
        let Repeat { hint_after, halt_after } = repeat;
        let is_hint = |times| hint_after != 0 && times >= hint_after;
        self.hinted &= is_hint(rounds);
        let failing = errors.and_then(|(at, result)| Some((self.errors.get_mut(at)?, result)));
        let (times, hinted, what) = match failing {
            Some((erring, result)) if erring.times >= rounds => {
                let times = erring.times;
                (times, &mut erring.hinted, failing_words(times, result))
            }
            Some(_) | None => (rounds, &mut self.hinted, round_words(rounds, calls)),
        };
        if halt_after != 0 && times >= halt_after {
            Found::Halt(what)
        } else if is_hint(times) && !*hinted {
            *hinted = true;
            Found::Hint(what)
        } else {
            Found::Progress
        }
    }

    /// Somebody said something new: what was done before may be rightly done again.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    fn remember(&mut self, batch: u64, repeat: Repeat) {
        let needed = repeat.halt_after.max(repeat.hint_after) as usize;
        let limit = needed.saturating_mul(LONGEST_ROUND).clamp(1, REMEMBERED);
        self.batches.push(batch);
        let surplus = self.batches.len().saturating_sub(limit);
        self.batches.drain(..surplus);
    }

    /// How often the last round was gone, over all lengths of a round.
    fn rounds(&self) -> u32 {
        let newest_first: Vec<u64> = self.batches.iter().rev().copied().collect();
        let gone = |length: usize| {
            let mut rounds = newest_first.chunks_exact(length);
            let first = rounds.next();
            1 + rounds.take_while(|round| Some(*round) == first).count()
        };
        let most = (1..=LONGEST_ROUND).map(gone).max().unwrap_or(1);
        u32::try_from(most).unwrap_or(u32::MAX)
    }

    /// Counts equal errors of one tool, once a batch. Gives the most frequent that this
    /// batch brought again, as its place and an example. A success of the tool clears it.
    fn count_errors<'a>(&mut self, results: &'a [CallResult]) -> Option<(usize, &'a CallResult)> {
        let mut counted: Vec<&CallResult> = Vec::new();
        for (at, result) in results.iter().enumerate() {
            if results[..at].iter().any(|earlier| earlier.name == result.name) {
                continue;
            }
            let mut of_tool = results[at..].iter().filter(|other| other.name == result.name);
            if of_tool.any(|other| !other.settled.is_error()) {
                self.errors.retain(|erring| erring.tool != result.name);
            } else {
                self.count_error(&result.name, hash(&result.settled.text()));
                counted.push(result);
            }
        }
        let place = |result: &'a CallResult| {
            let at = self.errors.iter().position(|erring| erring.tool == result.name)?;
            Some((at, result))
        };
        counted.into_iter().filter_map(place).max_by_key(|(at, _)| self.errors[*at].times)
    }

    fn count_error(&mut self, tool: &str, error: u64) {
        let known = self.errors.iter().position(|erring| erring.tool == tool);
        let before = known.map(|at| self.errors.remove(at)).filter(|before| before.error == error);
        let (times, hinted) = before.map_or((0, false), |before| (before.times, before.hinted));
        let (tool, times) = (tool.to_owned(), times.saturating_add(1));
        self.errors.push(Erring { tool, error, times, hinted });
        let surplus = self.errors.len().saturating_sub(ERRING_TOOLS);
        self.errors.drain(..surplus);
    }
}

/// What the model is told.
pub(crate) fn hint(what: &str) -> UserInput {
    UserInput::from(format!(
        "You seem to be going round in a circle: {what}. Doing it again will bring the same. Take \
         another way, or say what keeps you from going on."
    ))
}

/// The same for equal calls with equal results, however the JSON was spaced.
fn fingerprint<'a>(calls: impl Iterator<Item = &'a ToolCall>, results: &[CallResult]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for call in calls {
        call.name.hash(&mut hasher);
        match serde_json::from_str::<Value>(&call.arguments) {
            Ok(arguments) => arguments.to_string().hash(&mut hasher),
            Err(_) => call.arguments.hash(&mut hasher),
        }
    }
    for result in results {
        result.settled.text().hash(&mut hasher);
    }
    hasher.finish()
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn failing_words(times: u32, result: &CallResult) -> String {
    let text = result.settled.text();
    format!("{} failed {times} times with: {}", result.name, prefix(&text, SHOWN_BYTES))
}

fn round_words<'a>(times: u32, calls: impl Iterator<Item = &'a ToolCall>) -> String {
    let call =
        |call: &ToolCall| format!("{}({})", call.name, prefix(call.arguments.trim(), SHOWN_BYTES));
    let last = calls.last().map(call).unwrap_or_default();
    format!("the same calls brought the same results {times} times, the last of them {last}")
}

#[cfg(test)]
mod tests;
