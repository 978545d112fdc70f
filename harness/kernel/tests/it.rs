//! Runs against a scripted model over real HTTP, on both wires.
#![cfg(test)]

#[path = "it/both_wires.rs"]
mod both_wires;
#[path = "it/compaction.rs"]
mod compaction;
#[path = "it/faults.rs"]
mod faults;
#[path = "it/output.rs"]
mod output;
#[path = "it/scene.rs"]
mod scene;
#[path = "it/signals.rs"]
mod signals;
#[path = "it/subagent.rs"]
mod subagent;
#[path = "it/takeover.rs"]
mod takeover;
