//! Server-sent events, pushed in as bytes come; the pull parsers of libraries would
//! have to own the stream that we only listen to.

/// Most bytes of one event that are kept; a longer one comes out cut.
const MAX_EVENT: usize = 1 << 20;

/// The data of events, whatever the chunks are.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_return: bool,
}

impl Events {
    /// The events that end in this chunk.
    pub(super) fn take(&mut self, chunk: &[u8]) -> Vec<Vec<u8>> {
        let mut events = Vec::new();
        let mut rest = chunk;
        if self.after_return && !rest.is_empty() {
            self.after_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            keep(&mut self.line, &rest[..end]);
            events.extend(self.end_line());
            let after = &rest[end + 1..];
            rest = match rest[end] {
                b'\r' if after.is_empty() => {
                    self.after_return = true;
                    after
                }
                b'\r' => after.strip_prefix(b"\n").unwrap_or(after),
                _ => after,
            };
        }
        keep(&mut self.line, rest);
        events
    }

    /// The event that the end of the body cut off before its blank line.
    pub(super) fn end(&mut self) -> Option<Vec<u8>> {
        self.end_line().or_else(|| self.end_event())
    }

    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return self.end_event();
        }
        if let Some(value) = line.strip_prefix(b"data:") {
            let value = value.strip_prefix(b" ").unwrap_or(value);
            if self.has_data {
                keep(&mut self.data, b"\n");
            }
            keep(&mut self.data, value);
            self.has_data = true;
        }
        None
    }

    fn end_event(&mut self) -> Option<Vec<u8>> {
        let data = std::mem::take(&mut self.data);
        std::mem::take(&mut self.has_data).then_some(data)
    }
}

fn keep(kept: &mut Vec<u8>, more: &[u8]) {
    let room = MAX_EVENT.saturating_sub(kept.len());
    kept.extend_from_slice(&more[..more.len().min(room)]);
}
