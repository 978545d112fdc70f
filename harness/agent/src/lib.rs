//! agent-v1: the always-on think and wake loop.
//!
//! Every 15 seconds the harness reads its agent, asks the model whether anything is
//! due and runs the tools it calls; beside that it handles wakes and gives signs of
//! life. It knows its API, its own agent and its token, and nothing else: no
//! Kubernetes, no database, no provider key.

pub mod process;
pub mod prompt;
pub mod settings;
pub mod start;
pub mod working_set;

mod agent;
mod evaluate;
mod tell;
mod think;
mod wakes;
