//! `flowcode`: the same engine in any local repository, without cluster or API (CODE-45).

pub mod arguments;
pub mod mcp;
pub mod model;
pub mod run;
pub mod terminal;
