//! The transport against a real server on loopback: the scripted model.
#![cfg(test)]

#[path = "it/dialect.rs"]
mod dialect;
#[path = "it/exchange.rs"]
mod exchange;
#[path = "it/faults.rs"]
mod faults;
#[path = "it/setup.rs"]
mod setup;
