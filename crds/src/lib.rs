//! What exists: the custom resources of Foundry (`foundry.flow.life/v1alpha1`),
//! their validation, names and labels, and the YAML generated from them.
//!
//! This crate does no I/O. Everything another crate needs to know about how a
//! resource, a label, a condition or a field manager is called stands here and
//! nowhere else.

pub mod agent;
pub mod budget;
pub mod coding_run;
pub mod condition;
mod crd;
mod form;
pub mod generate;
pub mod harness;
pub mod meta;
pub mod model;
pub mod names;
mod policies;
pub mod rbac;
pub mod skill;
pub mod swarm;
pub mod tool_server;
pub mod yaml;

pub use agent::{Agent, AgentSpec, AgentState, AgentStatus};
pub use budget::Budget;
pub use coding_run::{CodingRun, CodingRunSpec, CodingRunStatus};
pub use harness::{Harness, HarnessSpec, HarnessStatus};
pub use model::{Model, ModelSpec, ModelStatus};
pub use skill::{Skill, SkillSpec, SkillStatus};
pub use swarm::{Swarm, SwarmSpec, SwarmStatus};
pub use tool_server::{ToolServer, ToolServerSpec, ToolServerStatus};
