//! The relay between a caller and a provider, on a real store.
#![cfg(test)]

#[path = "it/broker.rs"]
mod broker;
#[path = "it/ending.rs"]
mod ending;
#[path = "it/passing.rs"]
mod passing;
#[path = "it/refusing.rs"]
mod refusing;
#[path = "it/secrets.rs"]
mod secrets;
#[path = "it/setup.rs"]
mod setup;
