//! The stand-ins, as their users see them.
#![cfg(test)]

#[path = "it/captured.rs"]
mod captured;
#[path = "it/chaos.rs"]
mod chaos;
#[path = "it/executables.rs"]
mod executables;
#[path = "it/git.rs"]
mod git;
#[path = "it/github.rs"]
mod github;
#[path = "it/readme.rs"]
mod readme;
#[path = "it/server.rs"]
mod server;
#[path = "it/strict.rs"]
mod strict;
#[path = "it/talk.rs"]
mod talk;
#[path = "it/wires.rs"]
mod wires;
