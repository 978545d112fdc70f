//! How a request is written for Anthropic Messages.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::message::{Content, Message, Reasoning, Request, ToolChoice, ToolResult, ToolSpec};
use crate::wire::Mode;
use crate::wire::reply::Shown;

/// The whole body. The messages stand last, so that a longer conversation begins
/// with the bytes of a shorter one.
pub(crate) fn body(request: &Request, mode: Mode) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Body {
        model: &request.model,
        max_tokens: output_cap(request),
        // A thinking model refuses a temperature (KERN-39).
        temperature: request.temperature.filter(|_| request.thinking_budget.is_none()),
        thinking: request
            .thinking_budget
            .map(|budget_tokens| Thinking { r#type: "enabled", budget_tokens }),
        stream: mode == Mode::Stream,
        system: system(&request.system),
        tools: request.tools.iter().map(tool).collect(),
        tool_choice: choice(request),
        messages: messages(&request.messages)?,
    })
}

/// One text for each message on the wire. What the host says right behind tool
/// results belongs into the same user message, results first.
pub(crate) fn messages(all: &[Message]) -> serde_json::Result<Vec<Box<RawValue>>> {
    let mut turns: Vec<Turn<'_>> = Vec::with_capacity(all.len());
    for message in all {
        let turn = turn(message);
        match turns.last_mut() {
            _ if turn.content.is_empty() => {} // the API refuses an empty message
            Some(last) if last.role == "user" && turn.role == "user" => {
                last.content.extend(turn.content);
            }
            _ => turns.push(turn),
        }
    }
    turns.iter().map(to_raw_value).collect()
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[SystemBlock<'a>; 1]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    messages: Vec<Box<RawValue>>,
}

#[derive(Serialize)]
struct Thinking {
    r#type: &'static str,
    budget_tokens: u32,
}

#[derive(Serialize)]
struct SystemBlock<'a> {
    r#type: &'static str,
    text: &'a str,
    cache_control: CacheControl,
}

#[derive(Serialize)]
struct CacheControl {
    r#type: &'static str,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a serde_json::Value,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Choice<'a> {
    None,
    Any,
    Tool { name: &'a str },
}

#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Shown<'a>,
    },
    ToolResult {
        tool_use_id: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        content: &'a str,
        #[serde(skip_serializing_if = "is_false")]
        is_error: bool,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that skip_serializing_if calls")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Thinking tokens count against the output cap, so the cap is raised above the
/// budget by what the answer itself may use (KERN-39).
fn output_cap(request: &Request) -> u32 {
    request.max_output_tokens.saturating_add(request.thinking_budget.unwrap_or(0))
}

/// The system prompt as one block that ends what is cached: tools and system are the
/// same from call to call (LOOP-13).
fn system(text: &str) -> Option<[SystemBlock<'_>; 1]> {
    let cache_control = CacheControl { r#type: "ephemeral" };
    (!text.is_empty()).then_some([SystemBlock { r#type: "text", text, cache_control }])
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    let ToolSpec { name, description, input_schema } = spec;
    Tool { name, description, input_schema }
}

fn choice(request: &Request) -> Option<Choice<'_>> {
    if request.tools.is_empty() {
        return None; // the API refuses a choice without tools
    }
    match &request.tool_choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some(Choice::None),
        ToolChoice::Required => Some(Choice::Any),
        ToolChoice::Tool(name) => Some(Choice::Tool { name }),
    }
}

fn turn(message: &Message) -> Turn<'_> {
    match message {
        Message::User { content } => {
            let text = content.iter().filter_map(|Content::Text { text }| text_block(text));
            Turn { role: "user", content: text.collect() }
        }
        Message::Assistant { text, reasoning, calls } => {
            let mut content: Vec<Block<'_>> =
                text.as_deref().and_then(text_block).into_iter().collect();
            content.extend(calls.iter().map(|call| Block::ToolUse {
                id: &call.id,
                name: &call.name,
                input: Shown::of(&call.arguments),
            }));
            if !content.is_empty() {
                // Reasoning leads, byte for byte: it is signed (KERN-40).
                content.splice(0..0, reasoning.iter().filter_map(thought));
            }
            Turn { role: "assistant", content }
        }
        Message::ToolResults { results } => {
            Turn { role: "user", content: results.iter().map(result).collect() }
        }
    }
}

/// The API refuses an empty text block.
fn text_block(text: &str) -> Option<Block<'_>> {
    (!text.is_empty()).then_some(Block::Text { text })
}

/// Reasoning of the other wire carries no signature, and stays out.
fn thought(reasoning: &Reasoning) -> Option<Block<'_>> {
    match reasoning {
        Reasoning::Thinking { text, signature } => {
            Some(Block::Thinking { thinking: text, signature })
        }
        Reasoning::Redacted { data } => Some(Block::RedactedThinking { data }),
        Reasoning::Text { text: _ } => None,
    }
}

fn result(result: &ToolResult) -> Block<'_> {
    let ToolResult { call_id, name: _, content, is_error } = result;
    Block::ToolResult { tool_use_id: call_id, content, is_error: *is_error }
}
