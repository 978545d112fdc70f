//! One conformance suite for both databases, and what only one of them can do.
#![cfg(test)]

#[path = "it/backend.rs"]
mod backend;
#[path = "it/coding.rs"]
mod coding;
#[path = "it/document.rs"]
mod document;
#[path = "it/heartbeat.rs"]
mod heartbeat;
#[path = "it/inbox.rs"]
mod inbox;
#[path = "it/log.rs"]
mod log;
#[path = "it/memory.rs"]
mod memory;
#[path = "it/opening.rs"]
mod opening;
#[path = "it/outbox.rs"]
mod outbox;
#[path = "it/question.rs"]
mod question;
#[path = "it/retention.rs"]
mod retention;
#[path = "it/thread.rs"]
mod thread;
#[path = "it/tool.rs"]
mod tool;
#[path = "it/usage.rs"]
mod usage;
