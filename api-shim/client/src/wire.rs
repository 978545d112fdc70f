//! What travels: `snake_case` JSON, one type a body.
//!
//! A type that only requests carry refuses unknown fields, so that a typing mistake is
//! told; one that answers carry takes them, so that an older harness can read a newer
//! API.

mod agent;
mod catalog;
mod inbox;
mod log;
mod memory;
mod problem;
mod run;

pub use agent::{
    Activation, AgentPage, AgentState, AgentView, CreateAgent, DesiredState, EditAgent, Lifetime,
    SkillRef, Status,
};
pub use catalog::{
    CatalogTool, Effect, HarnessView, Me, ModelList, ModelView, Provider, ToolFamily, ToolList,
};
pub use inbox::{RecordWake, Wake, WakeList};
pub use log::{LogAppended, LogEvent, LogLevel, LogLine, LogPage, PostLogs};
pub use memory::{AuthorKind, Memory, MemoryPage, Recalled, Remember, Thoughts, Tier};
pub use problem::Problem;
pub use run::{Heartbeat, RunPage, RunRecord, UsageTotals};

/// Header by which the service token names the agent it acts for (AUTHZ-04), and a
/// person names the agent a relay call is metered to.
pub const AGENT_HEADER: &str = "x-flow-agent-id";
/// Header by which the service token names the workspace it means.
pub const WORKSPACE_HEADER: &str = "x-flow-workspace";
/// Header that carries one request's id in both directions.
pub const REQUEST_ID_HEADER: &str = "x-request-id";

/// Longest time, in seconds, that an inbox read is held open: below the harness'
/// read timeout of 15 seconds (ROUTE-10, LOOP-20).
pub const MAX_INBOX_WAIT_SECONDS: u64 = 12;
/// Most log events in one post.
pub const MAX_LOG_EVENTS: usize = 500;
