//! OpenAI Chat Completions, and what calls itself compatible with it.

pub mod document;
pub mod render;
pub mod stream;
mod usage;
