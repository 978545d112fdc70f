//! What a server demands of a request beyond its wire's common form. A refusal of this kind
//! is a 400 in the words that the real ones use; the request is not unlawful, and a client
//! learns from it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::captured::{Captured, Role, Wire};
use super::remembered::Remembered;
use super::reply::Reply;

/// Fields that a server refuses, and what it wants back.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Strict {
    model: Option<String>,
    refuses: Vec<String>,
    words: BTreeMap<String, String>,
    echo_reasoning: bool,
}

impl Strict {
    /// Holds for requests for this model alone.
    #[must_use]
    pub fn for_model(mut self, model: impl Into<String>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Refuses a request that has this field at its top.
    #[must_use]
    pub fn refusing(mut self, field: impl Into<String>) -> Self {
        self.refuses.push(field.into());
        self
    }

    /// Refuses it in these words instead of OpenAI's or Anthropic's own.
    #[must_use]
    pub fn refusing_in_words(mut self, field: &str, words: impl Into<String>) -> Self {
        self.words.insert(field.to_owned(), words.into());
        self.refusing(field)
    }

    /// Demands, as `DeepSeek` does, that the model's reasoning comes back with its calls,
    /// byte for byte. OpenAI's form only: Anthropic's demands it always.
    #[must_use]
    pub fn echoing_reasoning(mut self) -> Self {
        self.echo_reasoning = true;
        self
    }

    /// The refusal of this request, if it is one to refuse.
    pub(super) fn refusal(&self, request: &Captured, said: &Remembered) -> Option<Reply> {
        let Self { model, refuses, words, echo_reasoning } = self;
        if model.as_ref().is_some_and(|model| model != request.model()) {
            return None;
        }
        if let Some(field) = refuses.iter().find(|field| request.body.get(field.as_str()).is_some())
        {
            let body = match words.get(field) {
                Some(words) => error(request.wire, words, None, None),
                None => refused(request, field),
            };
            return Some(Reply::json(400, &body));
        }
        let lacks = *echo_reasoning && request.wire == Wire::OpenAi && !echoed(request, said);
        let words = "The `reasoning_content` in the thinking mode must be passed back to the API.";
        let code = Some("invalid_request_error");
        lacks.then(|| Reply::json(400, &error(request.wire, words, None, code)))
    }
}

/// Whether all calls came back with reasoning, and those since the user's last word with the
/// very reasoning that led to them.
fn echoed(request: &Captured, said: &Remembered) -> bool {
    let messages = request.conversation();
    let turn = messages.iter().rposition(|one| one.role == Role::User).unwrap_or(0);
    let spoken = messages.iter().enumerate().filter(|(_, one)| !one.calls.is_empty());
    spoken.into_iter().all(|(place, one)| {
        let echoed = one.thinking.first().map(|(text, _)| text.as_str());
        let known = one.calls.first().and_then(|call| said.of(&call.id));
        let expected = known.and_then(|said| said.thinking.as_deref()).filter(|_| place > turn);
        echoed.is_some() && (expected.is_none() || echoed == expected)
    })
}

/// OpenAI's own words about this field, or Anthropic's.
fn refused(request: &Captured, field: &str) -> Value {
    let unsupported = Some("unsupported_parameter");
    let wire = request.wire;
    match (wire, field) {
        (Wire::Anthropic, "temperature") => {
            error(wire, "`temperature` is deprecated for this model.", None, None)
        }
        (Wire::Anthropic, _) => {
            let words = format!("{field}: Extra inputs are not permitted");
            error(wire, &words, None, None)
        }
        (Wire::OpenAi, "max_tokens") => {
            let words = "Unsupported parameter: 'max_tokens' is not supported with this model. \
                         Use 'max_completion_tokens' instead.";
            error(wire, words, Some(field), unsupported)
        }
        (Wire::OpenAi, "temperature") => {
            let words = format!(
                "Unsupported value: 'temperature' does not support {} with this model. Only the \
                 default (1) value is supported.",
                request.body["temperature"]
            );
            error(wire, &words, Some(field), Some("unsupported_value"))
        }
        (Wire::OpenAi, _) => {
            let words = format!("Unrecognized request argument supplied: {field}");
            error(wire, &words, None, None)
        }
    }
}

fn error(wire: Wire, words: &str, param: Option<&str>, code: Option<&str>) -> Value {
    let kind = "invalid_request_error";
    match wire {
        Wire::Anthropic => json!({
            "type": "error", "error": {"type": kind, "message": words},
            "request_id": "req_scripted",
        }),
        Wire::OpenAi => {
            json!({"error": {"message": words, "type": kind, "param": param, "code": code}})
        }
    }
}
