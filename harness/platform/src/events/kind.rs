//! The kinds of events, spelt nowhere else. People and pages filter by them.

/// A process began: its first event (LOOP-02).
pub const STARTED: &str = "started";
/// A process is about to end: its last event.
pub const STOPPED: &str = "stopped";
/// A start of the agent began in a living process (LOOP-16).
pub const START: &str = "start";
/// The agent should not run, so it does not think; or it thinks again.
pub const REST: &str = "rest";
/// An evaluation begins.
pub const EVALUATION: &str = "evaluation";
/// A wake was taken from the inbox.
pub const WAKE: &str = "wake";
/// A tool was called, or has returned (LOOP-21).
pub const TOOL: &str = "tool";
/// A step without tool calls, which ends a cycle (LOOP-23).
pub const STEP: &str = "step";
/// With what the model is used, where that is not as it was asked for.
pub const MODEL: &str = "model";
/// How full the model's window is (CODE-40).
pub const CONTEXT: &str = "context";
/// Older parts of a conversation are shown to the model in fewer words.
pub const COMPACTION: &str = "compaction";
/// Something to look at.
pub const WARNING: &str = "warning";
/// Something failed (LOOP-24).
pub const ERROR: &str = "error";
/// The API can be read again after it could not.
pub const API: &str = "api";
/// A sign of life; on the output alone.
pub const HEARTBEAT: &str = "heartbeat";
