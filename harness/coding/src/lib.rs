//! coding-v1: clone, plan, edit, check, pull request.
//!
//! A task is planned, approved and built, in attempts and under one clock. Every decision
//! about it is pure and stands in [`task`]; [`engine`] carries it out on the kernel, with
//! [`tools`] that work on a [`site`] and ask at a [`desk`]. [`platform`] hosts it in a pod,
//! [`local`] at a person's own machine.

pub mod desk;
pub mod digest;
pub mod engine;
mod host;
pub mod kind;
pub mod local;
pub mod platform;
pub mod prompt;
pub mod site;
pub mod task;
pub mod tools;
