//! How a provider's refusal becomes an [`LlmError`]: its true status, its own words,
//! and the pacing it asked for.

mod demand;
pub(crate) mod overflow;
mod pacing;
mod remedy;
mod words;

use http::HeaderMap;
use jiff::Timestamp;

use crate::error::{ErrorKind, LlmError, kept};
use words::Words;

pub(crate) use demand::{Fields, Form, demand};
pub(crate) use remedy::remedy;

/// A response that is no success.
pub(crate) fn from_response(
    status: u16,
    headers: &HeaderMap,
    body: &str,
    now: Timestamp,
) -> LlmError {
    let words = Words::read(body);
    let kind = kind(status, words.as_ref(), body);
    let retry_after = pacing::stated(status, headers, now)
        .or_else(|| words.as_ref().and_then(|words| words.pacing(Some(now))))
        .or_else(|| pacing::spent(status, headers, now));
    let reason = match &words {
        Some(words) => words.to_string(),
        None if body.trim().is_empty() => standard_reason(status, headers),
        None => kept(body),
    };
    LlmError {
        kind,
        status: Some(status),
        message: format!("HTTP {status}: {reason}"),
        retry_after,
    }
}

/// An error event in the middle of a stream, or an error object under status 200. It
/// counts as the status that its type stands for (KERN-19).
pub(crate) fn from_event(data: &str) -> LlmError {
    let Some(words) = Words::read(data) else {
        return LlmError {
            kind: kind(500, None, data),
            status: None,
            message: format!("the provider broke off with an error: {}", kept(data)),
            retry_after: None,
        };
    };
    let status = words.status();
    LlmError {
        kind: kind(status.unwrap_or(500), Some(&words), data),
        status,
        message: match status {
            Some(status) => format!("HTTP {status} in the stream: {words}"),
            None => format!("the provider broke off with an error: {words}"),
        },
        retry_after: words.pacing(None),
    }
}

/// An error that came under status 200. The pacing may stand in the headers all the same.
pub(crate) fn paced(error: LlmError, headers: &HeaderMap, now: Timestamp) -> LlmError {
    let is_theirs = match error.kind {
        ErrorKind::Limited | ErrorKind::Overloaded | ErrorKind::Server => true,
        ErrorKind::Network
        | ErrorKind::Stalled
        | ErrorKind::Broken
        | ErrorKind::NoCompletion
        | ErrorKind::Overflow
        | ErrorKind::Auth
        | ErrorKind::Budget
        | ErrorKind::BadRequest
        | ErrorKind::Refused
        | ErrorKind::Dialect => false,
    };
    if !is_theirs || error.retry_after.is_some() {
        return error;
    }
    let status = error.status.unwrap_or_default();
    let retry_after =
        pacing::stated(status, headers, now).or_else(|| pacing::spent(status, headers, now));
    LlmError { retry_after, ..error }
}

/// An event that fits no form of the wire: perhaps an error in another wire's form.
pub(crate) fn from_unknown_event(data: &str, error: &serde_json::Error) -> LlmError {
    if Words::is_error(data) { from_event(data) } else { LlmError::not_understood(error, data) }
}

/// By true upstream status; the words decide only where one status means two things.
fn kind(status: u16, words: Option<&Words>, body: &str) -> ErrorKind {
    let says = |word: &str| words.is_some_and(|words| words.names(word));
    let told = words.map_or_else(|| kept(body), Words::told);
    if says("budget_exhausted") {
        return ErrorKind::Budget;
    }
    match status {
        429 => ErrorKind::Limited,
        529 | 498 => ErrorKind::Overloaded, // 498 is Groq's
        500..=599 if is_overload(&told) => ErrorKind::Overloaded,
        // Some local servers answer 500 to a prompt they cannot hold.
        400 | 413 | 422 | 500 if overflow::is_overflow(&told) => ErrorKind::Overflow,
        // Whatever it is that was too large: what helps is to say less.
        413 if !overflow::is_rate(&told) => ErrorKind::Overflow,
        500..=599 => ErrorKind::Server,
        408 => ErrorKind::Stalled,
        401 | 403 => ErrorKind::Auth,
        400 if says("content_filter")
            || says("content_policy_violation")
            || says("ResponsibleAIPolicyViolation") =>
        {
            ErrorKind::Refused
        }
        _ => ErrorKind::BadRequest,
    }
}

fn is_overload(told: &str) -> bool {
    let told = told.to_lowercase();
    ["overloaded", "over capacity", "at capacity"].iter().any(|word| told.contains(word))
}

fn standard_reason(status: u16, headers: &HeaderMap) -> String {
    if (300..400).contains(&status) {
        let target = headers.get(http::header::LOCATION).and_then(|value| value.to_str().ok());
        let target = target.map_or_else(String::new, |to| format!(" to {}", kept(to)));
        return format!("a redirect{target}, which is never followed");
    }
    http::StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or("no reason given")
        .to_owned()
}

#[cfg(test)]
mod tests;
