//! What the model answers, and how the answer goes wrong.

use serde::Deserialize;
use serde_json::Value;

use super::gate::Gate;
pub use super::overflow::Overflow;

/// One answer. Start with a constructor, add with the `and_…` and `with_…` methods.
///
/// ```
/// use fakes::model::{Break, Gate, Point, Quirk, Reply, Stop, Usage};
/// use serde_json::json;
///
/// let gate = Gate::new();
/// // Thinks, says something and calls two tools whose pieces come in turn.
/// Reply::thinking("First the table.")
///     .and_text("I look it up.")
///     .and_call("recall", json!({"query": "tide"}))
///     .and_raw_call("recall", r#"{"query": "ti"#) // cut off
///     .with(Quirk::Interleaved)
///     .with_stop(Stop::Length)
///     .with_usage(Usage { input: 100, output: 20, ..Usage::default() })
///     .held(Point::Arguments, &gate);
/// // Breaks off inside a character, after the first piece of text.
/// Reply::text("潮汐 at six, 潮汐 at noon").broken(Point::Text, Break::ResetInCharacter);
/// ```
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
    /// Thoughts that are not shown; only Anthropic has these.
    pub redacted: Vec<String>,
    pub text: Option<String>,
    /// Name and arguments; raw, for they may be cut.
    pub calls: Vec<(String, String)>,
    pub stop: Stop,
    pub usage: Option<Usage>,
    pub quirks: Vec<Quirk>,
    /// Characters of text or arguments in one event; absent: a few.
    pub piece: Option<usize>,
    /// Ends the stream without its last event.
    pub without_end: bool,
}

impl Completion {
    pub fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }
}

/// How a server writes otherwise than the wire's own provider, and yet means the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quirk {
    /// A gap between the indices of calls, or of Anthropic's blocks.
    IndexGap,
    /// The pieces of several calls come in turn.
    Interleaved,
    /// A comment before each event, as routers send while they wait.
    KeepAlives,
    /// Lines end with CR LF.
    Crlf,
    /// Each event tells the usage so far; the last one holds.
    RunningUsage,
    /// Ids of calls are empty.
    EmptyIds,
    /// OpenAI's form: calls have no index.
    NoIndex,
    /// OpenAI's form: each piece of a call repeats its id and name.
    RepeatedNames,
    /// OpenAI's form: a call comes whole, in one event.
    WholeCalls,
    /// OpenAI's form: reasoning comes as `reasoning`.
    ReasoningField,
    /// OpenAI's form: `finish_reason` is an empty text until the end.
    EmptyFinish,
}

/// Why the model stops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// A word of the server's own, as routers and newer versions have.
    Word(String),
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
    /// Any header exactly as written here.
    Header(String, String),
}

/// A place in a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Before the response's headers.
    Headers,
    /// Right after the headers, before any event.
    Body,
    /// After the first piece of thinking.
    Thinking,
    /// After the first piece of text.
    Text,
    /// After the first piece of a call's arguments.
    Arguments,
    /// After this many events, or chunks of a raw reply.
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
    pub fn in_chunks_of(self, size: usize) -> Self {
        self.in_chunks(&[size])
    }

    /// The same body in chunks of these sizes, one after the other; the last size stands for
    /// all that is left.
    #[must_use]
    pub fn in_chunks(mut self, sizes: &[usize]) -> Self {
        let body = self.chunks.concat();
        let last = sizes.last().copied().unwrap_or(body.len());
        let mut sizes = sizes.iter().copied().chain(std::iter::repeat(last));
        let mut rest = body.as_slice();
        self.chunks = Vec::new();
        while !rest.is_empty() {
            let size = sizes.next().unwrap_or(last).clamp(1, rest.len());
            let (chunk, after) = rest.split_at(size);
            self.chunks.push(chunk.to_vec());
            rest = after;
        }
        self
    }

    /// With one more header.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
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

    /// Thinks something that it does not show (Anthropic's form only).
    pub fn redacted(data: impl Into<String>) -> Self {
        Self::completion(Completion::default()).and_redacted(data)
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

    /// A page for a browser where a model should be: a proxy's, or a sign-in.
    pub fn html(status: u16, page: impl Into<String>) -> Self {
        Self::raw(Raw::new(status, "text/html; charset=utf-8", page.into()))
    }

    /// Exactly this document.
    pub fn json(status: u16, document: &Value) -> Self {
        Self::raw(Raw::new(status, "application/json", document.to_string()))
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

    /// With this number in place of each `{{turn}}`.
    pub(super) fn numbered(self, turn: usize) -> Self {
        let fill = |text: &mut String| *text = text.replace("{{turn}}", &turn.to_string());
        self.map(|completion| {
            completion.text.iter_mut().chain(&mut completion.thinking).for_each(fill);
            completion.calls.iter_mut().for_each(|(_, arguments)| fill(arguments));
        })
    }

    /// And thinks this, before it says anything.
    #[must_use]
    pub fn and_thinking(self, thought: impl Into<String>) -> Self {
        self.map(|completion| completion.thinking = Some(thought.into()))
    }

    /// And thinks something that it does not show (Anthropic's form only).
    #[must_use]
    pub fn and_redacted(self, data: impl Into<String>) -> Self {
        self.map(|completion| completion.redacted.push(data.into()))
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

    /// Is written in this way.
    #[must_use]
    pub fn with(self, quirk: Quirk) -> Self {
        self.map(|completion| completion.quirks.push(quirk))
    }

    /// Leaves gaps in the indices of its calls.
    #[must_use]
    pub fn with_index_gap(self) -> Self {
        self.with(Quirk::IndexGap)
    }

    /// Brings so many characters of text, thoughts or arguments in each event, in place of a
    /// few. With a number above their count, all is one event, however large.
    #[must_use]
    pub fn in_pieces_of(self, characters: usize) -> Self {
        self.map(|completion| completion.piece = Some(characters.max(1)))
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

    /// Waits before its headers until the gate opens.
    #[must_use]
    pub fn held_by(self, gate: &Gate) -> Self {
        self.held(Point::Headers, gate)
    }

    /// Goes wrong there.
    #[must_use]
    pub fn broken(mut self, point: Point, how: Break) -> Self {
        self.fault = Some((point, how));
        self
    }
}
