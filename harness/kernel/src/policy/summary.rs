//! The second stage of compaction: the model fills in a form about what is folded.
//!
//! A summary that loses the goal or the point of work is worse than none, so the form
//! names what must be in it, and one that lacks a part is not taken. What was asked is
//! not left to the model: it stands in the digest word for word.

mod form;
mod goal;
mod told;

use foundry_llm::{Message, Reply, StopReason};

use super::fit::{Bounds, Look, Prepared};
use crate::entry::Entry;
use crate::view::{Conversation, Marks, Said, Shown, as_u64, as_usize};

pub(crate) use form::{is_complete, memory_instruction};
pub(crate) use goal::goal;
pub(crate) use told::{Weight, told, within};

const OPENING: &str = "The conversation before this point was folded to save space. What it \
    came to, in your own words:";

/// Asks for a summary of all but the newest messages, on top of the very messages that
/// were sent before, so that the provider's cache serves them once more. `None` where a
/// summary cannot help or cannot be asked for.
pub(crate) fn ask(
    conversation: &Conversation<'_>,
    look: &Look<'_>,
    bounds: Bounds,
) -> Option<Prepared> {
    if look.messages() <= bounds.room / 2 {
        return None; // it is the system prompt and the tools that take the window
    }
    let cut = look.cut_leaving(bounds.room / 4)?;
    let stays = look.messages().saturating_sub(look.head(cut));
    let goal = as_u64(goal(conversation, cut.covers).len());
    if stays.saturating_add(goal) > bounds.room / 8 * 3 {
        return None; // what is kept word for word leaves no room for a summary beside it
    }
    let mut instruction = form::instruction();
    // The request for a summary must fit, too: what does not go in whole is told in short.
    let prompt = bounds.prompt - bounds.prompt / 20;
    let messages = prompt.checked_sub(look.fixed() + as_u64(instruction.len()))?;
    let sent = if look.head(cut) <= messages {
        cut
    } else {
        let sent = look.cut_taking(messages.checked_sub(bounds.room / 8)?, cut)?;
        let rest = look.shown.get(sent.at..cut.at).unwrap_or_default();
        let rest = told(rest, as_usize(messages - look.head(sent)), Weight::Even);
        instruction = format!("What followed, shortened:\n\n{rest}\n\n{instruction}");
        sent
    };
    let covered = look.shown.get(..sent.at).unwrap_or_default().iter().cloned();
    let mut messages: Vec<Message> = covered.map(Shown::into_message).collect();
    let last = Shown { said: Said::user(instruction), own: true, entry: conversation.log.len() };
    messages.push(last.into_message());
    Some(Prepared::Summarise { covers: cut.covers, messages })
}

/// The fold, if the form is complete and the messages fall below half of the room that
/// system prompt and tools leave.
pub(crate) fn accept(
    covers: usize,
    reply: &Reply,
    conversation: &Conversation<'_>,
    bounds: Bounds,
) -> Option<Entry> {
    let form = reply.text.as_deref().map(str::trim)?;
    if reply.stop == StopReason::MaxTokens || !is_complete(form) {
        return None;
    }
    let goal = goal(conversation, covers);
    let digest = format!("{OPENING}\n\n{goal}{form}\n\nGo on from the exact next action.");
    let stubs = Marks::of(conversation.log).stubs;
    let after = Look::at(conversation, Marks { fold: Some((covers, &digest)), stubs }).messages();
    (after < bounds.room / 2).then_some(Entry::Fold { covers, digest })
}

#[cfg(test)]
mod tests;
