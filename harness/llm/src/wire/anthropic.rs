//! Anthropic Messages.

pub mod document;
pub mod render;
pub mod stream;
mod usage;
