//! A streamed reply out of bytes: the event decoder and a wire's parser in one. No I/O,
//! no clock.

use super::{Flow, StreamParser};
use crate::delta::Viewer;
use crate::error::{ErrorKind, LlmError};
use crate::failure;
use crate::message::{Reply, Wire};
use crate::sse::{Decoder, Event, Malformed};

/// Reads one streamed reply, in whatever chunks its bytes come.
#[derive(Debug)]
pub struct Reader {
    decoder: Decoder,
    parser: StreamParser,
}

impl Reader {
    /// A reader that has seen nothing.
    pub fn new(wire: Wire) -> Self {
        Self { decoder: Decoder::new(), parser: StreamParser::new(wire) }
    }

    /// Takes the next bytes. [`Flow::Done`] when the provider said that this was all.
    pub fn take(&mut self, chunk: &[u8], viewer: &mut Viewer<'_>) -> Result<Flow, LlmError> {
        let mut rest = chunk;
        while let Some(event) = self.decoder.next(&mut rest).map_err(malformed)? {
            if give(&mut self.parser, event, viewer)? == Flow::Done {
                return Ok(Flow::Done);
            }
        }
        Ok(Flow::More)
    }

    /// Whether the reply has its stop reason: what may still come are counts.
    pub fn is_whole(&self) -> bool {
        self.parser.is_whole()
    }

    /// The reply, once the stream has ended; an error when it ended too early.
    pub fn finish(mut self, viewer: &mut Viewer<'_>) -> Result<Reply, LlmError> {
        // A last event may lack its blank line, or be cut: then it is no event at all.
        match self.decoder.finish() {
            Ok(Some(event)) => match give(&mut self.parser, event, viewer) {
                Ok(Flow::More | Flow::Done) => {}
                Err(error) if error.kind == ErrorKind::Broken => {}
                Err(error) => return Err(error),
            },
            Ok(None) | Err(Malformed::NotUtf8(_)) => {}
            Err(error) => return Err(malformed(error)),
        }
        self.parser.finish()
    }
}

fn give(
    parser: &mut StreamParser,
    event: Event<'_>,
    viewer: &mut Viewer<'_>,
) -> Result<Flow, LlmError> {
    let Event { data, is_error } = event;
    if data.is_empty() {
        return Ok(Flow::More);
    }
    if is_error {
        return Err(failure::from_event(data));
    }
    parser.event(data, viewer)
}

fn malformed(error: Malformed) -> LlmError {
    LlmError::broken(&error.to_string())
}
