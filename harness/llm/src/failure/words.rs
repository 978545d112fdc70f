//! What a provider's error body says, whatever its form.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::pacing;
use crate::error::kept;

/// Longer bodies are no errors that anyone wrote; they are quoted, not read.
const LONGEST: usize = 64 * 1024;

/// How deep one gateway's error is looked for within another's.
const DEPTH: usize = 3;

/// The words of an error body: `{"error": {…}}` of both wires, `{"error": "…"}`,
/// problem details, `{"message": …}`, `{"detail": …}`, `{"errors": […]}`, and a
/// provider's error within a gateway's.
#[derive(Debug)]
pub(super) struct Words {
    /// Machine words: type, code, reason. Without repetition, the most telling first.
    names: Vec<String>,
    /// A sentence for a person.
    text: Option<String>,
    /// A status stated in the body.
    status: Option<u16>,
    /// Fields that say more than the sentence: when to ask again, how large the window is.
    facts: Vec<(&'static str, f64)>,
    paced: Paced,
}

/// Pacing stated in fields of a body.
#[derive(Debug, Default)]
struct Paced {
    /// A span.
    within: Option<Duration>,
    /// An instant.
    at: Option<Value>,
}

impl Words {
    pub(super) fn read(body: &str) -> Option<Self> {
        Self::read_within(body, DEPTH)
    }

    fn read_within(body: &str, depth: usize) -> Option<Self> {
        if body.len() > LONGEST {
            return None;
        }
        let value: Value = serde_json::from_str(body).ok()?;
        let words = Self::of_value(&value, depth)?;
        (words.text.is_some() || !words.names.is_empty()).then_some(words)
    }

    fn of_value(value: &Value, depth: usize) -> Option<Self> {
        let top = unwrapped(value)?.as_object()?;
        let listed = || top.get("errors").and_then(Value::as_array).and_then(|all| all.first());
        Some(match top.get("error").or_else(listed) {
            Some(Value::String(text)) => Self::of(&[top], Some(text), depth),
            Some(Value::Object(error)) => Self::of(&[error, top], None, depth),
            _ => Self::of(&[top], None, depth),
        })
    }

    /// Whether a document or event is an error rather than a reply.
    pub(super) fn is_error(body: &str) -> bool {
        if body.len() > LONGEST {
            return false;
        }
        let Ok(value) = serde_json::from_str::<Value>(body) else { return false };
        let Some(value) = unwrapped(&value) else { return false };
        let says = |key: &str| value.get(key).is_some_and(|word| word == "error");
        value.get("error").is_some_and(|error| !error.is_null()) || says("type") || says("object")
    }

    fn of(objects: &[&Map<String, Value>], text: Option<&str>, depth: usize) -> Self {
        let find = |key: &str| objects.iter().find_map(|object| object.get(key));
        let mut names: Vec<String> = Vec::new();
        for object in objects {
            for key in ["code", "type", "reason", "status", "error_type", "error_code"] {
                // "error" only says what we know; a URL is a problem type, not a word.
                let word = object.get(key).and_then(Value::as_str).map(last_segment);
                let telling = |word: &&str| {
                    !matches!(*word, "" | "error" | "blank")
                        && !word.contains(' ')
                        && word.parse::<f64>().is_err()
                };
                if let Some(word) = word.filter(telling)
                    && !names.iter().any(|known| known == word)
                {
                    names.push(kept(word));
                }
            }
        }
        let mut words = Self {
            names,
            text: text.map(kept).or_else(|| sentence(objects)),
            status: ["status_code", "status", "code"].iter().find_map(|key| status(find(key)?)),
            facts: facts(&find),
            paced: paced(&find),
        };
        if let Some(depth) = depth.checked_sub(1)
            && let Some(upstream) = upstream(objects, depth)
        {
            words.add(upstream);
        }
        words
    }

    /// What the provider behind a gateway says. Its words come behind the gateway's.
    fn add(&mut self, upstream: Self) {
        let told = upstream.to_string();
        self.text = Some(match self.text.take() {
            Some(text) if told.contains(&text) || text.starts_with('{') => told,
            Some(text) => format!("{text}: {told}"),
            None => told,
        });
        for name in upstream.names {
            if !self.names.contains(&name) {
                self.names.push(name);
            }
        }
        self.status = self.status.or(upstream.status);
        self.paced.within = self.paced.within.or(upstream.paced.within);
        self.paced.at = self.paced.at.take().or(upstream.paced.at);
    }

    pub(super) fn names(&self, word: &str) -> bool {
        self.names.iter().any(|name| name == word)
    }

    /// All the words, to look for some in them.
    pub(super) fn told(&self) -> String {
        let mut told = self.names.join(" ");
        if let Some(text) = &self.text {
            told.push(' ');
            told.push_str(text);
        }
        told
    }

    /// The status that an error without one of its own stands for.
    pub(super) fn status(&self) -> Option<u16> {
        self.status.or_else(|| self.names.iter().find_map(|name| status_of(name)))
    }

    /// Pacing stated in the body. An instant needs to know what time it is.
    pub(super) fn pacing(&self, now: Option<Timestamp>) -> Option<Duration> {
        let until = || {
            let now = now?.as_second();
            match self.paced.at.as_ref()? {
                Value::String(text) => pacing::instant(text, now),
                other => pacing::moment(other.as_f64()?, now),
            }
        };
        let told = || pacing::told(self.text.as_deref()?);
        self.paced.within.or_else(until).or_else(told)
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
        for (name, value) in &self.facts {
            write!(f, " ({name} {value})")?;
        }
        Ok(())
    }
}

/// Some gateways, and Google, wrap the error into a list.
fn unwrapped(value: &Value) -> Option<&Value> {
    match value {
        Value::Array(list) => list.first(),
        other => Some(other),
    }
}

/// The sentence for a person, from the innermost object that has one.
fn sentence(objects: &[&Map<String, Value>]) -> Option<String> {
    let keys = ["message", "detail", "msg", "title", "error_description", "error_message"];
    objects.iter().find_map(|object| {
        keys.iter().find_map(|key| match object.get(*key)? {
            Value::String(text) if !text.trim().is_empty() => Some(kept(text)),
            Value::Array(list) => complaints(list),
            _ => None,
        })
    })
}

/// What a validator complains about: `body.max_completion_tokens: Extra inputs are not
/// permitted`. The values it quotes are the caller's own and stay out.
fn complaints(list: &[Value]) -> Option<String> {
    let complaint = |item: &Value| {
        let text = item.get("msg").or_else(|| item.get("message"))?.as_str()?;
        let place = item.get("loc").and_then(Value::as_array).into_iter().flatten();
        let place: Vec<String> = place
            .map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned))
            .collect();
        Some(if place.is_empty() {
            text.to_owned()
        } else {
            format!("{}: {text}", place.join("."))
        })
    };
    let all: Vec<String> = list.iter().filter_map(complaint).take(5).collect();
    (!all.is_empty()).then(|| kept(&all.join("; ")))
}

/// The error of the provider behind a gateway: `OpenRouter` keeps it as text in
/// `metadata.raw`, others write its JSON where their own sentence would stand.
fn upstream(objects: &[&Map<String, Value>], depth: usize) -> Option<Words> {
    let raw = |object: &&Map<String, Value>| {
        let raw = object.get("metadata")?.get("raw")?;
        let words = match raw {
            Value::String(text) => Words::read_within(text, depth),
            other => Words::of_value(other, depth),
        };
        words.or_else(|| raw.as_str().map(Words::plain))
    };
    let inner = |object: &&Map<String, Value>| {
        let text = object.get("message")?.as_str().filter(|text| text.starts_with('{'))?;
        Words::read_within(text, depth)
    };
    objects.iter().find_map(raw).or_else(|| objects.iter().find_map(inner))
}

impl Words {
    fn plain(text: &str) -> Self {
        Self {
            names: Vec::new(),
            text: Some(kept(text)),
            status: None,
            facts: Vec::new(),
            paced: Paced::default(),
        }
    }
}

fn facts<'v>(find: &impl Fn(&str) -> Option<&'v Value>) -> Vec<(&'static str, f64)> {
    let fact = |name: &'static str| Some((name, find(name)?.as_f64()?));
    ["resets_in_seconds", "n_prompt_tokens", "n_ctx"].into_iter().filter_map(fact).collect()
}

fn paced<'v>(find: &impl Fn(&str) -> Option<&'v Value>) -> Paced {
    let number = |name: &str| {
        let value = find(name)?;
        value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
    };
    // Google's RetryInfo stands among the details.
    let retry_info = || {
        let details = find("details")?.as_array()?;
        let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
        pacing::span(delay)
    };
    let within = number("resets_in_seconds")
        .or_else(|| number("retry_after"))
        .or_else(|| number("retry_after_seconds"))
        .or_else(|| number("retry_after_ms").map(|ms| ms / 1000.0))
        .and_then(pacing::seconds)
        .or_else(retry_info);
    // OpenRouter passes the upstream's header on within the body.
    let passed_on = || find("metadata")?.get("headers")?.get("X-RateLimit-Reset");
    let at = find("resets_at").or_else(passed_on).filter(|value| !value.is_null()).cloned();
    Paced { within, at }
}

fn status(value: &Value) -> Option<u16> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

/// The word at the end of a problem type's URL.
fn last_segment(word: &str) -> &str {
    word.rsplit(['/', ':', '#']).next().unwrap_or(word)
}

/// What a machine word stands for: of both providers, of Google, Amazon and vLLM.
fn status_of(name: &str) -> Option<u16> {
    Some(match name.to_ascii_lowercase().as_str() {
        "invalid_request_error"
        | "context_length_exceeded"
        | "exceed_context_size_error"
        | "content_filter"
        | "invalid_argument"
        | "badrequesterror"
        | "validationexception" => 400,
        "authentication_error" | "invalid_api_key" | "unauthenticated" => 401,
        "billing_error" => 402,
        "permission_error" | "permission_denied" | "accessdeniedexception" => 403,
        "not_found_error" | "not_found" | "notfounderror" => 404,
        "request_too_large" => 413,
        "rate_limit_error"
        | "rate_limit_exceeded"
        | "insufficient_quota"
        | "resource_exhausted"
        | "throttlingexception"
        | "tokens"
        | "requests"
        | "usage_limit_reached" => 429,
        "api_error"
        | "server_error"
        | "internal"
        | "internal_error"
        | "internal_server_error"
        | "internalservererror"
        | "internalserverexception" => 500,
        "unavailable" | "service_unavailable" | "serviceunavailableexception" => 503,
        "timeout_error" | "deadline_exceeded" => 504,
        "overloaded_error" | "overloaded" => 529,
        _ => return None,
    })
}
