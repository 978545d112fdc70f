//! A message on its way into a view: borrowed from the log as far as no rule changes it,
//! so that looking at a long conversation copies none of it.

use std::borrow::Cow;

use foundry_llm::{Content, Message, Reasoning, ToolCall, ToolResult};

use crate::entry::{CallResult, Entry, Settled};

/// Rough bytes of a message's frame, beside what is said in it.
const FRAME_BYTES: u64 = 16;

/// A message that will be shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shown<'a> {
    /// What it says.
    pub(crate) said: Said<'a>,
    /// Whether its reasoning may go back: this run and this model made it (KERN-40).
    pub(crate) own: bool,
    /// Index of the log entry it shows, or that it was made for.
    pub(crate) entry: usize,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said<'a> {
    User { content: Cow<'a, [Content]> },
    Assistant { text: Option<&'a str>, reasoning: &'a [Reasoning], calls: Cow<'a, [ToolCall]> },
    Results { results: Vec<Answer<'a>> },
}

/// The result of one call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer<'a> {
    pub(crate) call_id: Cow<'a, str>,
    pub(crate) name: Cow<'a, str>,
    pub(crate) content: Cow<'a, str>,
    pub(crate) is_error: bool,
}

impl Shown<'_> {
    /// About how many bytes of a request it is.
    pub(crate) fn bytes(&self) -> u64 {
        self.said.bytes()
    }

    pub(crate) fn into_message(self) -> Message {
        match self.said {
            Said::User { content } => Message::User { content: content.into_owned() },
            Said::Assistant { text, reasoning, calls } => Message::Assistant {
                text: text.map(str::to_owned),
                reasoning: reasoning.to_vec(),
                calls: calls.into_owned(),
            },
            Said::Results { results } => Message::ToolResults {
                results: results.into_iter().map(Answer::into_result).collect(),
            },
        }
    }
}

impl<'a> Said<'a> {
    /// About how many bytes of a request it is.
    pub(crate) fn bytes(&self) -> u64 {
        let inside: usize = match self {
            Self::User { content } => content.iter().map(|Content::Text { text }| text.len()).sum(),
            Self::Assistant { text, reasoning, calls } => {
                let thoughts: usize = reasoning.iter().map(reasoning_bytes).sum();
                text.map_or(0, str::len) + thoughts + calls.iter().map(call_bytes).sum::<usize>()
            }
            Self::Results { results } => {
                results.iter().map(|result| result.call_id.len() + result.content.len()).sum()
            }
        };
        FRAME_BYTES + as_u64(inside)
    }

    /// What a message says.
    pub(crate) fn of(message: &'a Message) -> Self {
        match message {
            Message::User { content } => Self::User { content: Cow::Borrowed(content) },
            Message::Assistant { text, reasoning, calls } => {
                Self::Assistant { text: text.as_deref(), reasoning, calls: Cow::Borrowed(calls) }
            }
            Message::ToolResults { results } => {
                Self::Results { results: results.iter().map(Answer::of).collect() }
            }
        }
    }

    /// What an entry says as it stands; nothing for those that only mark others.
    pub(crate) fn of_entry(entry: &'a Entry) -> Option<Self> {
        match entry {
            Entry::User { input } => Some(Self::User { content: Cow::Borrowed(&input.content) }),
            Entry::Assistant { reply } => Some(Self::Assistant {
                text: reply.text.as_deref(),
                reasoning: &reply.reasoning,
                calls: Cow::Borrowed(&reply.calls),
            }),
            Entry::Results { results } => {
                Some(Self::Results { results: results.iter().map(Answer::of_call).collect() })
            }
            Entry::Fold { .. } | Entry::Stubs { .. } => None,
        }
    }

    /// A user message of ours.
    pub(crate) fn user(text: impl Into<String>) -> Self {
        Self::User { content: Cow::Owned(vec![Content::Text { text: text.into() }]) }
    }
}

impl<'a> Answer<'a> {
    fn of(result: &'a ToolResult) -> Self {
        let ToolResult { call_id, name, content, is_error } = result;
        Self {
            call_id: Cow::Borrowed(call_id),
            name: Cow::Borrowed(name),
            content: Cow::Borrowed(content),
            is_error: *is_error,
        }
    }

    fn of_call(result: &'a CallResult) -> Self {
        let CallResult { call_id, name, settled } = result;
        let content = match settled {
            Settled::Output { content } | Settled::Failed { message: content } => {
                Cow::Borrowed(content.as_str())
            }
            Settled::Unknown { .. } | Settled::NotRun { .. } => Cow::Owned(settled.text()),
        };
        Self {
            call_id: Cow::Borrowed(call_id),
            name: Cow::Borrowed(name),
            content,
            is_error: settled.is_error(),
        }
    }

    fn into_result(self) -> ToolResult {
        let Self { call_id, name, content, is_error } = self;
        ToolResult {
            call_id: call_id.into_owned(),
            name: name.into_owned(),
            content: content.into_owned(),
            is_error,
        }
    }
}

/// A length as the gauge counts.
pub(crate) fn as_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// A count of the gauge as a length.
pub(crate) fn as_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn call_bytes(call: &ToolCall) -> usize {
    call.id.len() + call.name.len() + call.arguments.len()
}

fn reasoning_bytes(reasoning: &Reasoning) -> usize {
    match reasoning {
        Reasoning::Thinking { text, signature } => text.len() + signature.len(),
        Reasoning::Redacted { data } => data.len(),
        Reasoning::Text { text } => text.len(),
    }
}
