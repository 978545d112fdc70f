//! The scripted model and both executables, as their users see them.
#![cfg(test)]

#[path = "it/executables.rs"]
mod executables;
#[path = "it/server.rs"]
mod server;
