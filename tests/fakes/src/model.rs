//! A model that says what a test wrote for it, over both wires.
//!
//! ```no_run
//! # async fn shown() {
//! use fakes::model::{ModelServer, Reply, When};
//! use serde_json::json;
//!
//! let model = ModelServer::start().await;
//! // A script: the next requests, in the order in which they arrive.
//! model.script([
//!     Reply::call("remember", json!({"text": "The tide table is on page 4."})),
//!     Reply::text("Remembered."),
//! ]);
//! // A rule: answers whatever request matches, as often as one comes.
//! model.on((When::any().last_user("weather"), Reply::text("It rains.")));
//!
//! // … let the harness talk to `model.url()` …
//!
//! assert_eq!(model.requests()[0].tools(), ["remember"]);
//! model.finish().unwrap(); // every step was played, every request was lawful
//! # }
//! ```
//!
//! The base URL serves `…/messages` (Anthropic) and `…/chat/completions` (OpenAI)
//! under any prefix, streamed and in one piece. Scripts come before rules. Every
//! request is checked as its provider would ([`check`]); an unlawful one is answered
//! with 400 and makes [`ModelServer::finish`] fail.

mod answer;
mod body;
mod cache;
pub mod captured;
pub mod check;
pub mod file;
mod gate;
mod lineage;
mod message;
mod overflow;
mod prompt;
mod recorder;
mod remembered;
mod reply;
mod rule;
pub mod scenarios;
mod serve;
mod server;
mod strict;
mod text;
mod wire;

pub use captured::{Call, Captured, Lineage, Message, Role, ToolResult, Wire};
pub use gate::Gate;
pub use overflow::{Overflow, Window};
pub use recorder::Bodies;
pub use reply::{Break, Pacing, Point, Quirk, Raw, Reply, Stop, Usage};
pub use rule::{Rule, When};
pub use server::ModelServer;
pub use strict::Strict;
