//! What was asked, word for word.

use foundry_llm::Content;

use crate::entry::{Entry, UserInput};
use crate::policy::stub::clip;
use crate::view::Conversation;

/// Things said later in a run that a digest repeats, the newest.
const LATER_INPUTS: usize = 10;

/// Bytes that it repeats of each.
const LATER_BYTES: usize = 500;

/// What the current run was asked, as far as a fold covers it: its input whole, and the
/// beginning of what was said to it since. Empty where the input is not covered.
pub(crate) fn goal(conversation: &Conversation<'_>, covers: usize) -> String {
    let covered = conversation.log.get(conversation.began..covers).unwrap_or_default();
    let mut said = covered.iter().filter_map(|entry| match entry {
        Entry::User { input } => Some(text_of(input)),
        Entry::Assistant { .. }
        | Entry::Results { .. }
        | Entry::Fold { .. }
        | Entry::Stubs { .. } => None,
    });
    let Some(input) = said.next() else { return String::new() };
    let later: Vec<String> = said.collect();
    let newest = later.get(later.len().saturating_sub(LATER_INPUTS)..).unwrap_or_default();
    let mut goal = format!("What was asked, word for word:\n\n{input}\n\n");
    if !newest.is_empty() {
        goal.push_str("What was said since:\n\n");
        for text in newest {
            goal.push_str("- ");
            goal.push_str(&clip(text, LATER_BYTES));
            goal.push('\n');
        }
        goal.push('\n');
    }
    goal
}

fn text_of(input: &UserInput) -> String {
    let parts = input.content.iter().map(|Content::Text { text }| text.as_str());
    parts.collect::<Vec<_>>().join("\n")
}
