//! How a request is written for Anthropic Messages.

use std::borrow::Cow;

use serde::Serialize;

use crate::dialect::{Dialect, Field};
use crate::message::{Content, Message, Reasoning, Request, ToolChoice, ToolResult, ToolSpec};
use crate::wire::Mode;
use crate::wire::reply::{Shown, shown_name};

/// How many blocks Anthropic looks back from a mark for what it has cached.
const LOOKS_BACK: usize = 20;

/// The least budget that Anthropic accepts.
const LEAST_BUDGET: u32 = 1024;

/// What a failed tool without a word is said to have said: the API refuses silence.
const NO_WORDS: &str = "failed without a word";

/// The whole body. The messages stand last, so that a longer conversation begins
/// with the bytes of a shorter one.
pub(crate) fn body(request: &Request, dialect: Dialect, mode: Mode) -> serde_json::Result<Vec<u8>> {
    let budget = budget(request);
    let mut messages = turns(&request.messages);
    mark(&mut messages);
    let body = Body {
        model: &request.model,
        // Thinking tokens count against the output cap, so the cap is raised above the
        // budget by what the answer itself may use (KERN-39).
        max_tokens: request.max_output_tokens.saturating_add(budget.unwrap_or(0)),
        // A thinking model refuses a temperature (KERN-39), and so do some others.
        temperature: request
            .temperature
            .filter(|_| budget.is_none() && dialect.temperature == Field::Sent),
        thinking: budget.map(|budget_tokens| Thinking { r#type: "enabled", budget_tokens }),
        stream: mode == Mode::Stream,
        system: system(&request.system),
        tools: tools(request),
        tool_choice: choice(request),
        messages,
    };
    let mut bytes = Vec::with_capacity(super::super::size(request));
    serde_json::to_writer(&mut bytes, &body)?;
    Ok(bytes)
}

/// One text for each message on the wire, without marks.
pub(crate) fn messages(all: &[Message]) -> serde_json::Result<Vec<String>> {
    turns(all).iter().map(serde_json::to_string).collect()
}

/// What the host says right behind tool results belongs into the same user message,
/// results first.
fn turns(all: &[Message]) -> Vec<Turn<'_>> {
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
    turns
}

/// A mark at the end, so that the next turn reads what this one writes. Where a turn was
/// so long that the API would not look back to the mark before, that one stays as well.
fn mark(turns: &mut [Turn<'_>]) {
    let [earlier @ .., said, last] = turns else {
        return turns.iter_mut().for_each(Turn::mark);
    };
    if said.content.len() + last.content.len() >= LOOKS_BACK
        && let Some(before) = earlier.last_mut()
    {
        before.mark();
    }
    last.mark();
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
    messages: Vec<Turn<'a>>,
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

/// What stands up to here may be cached.
const CACHED: CacheControl = CacheControl { r#type: "ephemeral" };

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a serde_json::Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
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

impl Turn<'_> {
    /// Marks the last block, unless it is one that bears no mark.
    fn mark(&mut self) {
        match self.content.last_mut() {
            Some(
                Block::Text { cache_control, .. }
                | Block::ToolUse { cache_control, .. }
                | Block::ToolResult { cache_control, .. },
            ) => *cache_control = Some(CACHED),
            Some(Block::Thinking { .. } | Block::RedactedThinking { .. }) | None => {}
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
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
        name: Cow<'a, str>,
        input: Shown<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolResult {
        tool_use_id: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        content: &'a str,
        #[serde(skip_serializing_if = "is_false")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that skip_serializing_if calls")]
fn is_false(value: &bool) -> bool {
    !value
}

/// The thinking budget, where this request may think: the API refuses it beside a tool
/// that must be called, and in the middle of a tool loop that began without.
fn budget(request: &Request) -> Option<u32> {
    let forced = match choice(request) {
        Some(Choice::Any | Choice::Tool { .. }) => true,
        Some(Choice::None) | None => false,
    };
    let budget = request.thinking_budget?;
    (!forced && !is_in_unthought_loop(&request.messages)).then_some(budget.max(LEAST_BUDGET))
}

fn is_in_unthought_loop(messages: &[Message]) -> bool {
    let last = messages.iter().rev().find_map(|message| match message {
        Message::Assistant { calls, reasoning, .. } => Some((calls, reasoning)),
        Message::User { .. } | Message::ToolResults { .. } => None,
    });
    // A word from the host behind the results does not end the loop: it is sent within.
    let open = last.is_some_and(|(calls, _)| {
        let results = messages.iter().rposition(|one| matches!(one, Message::ToolResults { .. }));
        let said = messages.iter().rposition(|one| matches!(one, Message::Assistant { .. }));
        !calls.is_empty() && results > said
    });
    open && last.is_some_and(|(_, reasoning)| reasoning.iter().all(|one| thought(one).is_none()))
}

/// The system prompt as one block that ends what is cached: tools and system are the
/// same from call to call (LOOP-13).
fn system(text: &str) -> Option<[SystemBlock<'_>; 1]> {
    (!text.trim().is_empty()).then_some([SystemBlock {
        r#type: "text",
        text,
        cache_control: CACHED,
    }])
}

/// Tools stand before the system prompt, whose mark counts for them; without one, the last
/// tool bears it.
fn tools(request: &Request) -> Vec<Tool<'_>> {
    let mut tools: Vec<Tool<'_>> = request.tools.iter().map(tool).collect();
    if system(&request.system).is_none()
        && let Some(last) = tools.last_mut()
    {
        last.cache_control = Some(CACHED);
    }
    tools
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    let ToolSpec { name, description, input_schema } = spec;
    Tool { name, description, input_schema, cache_control: None }
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
                name: shown_name(&call.name),
                input: Shown::of(&call.arguments),
                cache_control: None,
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

/// The API refuses a text block that says nothing.
fn text_block(text: &str) -> Option<Block<'_>> {
    (!text.trim().is_empty()).then_some(Block::Text { text, cache_control: None })
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
    let content = match content.trim() {
        "" if *is_error => NO_WORDS,
        "" => "",
        _ => content,
    };
    Block::ToolResult { tool_use_id: call_id, content, is_error: *is_error, cache_control: None }
}
