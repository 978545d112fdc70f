//! No message and no part of one is empty. An assistant message that only calls has no
//! text at all, not an empty one (KERN-09).

use std::borrow::Cow;

use foundry_llm::Content;

use super::{Cuts, Repair, Rule};
use crate::view::{Answer, Said, Shown};

pub(super) const RULE: Rule =
    Rule { name: "never_empty", check, repair: Repair::Rebuild(repair), cuts: Cuts::Anywhere };

/// What the model reads of a tool that returned nothing.
const NO_OUTPUT: &str = "(no output)";

fn check(shown: &[Shown<'_>]) -> Vec<(usize, String)> {
    let broken = shown.iter().enumerate().filter_map(|(at, shown)| {
        let what = match &shown.said {
            Said::User { content } if content.is_empty() => "a user message without content",
            Said::User { content } if content.iter().any(is_blank) => "a blank part",
            Said::Assistant { text: Some(text), .. } if is_blank_text(text) => "a blank text",
            Said::Assistant { text: None, calls, .. } if calls.is_empty() => {
                "an assistant message without text and calls"
            }
            Said::Results { results } if results.is_empty() => "no results",
            Said::Results { results } if results.iter().any(is_silent) => "a blank result",
            Said::User { .. } | Said::Assistant { .. } | Said::Results { .. } => return None,
        };
        Some((at, what.to_owned()))
    });
    broken.collect()
}

fn repair(shown: &mut Vec<Shown<'_>>) {
    shown.retain_mut(|shown| match &mut shown.said {
        Said::User { content } => {
            if content.iter().any(is_blank) {
                content.to_mut().retain(|part| !is_blank(part));
            }
            !content.is_empty()
        }
        Said::Assistant { text, calls, .. } => {
            text.take_if(|text| is_blank_text(text));
            text.is_some() || !calls.is_empty()
        }
        Said::Results { results } => {
            for result in results.iter_mut().filter(|result| is_silent(result)) {
                result.content = Cow::Borrowed(NO_OUTPUT);
            }
            !results.is_empty()
        }
    });
}

fn is_blank(part: &Content) -> bool {
    let Content::Text { text } = part;
    is_blank_text(text)
}

fn is_silent(result: &Answer<'_>) -> bool {
    is_blank_text(&result.content)
}

fn is_blank_text(text: &str) -> bool {
    text.trim_start().is_empty()
}
