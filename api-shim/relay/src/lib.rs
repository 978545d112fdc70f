//! The broker: resolves a model, streams the call through and meters it (ROUTE-19).
//!
//! A caller sends a provider's own request body, Anthropic Messages or OpenAI Chat
//! Completions, with `auto` or a wire id as its model. The relay finds the Model,
//! adds the key from its Secret, and passes the answer on as it comes: status, body
//! and pacing headers are the provider's own. It never retries, follows no redirect
//! and holds back no response; one record of the tokens used is kept for each call,
//! whoever ends it. Where the Model's origin is a configured broker's and it names no
//! key, the shared service token and the agent's mailbox go along instead (BIND-04). No
//! key leaves this crate but in the header of that one request
//! (BIND-11).

mod body;
mod broker;
mod client;
mod headers;
mod meter;
mod models;
mod redact;
mod refusal;
mod relay;
mod resolve;
mod stream;
mod tap;
mod upstream;

pub use broker::{Broker, BrokerError};
pub use foundry_llm::Wire;
pub use models::{ModelSource, SourceError};
pub use refusal::Refusal;
pub use relay::{BuildError, CallerContext, Clock, Limits, Relay, RelayOptions};
pub use resolve::{AUTO, ResolveError, resolve, wire_of};
pub use stream::{Answer, StreamError};
pub use upstream::{BadBaseUrl, upstream_url};
