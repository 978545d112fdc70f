//! What the model answers, and how the answer goes wrong.

use serde_json::Value;

use super::gate::Gate;

/// One answer. Start with a constructor, add with the `and_…` and `with_…` methods.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) play: Play,
    pub(super) gates: Vec<(Point, Gate)>,
    pub(super) fault: Option<(Point, Break)>,
}

#[derive(Clone, Debug)]
pub(super) enum Play {
    Completion(Completion),
    Failure(Failure),
    Overflow(Overflow),
    Raw(Raw),
}

/// A completion, in neither wire's form.
#[derive(Clone, Debug, Default)]
pub(super) struct Completion {
    pub thinking: Option<String>,
    pub text: Option<String>,
    /// Name and arguments; raw, for they may be cut.
    pub calls: Vec<(String, String)>,
    pub stop: Stop,
    pub usage: Option<Usage>,
    /// Leaves a gap between the indices of tool calls.
    pub index_gap: bool,
    /// Ends the stream without its last event.
    pub without_end: bool,
}

/// Why the model stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stop {
    /// `tool_use` when there are calls, else the end of the turn.
    #[default]
    Fitting,
    /// The output cap.
    Length,
    /// A refusal.
    Refusal,
    /// No reason is given at all.
    Missing,
}

/// Tokens that a reply claims, instead of those counted from the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input tokens, those from the cache not included.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from the cache.
    pub cache_read: u64,
    /// Input tokens written to the cache; only Anthropic says so.
    pub cache_write: u64,
}

/// A refusal with a status, in the wire's error form.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub status: u16,
    /// `error.type` of Anthropic, `error.code` of OpenAI.
    pub kind: String,
    pub message: String,
    pub pacing: Option<Pacing>,
}

/// How a limited response states its pacing. Dates are given relative to the
/// response's own `Date` header.
#[derive(Clone, Debug, PartialEq)]
pub enum Pacing {
    /// `Retry-After` exactly as written here.
    RetryAfter(String),
    /// `Retry-After` as an HTTP date this many seconds away.
    Date(i64),
    /// `retry-after-ms`.
    Milliseconds(u64),
    /// `anthropic-ratelimit-unified-reset`, this many seconds away.
    UnifiedReset(i64),
    /// `resets_in_seconds` in the body.
    Body(u64),
}

/// How a provider words an overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// As the wire's own provider does.
    Native,
    /// llama.cpp.
    LlamaCpp,
    /// vLLM.
    Vllm,
    /// OpenAI's newer wording, without a number.
    Window,
}

/// A place in a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Before the response's headers.
    Headers,
    /// Right after the headers, before any event.
    Body,
    /// After the first piece of text.
    Text,
    /// After the first piece of a call's arguments.
    Arguments,
    /// After this many events.
    Event(usize),
    /// Before the last event.
    End,
}

/// What happens to a reply at its [`Point`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Break {
    /// Nothing more ever comes.
    Silence,
    /// Half an event comes, then nothing.
    SilenceInEvent,
    /// The connection breaks.
    Reset,
    /// The connection breaks inside a character of several bytes.
    ResetInCharacter,
    /// The body ends as if it were whole.
    Close,
    /// An error event of this type with these words.
    Error(String, String),
}

/// A response byte by byte.
#[derive(Clone, Debug)]
pub struct Raw {
    /// Status.
    pub status: u16,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// The body's chunks, each written alone.
    pub chunks: Vec<Vec<u8>>,
}

impl Raw {
    /// A body of one chunk.
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Self { status, headers, chunks: vec![body.into()] }
    }

    /// The same body in chunks of `size` bytes.
    #[must_use]
    pub fn in_chunks_of(mut self, size: usize) -> Self {
        let body = self.chunks.concat();
        self.chunks = body.chunks(size.max(1)).map(<[u8]>::to_vec).collect();
        self
    }
}

impl Reply {
    fn of(play: Play) -> Self {
        Self { play, gates: Vec::new(), fault: None }
    }

    fn completion(completion: Completion) -> Self {
        Self::of(Play::Completion(completion))
    }

    /// Says this.
    pub fn text(text: impl Into<String>) -> Self {
        Self::completion(Completion { text: Some(text.into()), ..Completion::default() })
    }

    /// Calls this tool.
    pub fn call(tool: impl Into<String>, arguments: impl Into<Value>) -> Self {
        Self::completion(Completion::default()).and_call(tool, arguments)
    }

    /// Thinks this first.
    pub fn thinking(thought: impl Into<String>) -> Self {
        Self::completion(Completion { thinking: Some(thought.into()), ..Completion::default() })
    }

    /// Refuses with these words.
    pub fn refusal(text: impl Into<String>) -> Self {
        Self::text(text).with_stop(Stop::Refusal)
    }

    /// Says nothing; with [`Stop::Missing`] not even why.
    pub fn empty(stop: Stop) -> Self {
        Self::completion(Completion { stop, ..Completion::default() })
    }

    /// A refusal with this status and these words, in the wire's own form.
    pub fn failure(status: u16, kind: impl Into<String>, message: impl Into<String>) -> Self {
        Self::of(Play::Failure(Failure {
            status,
            kind: kind.into(),
            message: message.into(),
            pacing: None,
        }))
    }

    /// 429, paced so.
    pub fn limited(pacing: Pacing) -> Self {
        Self::failure(429, "usage_limit_reached", "The usage limit has been reached").paced(pacing)
    }

    /// 529, or any other status that says overloaded.
    pub fn overloaded(status: u16) -> Self {
        Self::failure(status, "overloaded_error", "Overloaded")
    }

    /// 400: the prompt is too long.
    pub fn overflow(wording: Overflow) -> Self {
        Self::of(Play::Overflow(wording))
    }

    /// Exactly these bytes.
    pub fn raw(raw: Raw) -> Self {
        Self::of(Play::Raw(raw))
    }

    fn map(mut self, change: impl FnOnce(&mut Completion)) -> Self {
        if let Play::Completion(completion) = &mut self.play {
            change(completion);
        }
        self
    }

    /// And says this, before any call.
    #[must_use]
    pub fn and_text(self, text: impl Into<String>) -> Self {
        self.map(|completion| completion.text = Some(text.into()))
    }

    /// And calls this tool.
    #[must_use]
    pub fn and_call(self, tool: impl Into<String>, arguments: impl Into<Value>) -> Self {
        self.and_raw_call(tool, arguments.into().to_string())
    }

    /// And calls this tool with arguments that may be no JSON.
    #[must_use]
    pub fn and_raw_call(self, tool: impl Into<String>, arguments: impl Into<String>) -> Self {
        self.map(|completion| completion.calls.push((tool.into(), arguments.into())))
    }

    /// Stops for this reason.
    #[must_use]
    pub fn with_stop(self, stop: Stop) -> Self {
        self.map(|completion| completion.stop = stop)
    }

    /// Claims these tokens.
    #[must_use]
    pub fn with_usage(self, usage: Usage) -> Self {
        self.map(|completion| completion.usage = Some(usage))
    }

    /// Leaves gaps in the indices of its calls.
    #[must_use]
    pub fn with_index_gap(self) -> Self {
        self.map(|completion| completion.index_gap = true)
    }

    /// Ends without `[DONE]`, or `message_stop`.
    #[must_use]
    pub fn without_end(self) -> Self {
        self.map(|completion| completion.without_end = true)
    }

    /// Says when to ask again; a failure only.
    #[must_use]
    pub fn paced(mut self, pacing: Pacing) -> Self {
        if let Play::Failure(failure) = &mut self.play {
            failure.pacing = Some(pacing);
        }
        self
    }

    /// Waits there until the gate opens.
    #[must_use]
    pub fn held(mut self, point: Point, gate: &Gate) -> Self {
        self.gates.push((point, gate.clone()));
        self
    }

    /// Goes wrong there.
    #[must_use]
    pub fn broken(mut self, point: Point, how: Break) -> Self {
        self.fault = Some((point, how));
        self
    }
}
