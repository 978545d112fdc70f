//! The tools on real folders.
#![cfg(test)]

#[path = "it/editing.rs"]
mod editing;
#[path = "it/git.rs"]
mod git;
#[path = "it/permitted.rs"]
mod permitted;
#[path = "it/races.rs"]
mod races;
#[path = "it/reading.rs"]
mod reading;
#[path = "it/scene.rs"]
mod scene;
#[path = "it/searching.rs"]
mod searching;
