//! Runs against a scripted model over real HTTP, on both wires.
#![cfg(test)]

#[path = "it/both_wires.rs"]
mod both_wires;
#[path = "it/faults.rs"]
mod faults;
#[path = "it/scene.rs"]
mod scene;
#[path = "it/signals.rs"]
mod signals;
