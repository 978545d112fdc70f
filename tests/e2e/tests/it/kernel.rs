//! Runs that would have broken off: a conversation that outgrows its model's window, a
//! model that is gone for good or never completes, an MCP server that dies.

#[path = "kernel/agent.rs"]
mod agent;
#[path = "kernel/coding.rs"]
mod coding;
#[path = "kernel/efforts.rs"]
mod efforts;
#[path = "kernel/fallback.rs"]
mod fallback;
#[path = "kernel/mcp.rs"]
mod mcp;
#[path = "kernel/place.rs"]
mod place;
#[path = "kernel/tiny.rs"]
mod tiny;
