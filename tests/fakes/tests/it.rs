//! The stand-ins, as their users see them.
#![cfg(test)]

#[path = "it/executables.rs"]
mod executables;
#[path = "it/git.rs"]
mod git;
#[path = "it/github.rs"]
mod github;
#[path = "it/server.rs"]
mod server;
