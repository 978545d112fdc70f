//! The two protocols: how a request is written and how a reply is read.

pub mod anthropic;
pub mod openai;
mod reply;

use crate::delta::Delta;
use crate::endpoint::Endpoint;
use crate::error::LlmError;
use crate::message::{Reply, Request, Wire};

/// Who serves a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic.
    Anthropic,
    /// OpenAI.
    OpenAi,
    /// Any server that speaks OpenAI Chat Completions.
    OpenAiCompatible,
}

/// The protocol for a model (KERN-03): its provider's own. A server at a base URL of
/// its own choosing is `OpenAiCompatible`; a proxy of a provider keeps its wire.
pub fn wire_for(provider: Provider) -> Wire {
    match provider {
        Provider::Anthropic => Wire::Anthropic,
        Provider::OpenAi | Provider::OpenAiCompatible => Wire::OpenAi,
    }
}

/// Whether a reply is to come in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As server-sent events.
    Stream,
    /// As one JSON document (KERN-04).
    OneShot,
}

/// The body of a request: the same bytes for the same request, and within a run
/// the messages of an earlier request are a prefix of a later one's.
pub fn body(endpoint: &Endpoint, request: &Request, mode: Mode) -> Result<Vec<u8>, LlmError> {
    let written = match endpoint.wire {
        Wire::Anthropic => anthropic::render::body(request, mode),
        Wire::OpenAi => openai::render::body(request, endpoint.dialect, mode),
    };
    written.map_err(|error| LlmError::unwritable(&error))
}

/// The messages of a request as this wire writes them, one text for each, for
/// those who compare two requests.
pub fn messages(endpoint: &Endpoint, request: &Request) -> Result<Vec<String>, LlmError> {
    let written = match endpoint.wire {
        Wire::Anthropic => anthropic::render::messages(&request.messages),
        Wire::OpenAi => openai::render::messages(request, endpoint.dialect),
    };
    written
        .map(|all| all.into_iter().map(|one| one.get().to_owned()).collect())
        .map_err(|error| LlmError::unwritable(&error))
}

/// Whether more of a reply is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Read on.
    More,
    /// The provider said that this was all.
    Done,
}

/// Reads the events of one streamed reply: a plain state machine, no I/O.
#[derive(Debug)]
pub enum StreamParser {
    /// Anthropic Messages.
    Anthropic(anthropic::stream::Parser),
    /// OpenAI Chat Completions.
    OpenAi(openai::stream::Parser),
}

impl StreamParser {
    /// A parser that has seen nothing.
    pub fn new(wire: Wire) -> Self {
        match wire {
            Wire::Anthropic => Self::Anthropic(anthropic::stream::Parser::default()),
            Wire::OpenAi => Self::OpenAi(openai::stream::Parser::default()),
        }
    }

    /// Takes the data of one event.
    pub fn event(
        &mut self,
        data: &str,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Flow, LlmError> {
        match self {
            Self::Anthropic(parser) => parser.event(data, on_delta),
            Self::OpenAi(parser) => parser.event(data, on_delta),
        }
    }

    /// The reply, once the stream has ended; an error when it ended too early.
    pub fn finish(self) -> Result<Reply, LlmError> {
        match self {
            Self::Anthropic(parser) => parser.finish(),
            Self::OpenAi(parser) => parser.finish(),
        }
    }
}

/// Reads a reply that came as one document.
pub fn document(wire: Wire, body: &str) -> Result<Reply, LlmError> {
    match wire {
        Wire::Anthropic => anthropic::document::read(body),
        Wire::OpenAi => openai::document::read(body),
    }
}

#[cfg(test)]
mod tests;
