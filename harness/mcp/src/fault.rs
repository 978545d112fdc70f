//! What a request can fail by, as it matters to the call that made it.

use std::io;

use rmcp::ServiceError;
use rmcp::service::ClientInitializeError;
use rmcp::transport::DynamicTransportError;

use crate::http::HttpFault;
use crate::redact::Redactor;

/// Of a session that ended.
const CLOSED: &str = "the connection closed";

/// Of one that never began.
const NO_HELLO: &str = "it closed the connection before it had said hello";

/// Why a request brought no result. Each has words that say what was wrong, without any
/// secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It never left: there is nobody to send it to.
    Unsent(String),
    /// It was sent, and its session died.
    Lost(String),
    /// It was sent, and whether it was carried out is not known; the session lives.
    Doubtful(String),
    /// The server said no; the session lives.
    Refused(String),
}

impl Fault {
    /// Of a request in a running session.
    pub(crate) fn of_request(error: ServiceError, redactor: &Redactor) -> Self {
        match error {
            ServiceError::McpError(data) => {
                let words = match data.data {
                    Some(more) if !more.is_null() => format!("{} ({more})", data.message),
                    Some(_) | None => data.message.into_owned(),
                };
                Self::Refused(redactor.short(&words))
            }
            ServiceError::TransportSend(error) => of_transport(&error, redactor),
            ServiceError::TransportClosed => Self::of_closed(),
            ServiceError::Cancelled { reason } => {
                Self::Doubtful(format!("cancelled: {}", reason.unwrap_or_default()))
            }
            other => Self::Doubtful(redactor.short(&other.to_string())),
        }
    }

    /// Of a session that ended while a request was under way.
    pub(crate) fn of_closed() -> Self {
        Self::Lost(CLOSED.to_owned())
    }

    /// Of the handshake, in words.
    pub(crate) fn of_handshake(error: &ClientInitializeError, redactor: &Redactor) -> String {
        match error {
            ClientInitializeError::TransportError { error, context: _ } if is_closed(error) => {
                NO_HELLO.to_owned()
            }
            ClientInitializeError::TransportError { error, context: _ } => {
                of_transport(error, redactor).into_words()
            }
            ClientInitializeError::ConnectionClosed(_) => NO_HELLO.to_owned(),
            ClientInitializeError::JsonRpcError(data) => {
                redactor.short(&format!("it refused the handshake: {}", data.message))
            }
            other => redactor.short(&format!("it does not speak MCP as expected: {other}")),
        }
    }

    pub(crate) fn into_words(self) -> String {
        match self {
            Self::Unsent(words)
            | Self::Lost(words)
            | Self::Doubtful(words)
            | Self::Refused(words) => words,
        }
    }

    /// The same fault in other words.
    pub(crate) fn map(self, change: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Unsent(words) => Self::Unsent(change(words)),
            Self::Lost(words) => Self::Lost(change(words)),
            Self::Doubtful(words) => Self::Doubtful(change(words)),
            Self::Refused(words) => Self::Refused(change(words)),
        }
    }
}

/// Whether a child no longer reads.
fn is_closed(error: &DynamicTransportError) -> bool {
    let error = error.error.downcast_ref::<io::Error>();
    error.is_some_and(|error| {
        matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::NotConnected)
    })
}

fn of_transport(error: &DynamicTransportError, redactor: &Redactor) -> Fault {
    match error.error.downcast_ref::<HttpFault>() {
        None if is_closed(error) => Fault::Lost(CLOSED.to_owned()),
        Some(fault) => of_http(fault, redactor),
        None => Fault::Lost(format!("the connection broke: {}", error.error)),
    }
}

fn of_http(fault: &HttpFault, redactor: &Redactor) -> Fault {
    match fault {
        HttpFault::SessionExpired => {
            Fault::Lost("it no longer knows this session (HTTP 404)".to_owned())
        }
        HttpFault::TransportChannelClosed => Fault::Lost(CLOSED.to_owned()),
        HttpFault::AuthRequired(_) => Fault::Refused(unauthorized(401)),
        HttpFault::InsufficientScope(_) => Fault::Refused(unauthorized(403)),
        HttpFault::HttpStatus(error) => of_status(error.status),
        HttpFault::Client(error) => of_reqwest(error),
        HttpFault::UnexpectedServerResponse(words) => unexpected(words, redactor),
        HttpFault::UnexpectedContentType(kind) => Fault::Doubtful(format!(
            "it answered with {} where JSON or an event stream was due: check that the URL is its MCP endpoint",
            redactor.short(kind.as_deref().unwrap_or("no content type"))
        )),
        HttpFault::ResponseBodyTooLarge { max_size } => {
            Fault::Doubtful(format!("its answer is larger than {max_size} bytes"))
        }
        other => Fault::Lost(redactor.short(&other.to_string())),
    }
}

fn of_reqwest(error: &reqwest::Error) -> Fault {
    // The outermost words carry the URL, which may carry a secret.
    let mut words = String::new();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        words = cause.to_string();
        source = cause.source();
    }
    if error.is_connect() {
        Fault::Unsent(format!("it cannot be reached: {words}: check its URL and that it runs"))
    } else if error.is_builder() {
        Fault::Unsent(format!("the request cannot be made: {words}"))
    } else {
        Fault::Lost(format!("the connection broke: {words}"))
    }
}

fn of_status(status: u16) -> Fault {
    match status {
        429 => Fault::Refused("it limits its callers now (HTTP 429): try again later".to_owned()),
        // Not so 503: a proxy answers it too where its server broke off in the middle of a call.
        status => Fault::Doubtful(format!("it failed with HTTP {status}")),
    }
}

/// rmcp gives a status that it has no use for as `HTTP <status>: <body>`.
fn unexpected(words: &str, redactor: &Redactor) -> Fault {
    let status = words
        .strip_prefix("HTTP ")
        .and_then(|rest| rest.split([' ', ':']).next())
        .and_then(|status| status.parse::<u16>().ok());
    match status {
        Some(401) => Fault::Refused(unauthorized(401)),
        Some(403) => Fault::Refused(unauthorized(403)),
        Some(status @ 300..=399) => Fault::Refused(format!(
            "it answered with a redirect (HTTP {status}), which is not followed: give the final URL"
        )),
        Some(404 | 405) => Fault::Refused(format!(
            "{}: check that the URL is its MCP endpoint",
            redactor.short(words.trim_end_matches([':', ' ']))
        )),
        Some(_) => Fault::Refused(redactor.short(words)),
        None => Fault::Doubtful(redactor.short(words)),
    }
}

fn unauthorized(status: u16) -> String {
    format!("it refuses our credentials (HTTP {status}): check the Authorization it is given")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(
        "HTTP 302 Found: <html>",
        "it answered with a redirect (HTTP 302), which is not followed: give the final URL"
    )]
    #[case(
        "HTTP 401 Unauthorized: who",
        "it refuses our credentials (HTTP 401): check the Authorization it is given"
    )]
    #[case("HTTP 404 Not Found: ", "HTTP 404 Not Found: check that the URL is its MCP endpoint")]
    fn a_status_says_what_to_do(#[case] words: &str, #[case] told: &str) {
        assert_eq!(unexpected(words, &Redactor::default()), Fault::Refused(told.to_owned()));
    }
}
