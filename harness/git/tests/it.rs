//! Real git over real SSH, real processes, and the stand-in for GitHub's API.

#![cfg(test)]

#[path = "it/clone.rs"]
mod clone;
#[path = "it/confine.rs"]
mod confine;
#[path = "it/github.rs"]
mod github;
#[path = "it/open.rs"]
mod open;
#[path = "it/push.rs"]
mod push;
#[path = "it/refusals.rs"]
mod refusals;
#[path = "it/runner.rs"]
mod runner;
#[path = "it/site.rs"]
mod site;
#[path = "it/snapshot.rs"]
mod snapshot;
#[path = "it/sweep.rs"]
mod sweep;
