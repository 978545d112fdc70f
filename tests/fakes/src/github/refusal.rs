//! Answers that GitHub gives instead of doing what it was asked, in its own words.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::http::{json as answer, text};

const DOCUMENTATION: &str = "https://docs.github.com/rest";

/// What goes wrong. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Requests that are refused; the first that fits holds.
    pub refuse: Vec<Refusal>,
}

/// Requests that are refused whatever they say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// Those about this repository, such as `acme/greeting`; absent: about any.
    #[serde(default)]
    pub repository: Option<String>,
    /// Those of this method; absent: of any.
    #[serde(default)]
    pub method: Option<String>,
    /// The answer's status.
    pub status: u16,
    /// Its message; absent: GitHub's own for this status.
    #[serde(default)]
    pub message: Option<String>,
    /// A rate limit: when to come again, in seconds.
    #[serde(default)]
    pub retry_after: Option<u64>,
    /// At most so often; absent: always.
    #[serde(default)]
    pub times: Option<usize>,
}

impl Faults {
    /// The answer to a request that is refused.
    pub(super) fn take(&mut self, repository: &str, method: &str) -> Option<Answer> {
        let fits = |one: &&mut Refusal| {
            one.times != Some(0)
                && one.repository.as_ref().is_none_or(|wanted| wanted == repository)
                && one.method.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(method))
        };
        let refusal = self.refuse.iter_mut().find(fits)?;
        refusal.times = refusal.times.map(|times| times.saturating_sub(1));
        Some(refusal.answer())
    }
}

impl Refusal {
    fn answer(&self) -> Answer {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::IM_A_TEAPOT);
        let usual = match (self.status, self.retry_after) {
            (_, Some(_)) => {
                "You have exceeded a secondary rate limit. Please wait a few minutes before you \
                 try again."
            }
            (401, _) => "Bad credentials",
            (403, _) => "Resource not accessible by personal access token",
            (404, _) => "Not Found",
            (422, _) => "Validation Failed",
            (500.., _) => "Server Error",
            _ => "Refused",
        };
        let message = self.message.as_deref().unwrap_or(usual);
        Answer { retry_after: self.retry_after, ..Answer::new(status, message) }
    }
}

/// An answer that is an error.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    status: StatusCode,
    message: String,
    errors: Vec<Value>,
    retry_after: Option<u64>,
}

impl Answer {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), errors: Vec::new(), retry_after: None }
    }

    /// No such thing, or none that this token may see.
    pub(super) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not Found")
    }

    pub(super) fn bad_credentials() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Bad credentials")
    }

    pub(super) fn requires_authentication() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Requires authentication")
    }

    pub(super) fn not_json() -> Self {
        Self::new(StatusCode::BAD_REQUEST, "Problems parsing JSON")
    }

    /// What the stand-in itself could not do.
    pub(super) fn broken(error: &anyhow::Error) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}"))
    }

    /// A body without a field that must be there, or with one of another type.
    pub(super) fn invalid_request(words: &str) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, format!("Invalid request.\n\n{words}"))
    }

    /// A field whose value does not do.
    pub(super) fn invalid(field: &str) -> Self {
        Self::validation(json!({"resource": "PullRequest", "field": field, "code": "invalid"}))
    }

    /// Something that a sentence explains.
    pub(super) fn custom(message: &str) -> Self {
        Self::validation(json!({"resource": "PullRequest", "code": "custom", "message": message}))
    }

    fn validation(error: Value) -> Self {
        Self {
            errors: vec![error],
            ..Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Validation Failed")
        }
    }

    pub(super) fn response(&self) -> Response<Full<Bytes>> {
        let Self { status, message, errors, retry_after } = self;
        let mut body = json!({
            "message": message, "documentation_url": DOCUMENTATION,
            "status": status.as_u16().to_string(),
        });
        if !errors.is_empty() {
            body["errors"] = json!(errors);
        }
        let mut response = answer(*status, &body);
        if let Some(seconds) = retry_after {
            let headers = response.headers_mut();
            headers.insert("retry-after", HeaderValue::from(*seconds));
            headers.insert("x-ratelimit-remaining", HeaderValue::from_static("0"));
        }
        response
    }
}

/// What GitHub tells a client that does not say who it is: in words, not in JSON.
pub(super) fn no_user_agent() -> Response<Full<Bytes>> {
    let words = "Request forbidden by administrative rules. Please make sure your request has a \
                 User-Agent header.\n";
    text(StatusCode::FORBIDDEN, "text/plain; charset=utf-8", words)
}
