//! What a server demands of a request's form, where that is why it refused one.
//!
//! Only fields that were sent can be demanded away, and only by name: words that merely
//! sound like a demand change nothing.

use super::overflow;
use super::words::Words;
use crate::dialect::{Demand, Dialect, Echo, OutputCap};
use crate::error::kept;
use crate::message::Wire;

/// What of a request a server may demand to be otherwise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub wire: Wire,
    pub dialect: Dialect,
    /// Fields that were truly in the body.
    pub fields: Fields,
}

/// Optional fields of a body.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fields {
    pub temperature: bool,
    pub reasoning_effort: bool,
    pub stream_options: bool,
}

/// How servers say that they do not take a field.
const REFUSALS: &[&str] = &[
    "unsupported",
    "not supported",
    "does not support",
    "not support ",
    "unrecognized",
    "unknown",
    "extra inputs",
    "extra_forbidden",
    "extra fields",
    "additional properties",
    "not permitted",
    "not allowed",
    "unexpected",
    "deprecated",
    "cannot be used",
    "cannot be set",
];

/// How servers say that they want a field back.
const WANTED: &[&str] = &["passed back", "missing", "required", "must be", "must provide"];

/// The demand that a refusal states, if it states one that this request can meet.
pub(crate) fn demand(status: u16, body: &str, form: Form) -> Option<Demand> {
    if !matches!(status, 400 | 422) {
        return None;
    }
    let told = Words::read(body).map_or_else(|| kept(body), |words| words.told()).to_lowercase();
    if overflow::is_overflow(&told) {
        return None;
    }
    let Form { wire, dialect, fields } = form;
    let says = |words: &[&str]| words.iter().any(|word| told.contains(word));
    let refuses = |sent: bool, field: &str| sent && names(&told, field) && says(REFUSALS);
    if refuses(fields.temperature, "temperature") {
        return Some(Demand::NoTemperature);
    }
    if wire == Wire::Anthropic {
        return None;
    }
    if let Some(echo) = echo(&told, dialect.echo_reasoning, &says) {
        return Some(Demand::Echo(echo));
    }
    if names(&told, "thought_signature") && says(WANTED) {
        return Some(Demand::SignedCalls); // Gemini
    }
    if refuses(fields.reasoning_effort, "reasoning_effort") {
        return Some(Demand::NoReasoningEffort);
    }
    if refuses(fields.stream_options, "stream_options") {
        return Some(Demand::NoStreamOptions);
    }
    match dialect.output_cap {
        OutputCap::MaxTokens if refuses(true, "max_tokens") => {
            Some(Demand::OutputCap(OutputCap::MaxCompletionTokens))
        }
        OutputCap::MaxCompletionTokens if refuses(true, "max_completion_tokens") => {
            Some(Demand::OutputCap(OutputCap::MaxTokens))
        }
        OutputCap::MaxTokens | OutputCap::MaxCompletionTokens => None,
    }
}

/// Whether reasoning is wanted back, or back no more.
fn echo(told: &str, echoed: Echo, says: &dyn Fn(&[&str]) -> bool) -> Option<Echo> {
    let name = match echoed {
        Echo::Reasoning => "reasoning",
        Echo::No | Echo::ReasoningContent => "reasoning_content",
    };
    match echoed {
        Echo::No if names(told, name) => says(WANTED).then_some(Echo::ReasoningContent),
        Echo::No => {
            let quoted = ["`reasoning`", "'reasoning'", "\"reasoning\""];
            (says(&quoted) && says(WANTED)).then_some(Echo::Reasoning)
        }
        Echo::ReasoningContent | Echo::Reasoning => {
            (names(told, name) && says(REFUSALS)).then_some(Echo::No)
        }
    }
}

/// Whether a text names a field, and not one whose name only begins or ends so.
fn names(text: &str, field: &str) -> bool {
    let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(field).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + field.len()..].chars().next();
        !before.is_some_and(is_inside) && !after.is_some_and(is_inside)
    })
}

#[cfg(test)]
mod tests;
