//! MCP servers as tools of a run: over Streamable HTTP, or as a child that speaks on
//! its standard streams.
//!
//! Every tool enters deferred (KERN-08). What is known of a server is one session at a
//! time: when it dies, it is reopened once for all calls that wait; a read is asked
//! again on the new session, a mutation is told to be of unknown outcome (KERN-41).
//! A server that hangs holds no call beyond its limit, and a server that fails names
//! itself while the others serve.
//!
//! ```no_run
//! # async fn connect(text: &str, variables: Vec<(String, String)>) -> Result<(), foundry_mcp::ConfigError> {
//! use foundry_mcp::{Connections, Environment, Options, Servers};
//!
//! let servers = Servers::parse(text, &Environment::new(variables))?;
//! let (connections, problems) = Connections::open(servers, Options::default()).await;
//! for problem in &problems {
//!     tracing::warn!("{problem}");
//! }
//! let tools = connections.tools();
//! // … runs …
//! connections.close().await;
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

mod catalog;
mod config;
mod connections;
mod content;
mod ears;
mod fault;
mod http;
mod options;
mod redact;
mod remote;
mod server;
mod session;
mod stdio;
mod unasked;

pub use config::{Addresses, ConfigError, Environment, Http, Reach, Server, Servers, Stdio};
pub use connections::Connections;
pub use foundry_kernel::{Effect, Tool};
pub use options::{Children, Options, Problem};
