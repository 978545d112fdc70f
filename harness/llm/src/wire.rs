//! The two protocols: how a request is written and how a reply is read.

pub mod anthropic;
mod json;
pub mod openai;
mod reader;
mod reply;

use crate::delta::Viewer;
use crate::dialect::Dialect;
use crate::endpoint::Endpoint;
use crate::error::LlmError;
use crate::message::{Content, Message, Reasoning, Reply, Request, Wire};

pub use reader::Reader;

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
/// the messages of an earlier request are a prefix of a later one's, but for the marks
/// that tell Anthropic what to cache.
pub fn body(endpoint: &Endpoint, request: &Request, mode: Mode) -> Result<Vec<u8>, LlmError> {
    write(endpoint.wire, endpoint.dialect, request, mode)
}

/// The body in a dialect that was learned since.
pub(crate) fn write(
    wire: Wire,
    dialect: Dialect,
    request: &Request,
    mode: Mode,
) -> Result<Vec<u8>, LlmError> {
    let written = match wire {
        Wire::Anthropic => anthropic::render::body(request, dialect, mode),
        Wire::OpenAi => openai::render::body(request, dialect, mode),
    };
    written.map_err(|error| LlmError::unwritable(&error))
}

/// The messages of a request as this wire writes them, one text for each and without
/// cache marks, for those who compare two requests.
pub fn messages(endpoint: &Endpoint, request: &Request) -> Result<Vec<String>, LlmError> {
    let written = match endpoint.wire {
        Wire::Anthropic => anthropic::render::messages(&request.messages),
        Wire::OpenAi => openai::render::messages(request, endpoint.dialect),
    };
    written.map_err(|error| LlmError::unwritable(&error))
}

/// About how many bytes a body takes, so that it is not moved while it is written.
fn size(request: &Request) -> usize {
    /// A message's own form, and the escapes in it.
    const FRAME: usize = 128;
    /// A tool's schema is a tree; this is what most take.
    const TOOL: usize = 1024;
    let text = |length: usize| length + length / 8;
    let said = |message: &Message| match message {
        Message::User { content } => {
            content.iter().map(|Content::Text { text }| text.len()).sum::<usize>()
        }
        Message::Assistant { text, reasoning, calls } => {
            let calls = calls.iter().map(|call| call.arguments.len() + FRAME).sum::<usize>();
            let thoughts = reasoning.iter().map(|block| match block {
                Reasoning::Thinking { text, signature } => text.len() + signature.len(),
                Reasoning::Redacted { data: text } | Reasoning::Text { text } => text.len(),
            });
            text.as_ref().map_or(0, String::len) + calls + thoughts.sum::<usize>()
        }
        Message::ToolResults { results } => {
            results.iter().map(|result| result.content.len() + FRAME).sum()
        }
    };
    let messages: usize = request.messages.iter().map(|one| text(said(one)) + FRAME).sum();
    messages + text(request.system.len()) + request.tools.len() * TOOL + FRAME
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
    pub fn event(&mut self, data: &str, viewer: &mut Viewer<'_>) -> Result<Flow, LlmError> {
        match self {
            Self::Anthropic(parser) => parser.event(data, viewer),
            Self::OpenAi(parser) => parser.event(data, viewer),
        }
    }

    /// Whether the reply has its stop reason: what may still come are counts.
    pub fn is_whole(&self) -> bool {
        match self {
            Self::Anthropic(parser) => parser.is_whole(),
            Self::OpenAi(parser) => parser.is_whole(),
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
pub fn document(wire: Wire, body: &str, viewer: &mut Viewer<'_>) -> Result<Reply, LlmError> {
    match StreamParser::new(wire) {
        StreamParser::Anthropic(mut parser) => {
            parser.document(body, viewer)?;
            parser.finish()
        }
        StreamParser::OpenAi(mut parser) => {
            parser.document(body, viewer)?;
            parser.finish()
        }
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
