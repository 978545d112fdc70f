//! What travels: `snake_case` JSON, one type a body.
//!
//! A type that only requests carry refuses unknown fields, so that a typing mistake is
//! told; one that answers carry takes them, so that an older harness can read a newer
//! API.

mod agent;
mod catalog;
mod coding;
mod inbox;
mod log;
mod memory;
mod problem;
mod run;
mod swarm;

pub use agent::{
    Activation, AgentPage, AgentState, AgentView, CreateAgent, DesiredState, EditAgent, Lifetime,
    SkillRef, Status,
};
pub use catalog::{
    CatalogTool, Effect, HarnessView, Me, ModelList, ModelView, Provider, ToolFamily, ToolList,
};
pub use coding::{
    Answer, AnswerPoll, Approval, AskQuestion, CheckView, CodingOutcome, CodingReport,
    CodingResult, CodingRunPage, CodingRunView, DocumentLink, PlanView, PostAnswer,
    PullRequestView, QuestionKind, QuestionList, QuestionView, RepositoryScope, SavePlan,
    SavedPlan, SpawnCodingAgent,
};
pub use inbox::{RecordWake, Wake, WakeList};
pub use log::{LogAppended, LogEvent, LogLevel, LogLine, LogPage, PostLogs};
pub use memory::{AuthorKind, Memory, MemoryPage, Recalled, Remember, Thoughts, Tier};
pub use problem::Problem;
pub use run::{Heartbeat, RunPage, RunRecord, UsageTotals};
pub use swarm::{MemberView, SpawnMember, SpawnSwarm, SwarmPage, SwarmView};

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
/// Longest time, in seconds, that a poll for an answer is held open.
pub const MAX_ANSWER_WAIT_SECONDS: u64 = 12;
/// Longest plan, in bytes of UTF-8.
pub const MAX_PLAN_BYTES: usize = 800_000;
/// Longest question, answer and recommended answer, in bytes of UTF-8.
pub const MAX_QUESTION_BYTES: usize = 16 * 1024;
/// Most possible answers of a question.
pub const MAX_QUESTION_OPTIONS: usize = 20;
/// Longest possible answer, in bytes of UTF-8.
pub const MAX_OPTION_BYTES: usize = 1024;
/// Most checks in a report.
pub const MAX_CHECKS: usize = 100;
/// Longest name of a check, in bytes of UTF-8.
pub const MAX_CHECK_NAME_BYTES: usize = 512;
/// Longest summary of a result, in bytes of UTF-8.
pub const MAX_SUMMARY_BYTES: usize = 8 * 1024;
/// Most log events in one post.
pub const MAX_LOG_EVENTS: usize = 500;
