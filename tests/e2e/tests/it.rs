//! The whole system: custom resources on a real control plane, operator, API,
//! relay and harness as processes of their own, and a scripted model.
#![cfg(test)]

#[path = "it/bad_input.rs"]
mod bad_input;
#[path = "it/chart.rs"]
mod chart;
#[path = "it/coding.rs"]
mod coding;
#[path = "it/faults.rs"]
mod faults;
#[path = "it/gitops.rs"]
mod gitops;
#[path = "it/kernel.rs"]
mod kernel;
#[path = "it/life.rs"]
mod life;
#[path = "it/real_model.rs"]
mod real_model;
#[path = "it/world.rs"]
mod world;
