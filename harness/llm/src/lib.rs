//! How a model is called: one HTTP exchange with a provider, over Anthropic
//! Messages or OpenAI Chat Completions, streaming or one-shot.
//!
//! This crate decides nothing: it never retries, never follows a redirect, and
//! gives every failure as the provider truly stated it ([`LlmError`]).

pub mod error;
pub mod message;

pub use error::{ErrorKind, LlmError};
pub use message::{
    Content, Message, Reasoning, Reply, Request, StopReason, ToolCall, ToolChoice, ToolResult,
    ToolSpec, Usage, Wire,
};
