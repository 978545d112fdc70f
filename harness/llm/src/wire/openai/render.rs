//! How a request is written for OpenAI Chat Completions.

use std::borrow::Cow;

use serde::Serialize;

use super::seal;
use crate::dialect::{Dialect, Echo, Field, OutputCap, Unsigned};
use crate::message::{
    Content, Message, Reasoning, Request, ToolCall, ToolChoice, ToolResult, ToolSpec,
};
use crate::wire::Mode;
use crate::wire::reply::{Shown, shown_name};

/// The whole body. The messages stand last, so that a longer conversation begins
/// with the bytes of a shorter one.
pub(crate) fn body(request: &Request, dialect: Dialect, mode: Mode) -> serde_json::Result<Vec<u8>> {
    let cap = Some(request.max_output_tokens);
    let (max_completion_tokens, max_tokens) = match dialect.output_cap {
        OutputCap::MaxCompletionTokens => (cap, None),
        OutputCap::MaxTokens => (None, cap),
    };
    let streaming = mode == Mode::Stream;
    let counting = streaming && dialect.stream_options == Field::Sent;
    let effort = request.reasoning_effort.as_deref();
    let body = Body {
        model: &request.model,
        max_completion_tokens,
        max_tokens,
        temperature: request.temperature.filter(|_| dialect.temperature == Field::Sent),
        reasoning_effort: effort.filter(|_| dialect.reasoning_effort == Field::Sent),
        stream: streaming,
        stream_options: counting.then_some(StreamOptions { include_usage: true }),
        tools: request.tools.iter().map(tool).collect(),
        tool_choice: choice(request),
        messages: turns(request, dialect),
    };
    let mut bytes = Vec::with_capacity(super::super::size(request));
    serde_json::to_writer(&mut bytes, &body)?;
    Ok(bytes)
}

/// One text for each message on the wire, the system prompt first.
pub(crate) fn messages(request: &Request, dialect: Dialect) -> serde_json::Result<Vec<String>> {
    turns(request, dialect).iter().map(serde_json::to_string).collect()
}

fn turns(request: &Request, dialect: Dialect) -> Vec<Turn<'_>> {
    let mut turns = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        turns.push(Turn::System { content: &request.system });
    }
    for message in &request.messages {
        match message {
            Message::User { content } => {
                turns.extend(said(content).map(|content| Turn::User { content }));
            }
            Message::Assistant { text, reasoning, calls } => {
                let text = text.as_deref().filter(|text| !text.is_empty());
                if text.is_none() && calls.is_empty() {
                    continue; // servers refuse a message that says nothing
                }
                let echoed = |echo| (dialect.echo_reasoning == echo).then(|| thoughts(reasoning));
                turns.push(Turn::Assistant {
                    content: text, // null when there are only calls (KERN-09)
                    reasoning_content: echoed(Echo::ReasoningContent),
                    reasoning: echoed(Echo::Reasoning),
                    tool_calls: made(calls, reasoning, dialect),
                });
            }
            Message::ToolResults { results } => turns.extend(results.iter().map(result)),
        }
    }
    turns
}

fn made<'a>(calls: &'a [ToolCall], reasoning: &'a [Reasoning], dialect: Dialect) -> Vec<Call<'a>> {
    let seals = seal::among(reasoning);
    let made = |call: &'a ToolCall| Call {
        id: &call.id,
        r#type: "function",
        function: Function {
            name: shown_name(&call.name),
            arguments: Shown::of(&call.arguments).text(),
        },
        extra_content: seal::for_call(&seals, &call.id),
    };
    let mut made: Vec<Call<'a>> = calls.iter().map(made).collect();
    // Of calls that were made together only the first one is signed.
    let is_unsigned = made.iter().all(|call| call.extra_content.is_none());
    if is_unsigned
        && dialect.unsigned_calls == Unsigned::Excused
        && let Some(first) = made.first_mut()
    {
        first.extra_content = Some(seal::EXCUSE);
    }
    made
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    messages: Vec<Turn<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Definition<'a>,
}

#[derive(Serialize)]
struct Definition<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a serde_json::Value,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Choice<'a> {
    Word(&'static str),
    Named { r#type: &'static str, function: Name<'a> },
}

#[derive(Serialize)]
struct Name<'a> {
    name: &'a str,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Turn<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Said<'a>,
    },
    Assistant {
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Said<'a> {
    /// One text, as a string: the form every server knows.
    One(&'a str),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
struct Part<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<seal::Extra<'a>>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: Cow<'a, str>,
    arguments: &'a str,
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    let ToolSpec { name, description, input_schema } = spec;
    Tool {
        r#type: "function",
        function: Definition { name, description, parameters: input_schema },
    }
}

fn choice(request: &Request) -> Option<Choice<'_>> {
    if request.tools.is_empty() {
        return None; // servers refuse a choice without tools
    }
    match &request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(Choice::Word("none")),
        ToolChoice::Required => Some(Choice::Word("required")),
        ToolChoice::Tool(name) => {
            Some(Choice::Named { r#type: "function", function: Name { name } })
        }
    }
}

/// The text parts that say something; `None` when none does.
fn said(content: &[Content]) -> Option<Said<'_>> {
    let texts = content.iter().map(|Content::Text { text }| text.as_str());
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    match texts.as_slice() {
        [] => None,
        [one] => Some(Said::One(one)),
        many => Some(Said::Parts(many.iter().map(|text| Part { r#type: "text", text }).collect())),
    }
}

fn thoughts(reasoning: &[Reasoning]) -> Cow<'_, str> {
    fn text(block: &Reasoning) -> &str {
        match block {
            Reasoning::Text { text } | Reasoning::Thinking { text, signature: _ } => text,
            Reasoning::Redacted { data: _ } => "",
        }
    }
    match reasoning {
        [one] => Cow::Borrowed(text(one)),
        many => many.iter().map(text).collect(),
    }
}

/// This wire has no mark for a failed tool: the content says it.
fn result(result: &ToolResult) -> Turn<'_> {
    let ToolResult { call_id, name: _, content, is_error: _ } = result;
    Turn::Tool { tool_call_id: call_id, content }
}
