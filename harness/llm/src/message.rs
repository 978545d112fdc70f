//! What goes to a model and what comes back, in neither provider's form.

use serde::{Deserialize, Serialize};

/// The protocol a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// `POST …/messages`.
    Anthropic,
    /// `POST …/chat/completions`.
    OpenAi,
}

/// One request to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// `auto` or a wire id; the relay resolves it.
    pub model: String,
    /// System prompt; kept beside the messages, never among them (KERN-06).
    pub system: String,
    /// The conversation, starting with a user message.
    pub messages: Vec<Message>,
    /// Tools the model may call.
    pub tools: Vec<ToolSpec>,
    /// Whether and what the model must call.
    pub tool_choice: ToolChoice,
    /// Output cap in tokens (KERN-12).
    pub max_output_tokens: u32,
    /// Sampling temperature; `None` leaves the provider's default.
    pub temperature: Option<f32>,
    /// Reasoning level (`low`, `medium`, …) for models that list levels (CODE-41).
    pub reasoning_effort: Option<String>,
    /// Thinking budget in tokens for the Anthropic form (KERN-39).
    pub thinking_budget: Option<u32>,
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// Said by a person or by the host.
    User {
        /// Text parts, never empty.
        content: Vec<Content>,
    },
    /// Said by the model.
    Assistant {
        /// Text; `None` when the model only called tools (KERN-09).
        text: Option<String>,
        /// Reasoning as the provider gave it, sent back unchanged where it must be.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reasoning: Vec<Reasoning>,
        /// Tool calls in the model's order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
    },
    /// What the tools returned, in call order.
    ToolResults {
        /// One result for each call of the assistant message just before.
        results: Vec<ToolResult>,
    },
}

/// A part of a user message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
}

/// A tool call as the model made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of this call.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments exactly as received. Not parsed here: arguments that are not a
    /// complete JSON object must never be run, and the host says so to the model.
    pub arguments: String,
}

/// What a tool returned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Id of the call this answers.
    pub call_id: String,
    /// Name of the tool.
    pub name: String,
    /// Text for the model.
    pub content: String,
    /// Whether the tool failed.
    pub is_error: bool,
}

/// A block of reasoning, in its provider's own form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Reasoning {
    /// Anthropic `thinking`, with its signature.
    Thinking {
        /// The text.
        text: String,
        /// The provider's signature over it.
        signature: String,
    },
    /// Anthropic `redacted_thinking`.
    Redacted {
        /// Opaque data.
        data: String,
    },
    /// `reasoning_content` or `reasoning` of OpenAI-compatible servers.
    Text {
        /// The text.
        text: String,
    },
}

/// A tool as the model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Name, legal for both wires: `[a-zA-Z0-9_-]{1,64}`.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments, passed through whole.
    pub input_schema: serde_json::Value,
}

/// Whether and what the model must call.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool may be called.
    None,
    /// Some tool must be called.
    Required,
    /// This tool must be called (RSCH-16).
    Tool(String),
}

/// A finished reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Text, `None` when there is none.
    pub text: Option<String>,
    /// Reasoning blocks in order (KERN-38).
    pub reasoning: Vec<Reasoning>,
    /// Tool calls in order.
    pub calls: Vec<ToolCall>,
    /// Why the model stopped.
    pub stop: StopReason,
    /// What the call used.
    pub usage: Usage,
    /// The model that answered, as the provider names it.
    pub model: String,
}

/// Why a model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had finished.
    EndTurn,
    /// It wants tools run.
    ToolUse,
    /// The output cap cut it off (KERN-12).
    MaxTokens,
    /// The provider's safety system or the model refused.
    Refusal,
    /// Anything else, in the provider's word.
    Other(String),
}

/// Tokens of one call. The fields are disjoint: nothing is counted twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Fresh input tokens, cache reads and writes not included.
    pub input_tokens: u64,
    /// Output tokens, reasoning included.
    pub output_tokens: u64,
    /// Input tokens read from the provider's cache.
    pub cache_read_tokens: u64,
    /// Input tokens written to the provider's cache.
    pub cache_write_tokens: u64,
    /// Of the output tokens, those spent on reasoning, where the provider says.
    pub reasoning_tokens: u64,
}

impl Usage {
    /// Adds another call's tokens.
    pub fn add(&mut self, other: Usage) {
        // The numbers are a provider's: one beyond sense must stop no run.
        let sum = |field: &mut u64, more: u64| *field = field.saturating_add(more);
        sum(&mut self.input_tokens, other.input_tokens);
        sum(&mut self.output_tokens, other.output_tokens);
        sum(&mut self.cache_read_tokens, other.cache_read_tokens);
        sum(&mut self.cache_write_tokens, other.cache_write_tokens);
        sum(&mut self.reasoning_tokens, other.reasoning_tokens);
    }

    /// All tokens of the call.
    pub fn total(&self) -> u64 {
        [self.output_tokens, self.cache_read_tokens, self.cache_write_tokens]
            .into_iter()
            .fold(self.input_tokens, u64::saturating_add)
    }
}
