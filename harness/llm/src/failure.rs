//! How a provider's refusal becomes an [`LlmError`]: its true status, its own words,
//! and the pacing it asked for.

pub(crate) mod overflow;
mod pacing;
mod words;

use http::HeaderMap;
use jiff::Timestamp;

use crate::error::{ErrorKind, LlmError, bounded};
use words::Words;

/// A response that is no success.
pub(crate) fn from_response(
    status: u16,
    headers: &HeaderMap,
    body: &str,
    now: Timestamp,
) -> LlmError {
    let words = Words::read(body);
    let kind = kind(status, words.as_ref(), body);
    let retry_after = pacing::from_headers(status, headers, now)
        .or_else(|| words.as_ref().and_then(|words| words.pacing(now)));
    let reason = match &words {
        Some(words) => words.to_string(),
        None if body.trim().is_empty() => standard_reason(status, headers),
        None => bounded(body),
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
            kind: ErrorKind::Server,
            status: None,
            message: format!("the provider broke off with an error: {}", bounded(data)),
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
        retry_after: words.relative_pacing(),
    }
}

/// An event that fits no form of the wire: perhaps an error in another wire's form.
pub(crate) fn from_unknown_event(data: &str, error: &serde_json::Error) -> LlmError {
    if Words::is_error(data) { from_event(data) } else { LlmError::not_understood(error, data) }
}

/// Whether a document that came under status 200 is an error in truth.
pub(crate) fn is_error_document(body: &str) -> bool {
    Words::is_error(body)
}

/// By true upstream status; the words decide only where one status means two things.
fn kind(status: u16, words: Option<&Words>, body: &str) -> ErrorKind {
    let says = |word: &str| words.is_some_and(|words| words.names(word));
    if says("budget_exhausted") {
        return ErrorKind::Budget;
    }
    match status {
        429 => ErrorKind::Limited,
        529 => ErrorKind::Overloaded,
        500..=599 if says("overloaded_error") || says("overloaded") => ErrorKind::Overloaded,
        // Some local servers answer 500 to a prompt they cannot hold.
        400 | 413 | 422 | 500 if says("context_length_exceeded") || overflow::is_overflow(body) => {
            ErrorKind::Overflow
        }
        500..=599 => ErrorKind::Server,
        401 | 403 => ErrorKind::Auth,
        400 if says("content_filter") || says("content_policy_violation") => ErrorKind::Refused,
        _ => ErrorKind::BadRequest,
    }
}

fn standard_reason(status: u16, headers: &HeaderMap) -> String {
    if (300..400).contains(&status) {
        let target = headers.get(http::header::LOCATION).and_then(|value| value.to_str().ok());
        let target = target.map_or_else(String::new, |to| format!(" to {}", bounded(to)));
        return format!("a redirect{target}, which is never followed; correct the base URL");
    }
    http::StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or("no reason given")
        .to_owned()
}

#[cfg(test)]
mod tests;
