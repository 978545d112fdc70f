//! OpenAI Chat Completions, and what calls itself compatible with it.

mod calls;
pub(crate) mod render;
mod seal;
pub mod stream;
mod usage;
