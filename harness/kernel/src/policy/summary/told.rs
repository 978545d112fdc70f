//! Messages told as plain text, within a size.

use std::borrow::Cow;

use foundry_llm::Content;

use crate::policy::truncate;
use crate::view::{Said, Shown};

/// Fewer bytes tell nothing of a text.
const LEAST_BYTES: usize = 200;

/// Who gets how much of the space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// The newer a text, the more of it; the oldest may be left out.
    Newest,
    /// All alike.
    Even,
}

/// Tells the messages in their order, each text cut in its middle where it is too long.
/// Says how many are left out.
pub(crate) fn told(shown: &[Shown<'_>], bytes: usize, weight: Weight) -> String {
    let texts: Vec<(String, &str)> = shown.iter().flat_map(|shown| texts(&shown.said)).collect();
    let even = even_share(&texts, bytes);
    let mut left = bytes;
    let mut lines = Vec::new();
    for (label, text) in texts.iter().rev() {
        let allowed = match weight {
            Weight::Newest => left / 3,
            Weight::Even => even.min(left),
        };
        if allowed < LEAST_BYTES && text.len() > allowed {
            break;
        }
        let line = format!("{label}: {}", within(text, allowed));
        let Some(rest) = left.checked_sub(line.len() + 1) else { break };
        left = rest;
        lines.push(line);
    }
    let left_out = texts.len() - lines.len();
    if left_out > 0 {
        lines.push(format!("[… {left_out} older parts left out …]"));
    }
    lines.reverse();
    lines.join("\n")
}

/// A text, cut in its middle where it is longer than that.
pub(crate) fn within(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(truncate::marked(text, bytes))
    }
}

/// The most bytes that each text may have so that all of them fit: what short ones leave
/// goes to the long ones.
fn even_share(texts: &[(String, &str)], bytes: usize) -> usize {
    const SEPARATORS: usize = ": \n".len();
    let labels: usize = texts.iter().map(|(label, _)| label.len() + SEPARATORS).sum();
    let mut left = bytes.saturating_sub(labels);
    let mut lengths: Vec<usize> = texts.iter().map(|(_, text)| text.len()).collect();
    lengths.sort_unstable();
    for (shorter, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - shorter);
        if *length > share {
            return share.max(LEAST_BYTES);
        }
        left -= length;
    }
    usize::MAX
}

/// Each thing that a message says, and who said it.
fn texts<'s>(said: &'s Said<'_>) -> Vec<(String, &'s str)> {
    match said {
        Said::User { content } => content
            .iter()
            .map(|Content::Text { text }| ("user".to_owned(), text.as_str()))
            .collect(),
        Said::Assistant { text, reasoning: _, calls } => {
            let text = text.map(|text| ("assistant".to_owned(), text));
            let calls = calls
                .iter()
                .map(|call| (format!("call of {}", call.name), call.arguments.as_str()));
            text.into_iter().chain(calls).collect()
        }
        Said::Results { results } => results
            .iter()
            .map(|result| {
                let what = if result.is_error { "error of" } else { "result of" };
                (format!("{what} {}", result.name), result.content.as_ref())
            })
            .collect(),
    }
}
