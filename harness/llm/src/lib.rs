//! How a model is called: one HTTP exchange with a provider, over Anthropic
//! Messages or OpenAI Chat Completions, streaming or one-shot.
//!
//! This crate decides nothing: it never retries, never follows a redirect, and
//! gives every failure as the provider truly stated it ([`LlmError`]).
//!
//! ```no_run
//! # async fn call(request: foundry_llm::Request, clock: foundry_llm::Clock) -> Result<(), Box<dyn std::error::Error>> {
//! use foundry_llm::{Auth, Endpoint, Limits, Transport, Wire};
//!
//! let base = "https://api.anthropic.com/v1".parse()?;
//! let endpoint = Endpoint::new(Wire::Anthropic, &base, Auth::api_key("…"))?;
//! let transport = Transport::new(endpoint, Limits::default(), clock)?;
//! let reply = transport.stream(&request, &mut |_delta| ()).await?;
//! # Ok(()) }
//! ```

mod client;
pub mod delta;
pub mod dialect;
pub mod endpoint;
pub mod error;
mod failure;
pub mod message;
mod redact;
pub mod served;
pub mod sse;
mod timed;
pub mod transport;
pub mod wire;

pub use client::{chain, is_loopback};
pub use delta::{Delta, Viewer};
pub use dialect::{Dialect, Echo, Field, OutputCap, Unsigned};
pub use endpoint::{Auth, BuildError, Endpoint, TokenError, TokenSource};
pub use error::{ErrorKind, LlmError};
pub use message::{
    Content, Message, Reasoning, Reply, Request, StopReason, ToolCall, ToolChoice, ToolResult,
    ToolSpec, Usage, Wire,
};
pub use served::{BaseUrlError, Served, ServedError, base_url};
pub use transport::{Clock, Limits, Transport};
pub use wire::{Provider, wire_for};
