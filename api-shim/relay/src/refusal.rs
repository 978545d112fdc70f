//! What the relay itself answers when there is no provider's answer to pass on.

use bytes::Bytes;
use foundry_llm::Wire;
use http::StatusCode;
use serde_json::{Value, json};

use crate::body::BadBody;
use crate::broker::BrokerError;
use crate::resolve::ResolveError;
use crate::upstream::BadBaseUrl;

/// Why a call was not, or not successfully, sent to a provider.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The body is no request for a model.
    #[error("{0}")]
    Body(String),
    /// The model string names no Model.
    #[error("{0}")]
    Model(#[from] ResolveError),
    /// The Model speaks the other wire.
    #[error("Model {model} speaks the {} form, and this is the {} route", form(*speaks), form(other(*speaks)))]
    Wire {
        /// Name of the Model.
        model: String,
        /// What it speaks.
        speaks: Wire,
    },
    /// The Models or the Secret could not be read.
    #[error("failed to read {what}: {words}")]
    Source {
        /// What was read.
        what: String,
        /// Why not.
        words: String,
    },
    /// The Secret or its key is missing.
    #[error("Model {model} needs Secret {secret} with key {key}, which is not there")]
    SecretMissing {
        /// Name of the Model.
        model: String,
        /// Name of the Secret.
        secret: String,
        /// Key in it.
        key: String,
    },
    /// No header can carry the key.
    #[error(
        "the key of Model {model} in Secret {secret} holds line breaks or other characters that no header can carry"
    )]
    SecretUnusable {
        /// Name of the Model.
        model: String,
        /// Name of the Secret.
        secret: String,
    },
    /// The Model has no usable address.
    #[error("Model {model}: {problem}")]
    Address {
        /// Name of the Model.
        model: String,
        /// What is wrong with it.
        problem: BadBaseUrl,
    },
    /// The broker's token or the agent's mailbox is missing (BIND-04).
    #[error("Model {model} is served by the broker: {problem}")]
    Broker {
        /// Name of the Model.
        model: String,
        /// What is missing.
        problem: BrokerError,
    },
    /// No answer within the limit (LOOP-20).
    #[error("the provider of Model {model} sent no response headers within {seconds} s")]
    Timeout {
        /// Name of the Model.
        model: String,
        /// The limit.
        seconds: u64,
    },
    /// No connection, or one that broke before the answer.
    #[error("the provider of Model {model} could not be reached: {words}")]
    Unreachable {
        /// Name of the Model.
        model: String,
        /// The network's words.
        words: String,
    },
    /// This process ends.
    #[error("the relay is ending")]
    Ending,
}

impl From<BadBody> for Refusal {
    fn from(body: BadBody) -> Self {
        Self::Body(body.to_string())
    }
}

impl Refusal {
    /// HTTP status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Body(_) | Self::Wire { .. } => StatusCode::BAD_REQUEST,
            Self::Model(_) => StatusCode::NOT_FOUND,
            // Each of these may be put right without the caller: it may try again.
            Self::Source { .. }
            | Self::SecretMissing { .. }
            | Self::SecretUnusable { .. }
            | Self::Address { .. }
            | Self::Broker { .. }
            | Self::Ending => StatusCode::SERVICE_UNAVAILABLE,
            Self::Timeout { .. } => StatusCode::GATEWAY_TIMEOUT,
            Self::Unreachable { .. } => StatusCode::BAD_GATEWAY,
        }
    }

    /// One stable word.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Body(_) => "InvalidBody",
            Self::Wire { .. } => "WrongWire",
            Self::Model(ResolveError::NoAuto) => "NoAutoModel",
            Self::Model(ResolveError::Unknown { .. }) => "UnknownModel",
            Self::Source { .. } => "ModelsUnavailable",
            Self::SecretMissing { .. } => "SecretKeyMissing",
            Self::SecretUnusable { .. } => "SecretKeyUnusable",
            Self::Address { .. } => "BaseUrlInvalid",
            Self::Broker { problem: BrokerError::NoMailbox, .. } => "NoMailbox",
            Self::Broker { .. } => "BrokerTokenUnreadable",
            Self::Timeout { .. } => "UpstreamTimeout",
            Self::Unreachable { .. } => "UpstreamUnreachable",
            Self::Ending => "Ending",
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Body(_) => {
                "send the provider's own JSON body, with model set to auto or a wireId".into()
            }
            Self::Wire { speaks: Wire::OpenAi, .. } => {
                "POST the OpenAI form to /v1/relay/chat/completions".into()
            }
            Self::Wire { speaks: Wire::Anthropic, .. } => {
                "POST the Anthropic form to /v1/relay/messages".into()
            }
            Self::Model(ResolveError::NoAuto) => {
                "create a Model with provider openai and wireId gpt-5-mini (or upstreamModel \
                 gpt-5-mini), or set the agent's model to the wireId of another"
                    .into()
            }
            Self::Model(ResolveError::Unknown { .. }) => {
                "set the agent's model to auto or to a wireId listed by GET /v1/models".into()
            }
            Self::Source { .. } => {
                "try again; if it lasts, check that the API can read Models and Secrets".into()
            }
            Self::SecretMissing { secret, key, .. } => {
                format!(
                    "kubectl create secret generic {secret} --from-file={key}=<file with the key>"
                )
            }
            Self::SecretUnusable { secret, .. } => {
                format!("write the provider's key alone, on one line, into Secret {secret}")
            }
            Self::Address { .. } => "correct spec.baseUrl of the Model".into(),
            Self::Broker { problem: BrokerError::NoMailbox, .. } => {
                "try again when the operator has given the agent its mailbox".into()
            }
            Self::Broker { .. } => "write the service token, on one line, into the file that \
                 FOUNDRY_BROKER_TOKEN_FILE names"
                .into(),
            Self::Timeout { .. } => "try again, or use a faster model".into(),
            Self::Unreachable { .. } => {
                "check that the provider runs and that spec.baseUrl is right; then try again".into()
            }
            Self::Ending => "try again; another process answers".into(),
        }
    }

    /// The answer's body: the wire's own error form, so that the provider's clients
    /// understand it, with the fields of a problem beside it.
    pub(crate) fn body(&self, wire: Wire, request_id: &str) -> Bytes {
        let message = format!("{self}; {}", self.remedy());
        let status = self.status();
        let mut body = json!({
            "title": status.canonical_reason().unwrap_or_default(),
            "status": status.as_u16(),
            "detail": self.to_string(),
            "reason": self.reason(),
            "remedy": self.remedy(),
            "request_id": request_id,
        });
        match wire {
            Wire::OpenAi => {
                body["type"] = json!(format!("urn:foundry:problem:{}", self.reason()));
                body["error"] = json!({
                    "message": message,
                    "type": self.openai_type(),
                    "code": self.reason(),
                    "param": Value::Null,
                });
            }
            Wire::Anthropic => {
                body["type"] = json!("error");
                body["error"] = json!({"type": self.anthropic_type(), "message": message});
            }
        }
        body.to_string().into()
    }

    fn openai_type(&self) -> &'static str {
        if self.status().is_client_error() { "invalid_request_error" } else { "server_error" }
    }

    fn anthropic_type(&self) -> &'static str {
        match self.status() {
            StatusCode::NOT_FOUND => "not_found_error",
            StatusCode::GATEWAY_TIMEOUT => "timeout_error",
            status if status.is_client_error() => "invalid_request_error",
            _ => "api_error",
        }
    }
}

fn form(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "Anthropic",
        Wire::OpenAi => "OpenAI",
    }
}

fn other(wire: Wire) -> Wire {
    match wire {
        Wire::Anthropic => Wire::OpenAi,
        Wire::OpenAi => Wire::Anthropic,
    }
}
