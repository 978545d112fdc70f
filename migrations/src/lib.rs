//! What Foundry remembers: the SQL schema and the only code that speaks SQL.
//!
//! Memories, logs, inbox, run records, heartbeats, usage, the tool catalog, what coding
//! agents ask and report, and the outbox live here, on SQLite (the default: one file) or PostgreSQL (for more than
//! one replica). [`Store`] has one method for each thing the domain wants; both
//! databases answer alike, and one conformance suite holds them to it.
//!
//! The crate has no clock: every instant is an argument. Text is stored as given,
//! but for U+0000, which PostgreSQL cannot hold and which becomes U+FFFD on both.

mod coding;
mod document;
mod error;
mod heartbeat;
mod inbox;
mod log;
mod memory;
mod outbox;
mod page;
mod postgres;
mod question;
mod retention;
mod run;
mod signing_key;
mod sqlite;
mod store;
mod text;
mod thread;
mod tool;
mod usage;

pub use coding::{
    AfterResult, AgentStart, CODING_TASK, CodingCheck, CodingPlan, CodingProgress,
    CodingPullRequest, CodingResult, CodingTask, PlanApproval,
};
pub use document::{DELETED_DOCUMENT, Document, MAX_PLANS_A_DAY, NewDocument, Reference};
pub use error::{Class, Error, Problem};
pub use heartbeat::Beat;
pub use inbox::{MAX_CLAIM, NewWake, Wake};
pub use log::{Appended, LogEvent, LogLine, LogPage, MAX_APPEND, MAX_LOG_PAGE, MAX_LOG_PAGE_BYTES};
pub use memory::{Author, MAX_RECALL, Memory, NewMemory, RECENT_WINDOW, Thoughts, Tier};
pub use outbox::{Delivery, NewDelivery};
pub use page::{MAX_PAGE, Page, PageRequest};
pub use question::{
    GivenAnswer, MAX_OPEN_QUESTIONS, MAX_QUESTIONS_A_DAY, NewAnswer, NewQuestion, Question,
    QuestionKind,
};
pub use run::Run;
pub use store::{AgentKey, Store};
pub use text::row_id;
pub use tool::{Effect, Family, Tool};
pub use usage::{Usage, UsageTotals};
