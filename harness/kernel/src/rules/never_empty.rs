//! No message and no part of one is empty. An assistant message that only calls has no
//! text at all, not an empty one (KERN-09).

use foundry_llm::{Content, Message, ToolResult};

use super::{Repair, Rule};
use crate::view::Shown;

pub(super) const RULE: Rule = Rule { name: "never_empty", check, repair: Repair::Rebuild(repair) };

/// What the model reads of a tool that returned nothing.
const NO_OUTPUT: &str = "(no output)";

fn check(shown: &[Shown]) -> Vec<(usize, String)> {
    let broken = shown.iter().enumerate().filter_map(|(at, shown)| {
        let what = match &shown.message {
            Message::User { content } if content.is_empty() => "a user message without content",
            Message::User { content } if content.iter().any(is_blank) => "a blank part",
            Message::Assistant { text: Some(text), .. } if is_blank_text(text) => "a blank text",
            Message::Assistant { text: None, calls, .. } if calls.is_empty() => {
                "an assistant message without text and calls"
            }
            Message::ToolResults { results } if results.is_empty() => "no results",
            Message::ToolResults { results } if results.iter().any(is_silent) => "a blank result",
            Message::User { .. } | Message::Assistant { .. } | Message::ToolResults { .. } => {
                return None;
            }
        };
        Some((at, what.to_owned()))
    });
    broken.collect()
}

fn repair(shown: &mut Vec<Shown>) {
    shown.retain_mut(|shown| match &mut shown.message {
        Message::User { content } => {
            content.retain(|part| !is_blank(part));
            !content.is_empty()
        }
        Message::Assistant { text, calls, .. } => {
            text.take_if(|text| is_blank_text(text));
            text.is_some() || !calls.is_empty()
        }
        Message::ToolResults { results } => {
            for result in results.iter_mut().filter(|result| is_silent(result)) {
                NO_OUTPUT.clone_into(&mut result.content);
            }
            !results.is_empty()
        }
    });
}

fn is_blank(part: &Content) -> bool {
    let Content::Text { text } = part;
    is_blank_text(text)
}

fn is_silent(result: &ToolResult) -> bool {
    is_blank_text(&result.content)
}

fn is_blank_text(text: &str) -> bool {
    text.trim().is_empty()
}
