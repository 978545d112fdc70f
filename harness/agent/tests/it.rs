//! The harness against what it really talks to: the scripted model over both wires,
//! and the operating system.

#![cfg(test)]

#[path = "it/broker.rs"]
mod broker;
#[path = "it/program.rs"]
mod program;
