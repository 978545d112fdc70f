//! What a provider's error body says, whatever its form.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::pacing;
use crate::error::bounded;

/// The words of an error body: `{"error": {…}}` of both wires, `{"error": "…"}`,
/// problem details, `{"message": …}` or `{"detail": …}`.
#[derive(Debug)]
pub(super) struct Words {
    /// Machine words: type, code, reason. Without repetition, the most telling first.
    names: Vec<String>,
    /// A sentence for a person.
    text: Option<String>,
    /// A status stated in the body.
    status: Option<u16>,
    resets_in_seconds: Option<f64>,
    resets_at: Option<i64>,
}

impl Words {
    pub(super) fn read(body: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(body).ok()?;
        // Some gateways wrap the error into a list.
        let top = match &value {
            Value::Array(list) => list.first()?,
            other => other,
        };
        let top = top.as_object()?;
        let words = match top.get("error") {
            Some(Value::String(text)) => Self::of(&[top], Some(text)),
            Some(Value::Object(error)) => Self::of(&[error, top], None),
            _ => Self::of(&[top], None),
        };
        (words.text.is_some() || !words.names.is_empty()).then_some(words)
    }

    /// Whether a document is an error rather than a reply.
    pub(super) fn is_error(body: &str) -> bool {
        let value: Option<Value> = serde_json::from_str(body).ok();
        let error = value.as_ref().and_then(|value| value.get("error"));
        error.is_some_and(|error| !error.is_null())
    }

    fn of(objects: &[&Map<String, Value>], text: Option<&str>) -> Self {
        let inner = objects[0];
        let find = |key: &str| objects.iter().find_map(|object| object.get(key));
        let mut names: Vec<String> = Vec::new();
        for object in objects {
            for key in ["code", "type", "reason"] {
                // "error" only says what we know; a URL is a problem type, not a word.
                let word = object.get(key).and_then(Value::as_str).map(last_segment);
                let telling =
                    |word: &&str| !matches!(*word, "" | "error" | "blank") && !word.contains(' ');
                if let Some(word) = word.filter(telling)
                    && !names.iter().any(|known| known == word)
                {
                    names.push(word.to_owned());
                }
            }
        }
        let text = text.or_else(|| {
            ["message", "detail", "title", "error_description"]
                .iter()
                .find_map(|key| inner.get(*key).and_then(Value::as_str))
                .filter(|text| !text.is_empty())
        });
        let status = find("status_code")
            .or_else(|| find("status"))
            .or_else(|| find("code"))
            .and_then(Value::as_u64)
            .and_then(|status| u16::try_from(status).ok())
            .filter(|status| (400..600).contains(status));
        Self {
            names,
            text: text.map(bounded),
            status,
            resets_in_seconds: find("resets_in_seconds").and_then(Value::as_f64),
            resets_at: find("resets_at").and_then(Value::as_i64),
        }
    }

    pub(super) fn names(&self, word: &str) -> bool {
        self.names.iter().any(|name| name == word)
    }

    /// The status that an error without one of its own stands for.
    pub(super) fn status(&self) -> Option<u16> {
        self.status.or_else(|| self.names.iter().find_map(|name| status_of(name)))
    }

    /// Pacing stated in the body.
    pub(super) fn pacing(&self, now: Timestamp) -> Option<Duration> {
        self.relative_pacing().or_else(|| self.resets_at.and_then(|at| pacing::until(at, now)))
    }

    /// Pacing stated in the body as a span.
    pub(super) fn relative_pacing(&self) -> Option<Duration> {
        self.resets_in_seconds.and_then(pacing::seconds)
    }
}

impl fmt::Display for Words {
    /// `usage_limit_reached: The usage limit has been reached (resets_in_seconds 3600)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.names.first(), &self.text) {
            (Some(name), Some(text)) if text.contains(name.as_str()) => f.write_str(text)?,
            (Some(name), Some(text)) => write!(f, "{name}: {text}")?,
            (Some(name), None) => f.write_str(name)?,
            (None, Some(text)) => f.write_str(text)?,
            (None, None) => f.write_str("no reason given")?,
        }
        match self.resets_in_seconds {
            Some(seconds) => write!(f, " (resets_in_seconds {seconds})"),
            None => Ok(()),
        }
    }
}

/// The word at the end of a problem type's URL.
fn last_segment(word: &str) -> &str {
    word.rsplit(['/', ':', '#']).next().unwrap_or(word)
}

fn status_of(name: &str) -> Option<u16> {
    match name {
        "invalid_request_error" | "context_length_exceeded" | "content_filter" => Some(400),
        "authentication_error" | "invalid_api_key" => Some(401),
        "billing_error" => Some(402),
        "permission_error" => Some(403),
        "not_found_error" => Some(404),
        "request_too_large" => Some(413),
        "rate_limit_error"
        | "rate_limit_exceeded"
        | "insufficient_quota"
        | "tokens"
        | "requests"
        | "usage_limit_reached" => Some(429),
        "api_error" | "server_error" | "internal_server_error" => Some(500),
        "timeout_error" => Some(504),
        "overloaded_error" | "overloaded" => Some(529),
        _ => None,
    }
}
