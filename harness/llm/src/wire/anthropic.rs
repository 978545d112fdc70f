//! Anthropic Messages.

pub(crate) mod render;
pub mod stream;
mod usage;
