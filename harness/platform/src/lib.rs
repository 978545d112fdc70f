//! What every host of an agent shares: event log, heartbeat, inbox, relay, tool catalog,
//! the platform's own tools, the thoughts renderer and the telling of a turn.
//!
//! All I/O comes in through [`api::Api`], an output and a [`clock::Clock`], so that
//! a harness process and the API itself can both host an agent.

pub mod api;
pub mod catalog;
pub mod clock;
pub mod diagnostics;
pub mod events;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
pub mod gate;
pub mod heartbeat;
pub mod inbox;
pub mod lifeline;
pub mod lock;
pub mod narrate;
pub mod process;
pub mod program;
pub mod reasoning;
pub mod redact;
pub mod relay;
pub mod rest;
pub mod retry;
pub mod runs;
pub mod settings;
pub mod tell;
pub mod text;
pub mod thoughts;
pub mod token;
pub mod tools;
