//! OpenAI Chat Completions, and what calls itself compatible with it.

mod calls;
pub(crate) mod render;
pub mod stream;
mod usage;
