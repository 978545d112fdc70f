//! How a conversation is made to fit the model's window (KERN-05).
//!
//! Every request is measured before it is made. Above 90 % of what the window leaves for a
//! prompt, three stages run in order: older results become stubs, the model writes a
//! summary, and a digest made by rule stands for the rest. Each runs at most once until a
//! reply succeeds, and counts by the size it leaves behind, so that no stage repeats itself
//! without use. A provider that refuses a prompt as too long enters at the next stage.

mod look;
#[cfg(test)]
pub(crate) mod scenes;

use foundry_llm::{LlmError, Message, Reply, Usage};
use serde::{Deserialize, Serialize};

use super::empty::is_empty;
use super::gauge::Gauge;
use super::{structural, stub, summary};
use crate::entry::Entry;
use crate::view::{Conversation, Marks, Said};

pub use super::gauge::DEFAULT_WINDOW;
pub(crate) use look::Look;

/// A stage of compaction, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Older results become stubs.
    Micro,
    /// The model writes a summary of what is folded.
    Summary,
    /// A digest made by rule stands for what is folded.
    Structural,
}

/// What is to be done before the model can be asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Prepared {
    /// Nothing: the request fits.
    Fits,
    /// Append this entry, and prepare again.
    Append(Entry),
    /// Ask the model for a summary of so many entries, by these messages, and feed the
    /// answer to [`Fit::summarised`]. The same answer until then.
    Summarise {
        /// Entries of the log that the summary will stand for.
        covers: usize,
        /// What to send beside system prompt and tools.
        messages: Vec<Message>,
    },
    /// Nothing helps. Both in tokens, the output cap counted in.
    TooSmall {
        /// What the smallest request that could be made needs.
        needed: u64,
        /// What there is.
        window: u64,
    },
}

/// What one run knows of its model's window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fit {
    gauge: Gauge,
    /// The next stage that has not run since a reply succeeded.
    next: Option<Stage>,
    /// Why a stage must run although the measure finds no need.
    demand: Option<Demand>,
    /// Bytes of the request that was prepared last.
    sent: u64,
    /// Bytes of the smallest request that a provider refused as too long.
    refused: Option<u64>,
    /// Index of the newest empty reply that was taken for an overflow.
    heeded: Option<usize>,
}

/// Why there is no room although there seems to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Demand {
    /// An empty reply makes it likely. If nothing can be made smaller, it had another cause.
    Suspected,
    /// The provider said so.
    Refused,
}

/// What a request may hold, by what is known now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Bytes of the largest prompt that can be sent.
    pub(crate) prompt: u64,
    /// Of these, bytes that system prompt and tools leave to messages.
    pub(crate) room: u64,
}

impl Fit {
    /// For a window in tokens.
    pub(crate) fn new(window: u64) -> Self {
        Self {
            gauge: Gauge::new(window),
            next: Some(Stage::Micro),
            demand: None,
            sent: 0,
            refused: None,
            heeded: None,
        }
    }

    /// What is to be done before a turn's call of the model.
    pub(crate) fn prepare(&mut self, conversation: &Conversation<'_>) -> Prepared {
        self.heed_an_empty_reply(conversation);
        let look = Look::at(conversation, Marks::of(conversation.log));
        self.sent = look.bytes();
        while self.demand.is_some() || self.is_too_full(conversation) {
            let Some(stage) = self.next else { return self.give_up(conversation) };
            let bounds = self.bounds(conversation);
            let prepared = match stage {
                Stage::Micro => micro(conversation, &look, bounds).map(Prepared::Append),
                Stage::Summary => summary::ask(conversation, &look, bounds),
                Stage::Structural => {
                    structural::fold(conversation, &look, bounds).map(Prepared::Append)
                }
            };
            match prepared {
                // A summary counts as made when its answer is fed.
                Some(Prepared::Summarise { covers, messages }) => {
                    return Prepared::Summarise { covers, messages };
                }
                Some(prepared) => {
                    self.passed(stage);
                    self.demand = None;
                    return prepared;
                }
                None => self.passed(stage),
            }
        }
        Prepared::Fits
    }

    /// The provider refused the request that was prepared last as too long. The window it
    /// states is believed; without one, what it refused is too large from now on.
    pub(crate) fn overflowed(&mut self, error: &LlmError) {
        if let Some(window) = error.stated_window() {
            self.gauge.lower(window);
        }
        self.refused = Some(self.refused.map_or(self.sent, |refused| refused.min(self.sent)));
        self.demand = Some(Demand::Refused);
    }

    /// The model answered the request that was prepared last: the gauge learns from its
    /// usage, and every stage may run again.
    pub(crate) fn replied(&mut self, usage: Usage) {
        self.gauge.calibrate(self.sent, usage);
        self.next = Some(Stage::Micro);
        self.demand = None;
    }

    /// The fold that a summary makes, if it is complete and small enough; without one the
    /// next stage follows.
    pub(crate) fn summarised(
        &mut self,
        covers: usize,
        reply: Result<&Reply, &LlmError>,
        conversation: &Conversation<'_>,
    ) -> Option<Entry> {
        self.passed(Stage::Summary);
        let bounds = self.bounds(conversation);
        let fold = summary::accept(covers, reply.ok()?, conversation, bounds)?;
        self.demand = None;
        Some(fold)
    }

    /// How much of the window the request that was prepared last fills, in per cent (CODE-39).
    pub(crate) fn percent_prepared(&self) -> u8 {
        self.gauge.percent(self.sent)
    }

    /// The same with an entry that was appended since. What came before is not looked at
    /// again: in a long conversation each look costs as much as the request itself.
    pub(crate) fn percent_with(&self, newest: &Entry) -> u8 {
        let added = Said::of_entry(newest).map_or(0, |said| said.bytes());
        self.gauge.percent(self.sent.saturating_add(added))
    }

    /// About how many tokens the next request is.
    pub(crate) fn tokens(&self, conversation: &Conversation<'_>) -> u64 {
        self.gauge.tokens(Look::at(conversation, Marks::of(conversation.log)).bytes())
    }

    /// Whether the log ends with an empty reply to a prompt that was nearly full. Some servers
    /// cut a prompt that is too long and say nothing at all: such a reply is taken for a
    /// refusal, once, and [`Fit::prepare`] makes room.
    pub(crate) fn was_cut_silently(&self, conversation: &Conversation<'_>) -> bool {
        self.silently_cut_reply(conversation).is_some()
    }

    fn passed(&mut self, stage: Stage) {
        self.next = match stage {
            Stage::Micro => Some(Stage::Summary),
            Stage::Summary => Some(Stage::Structural),
            Stage::Structural => None,
        };
    }

    fn is_too_full(&self, conversation: &Conversation<'_>) -> bool {
        let capacity = self.capacity(conversation);
        self.gauge.tokens(self.sent) > capacity - capacity / 10
    }

    /// Tokens that a prompt may have: what the output cap leaves of the window, and less
    /// than what was refused.
    fn capacity(&self, conversation: &Conversation<'_>) -> u64 {
        let cap = u64::from(conversation.max_output_tokens);
        let left = self.gauge.window().saturating_sub(cap);
        self.refused.map_or(left, |refused| left.min(self.gauge.tokens(refused)))
    }

    fn bounds(&self, conversation: &Conversation<'_>) -> Bounds {
        let prompt = self.gauge.bytes(self.capacity(conversation));
        Bounds { prompt, room: prompt.saturating_sub(conversation.fixed_bytes) }
    }

    fn heed_an_empty_reply(&mut self, conversation: &Conversation<'_>) {
        if let Some(at) = self.silently_cut_reply(conversation) {
            self.heeded = Some(at);
            self.demand = Some(Demand::Suspected);
        }
    }

    /// Index of the newest reply, if it is empty, was not heeded yet, and answered a prompt
    /// that was nearly full.
    fn silently_cut_reply(&self, conversation: &Conversation<'_>) -> Option<usize> {
        let log = conversation.log;
        let at = log.iter().rposition(|entry| matches!(entry, Entry::Assistant { .. }))?;
        let Entry::Assistant { reply } = log.get(at)? else { return None };
        let is_new = self.heeded.is_none_or(|heeded| heeded < at);
        let nearly_full = self.capacity(conversation) / 4 * 3;
        let is_cut = is_new && is_empty(reply) && self.gauge.tokens(self.sent) > nearly_full;
        is_cut.then_some(at)
    }

    /// No stage is left. What is over 90 % and still goes into the window is sent.
    fn give_up(&self, conversation: &Conversation<'_>) -> Prepared {
        let tokens = self.gauge.tokens(self.sent);
        if self.demand != Some(Demand::Refused) && tokens <= self.capacity(conversation) {
            return Prepared::Fits;
        }
        let cap = u64::from(conversation.max_output_tokens);
        let needed = tokens.saturating_add(cap);
        // What was refused is more than there is, whatever was said to be there.
        let refused = self.refused.map_or(u64::MAX, |refused| {
            self.gauge.tokens(refused).saturating_add(cap).saturating_sub(1)
        });
        Prepared::TooSmall { needed, window: self.gauge.window().min(refused) }
    }
}

/// Stubs for all results but the newest, where that frees a tenth of the room: less
/// would cost the provider's cache for nothing, and soon again.
fn micro(conversation: &Conversation<'_>, look: &Look<'_>, bounds: Bounds) -> Option<Entry> {
    let marks = Marks::of(conversation.log);
    let covers = stub::covers(conversation.log, marks.start(), bounds.room / 4)?;
    let after = Look::at(conversation, Marks { stubs: covers.max(marks.stubs), ..marks });
    let freed = look.bytes().saturating_sub(after.bytes());
    (freed > 0 && freed >= bounds.room / 10).then_some(Entry::Stubs { covers })
}

#[cfg(test)]
mod tests;
