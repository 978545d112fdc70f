//! Tasks on real repositories, with a scripted model on both wires.

#![cfg(test)]

#[path = "it/attempts.rs"]
mod attempts;
#[path = "it/catalog.rs"]
mod catalog;
#[path = "it/finishing.rs"]
mod finishing;
#[path = "it/flowcode.rs"]
mod flowcode;
#[path = "it/life.rs"]
mod life;
#[path = "it/mcp.rs"]
mod mcp;
#[path = "it/model.rs"]
mod model;
#[path = "it/pod.rs"]
mod pod;
#[path = "it/program.rs"]
mod program;
#[path = "it/project.rs"]
mod project;
#[path = "it/scene.rs"]
mod scene;
#[path = "it/story.rs"]
mod story;
