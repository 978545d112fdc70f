//! How a turn is run: ask the model, run the tools it calls, feed the results
//! back, until the run ends (KERN-01).
//!
//! [`Run`] decides and never waits: it holds no clock, no client and no secret,
//! says what is to be done next ([`Step`]) and is told what came of it. It can
//! be stored between any two steps and resumed elsewhere. [`drive()`] is the only
//! loop; what it needs of the world (a model, time, a place for events) it takes
//! from a [`Host`]. Tools are data and one trait, [`Execute`]. Nothing here knows
//! a product type (KERN-02).
//!
//! Each policy is one file of pure functions in [`policy`]: what to do about a failed
//! call, an empty reply, a model in a circle, a window that is full, a signal. Each rule
//! that a transcript must keep is one file in `rules`, enforced by [`view()`].

#![warn(missing_docs)]

mod drive;
mod entry;
mod host;
mod outcome;
pub mod policy;
mod rules;
mod run;
#[cfg(test)]
mod scenes;
mod step;
mod subagent;
pub mod tool;
mod view;

pub use drive::drive;
pub use entry::{CallResult, Entry, Settled, UserInput};
pub use host::{Control, Event, Host, Permission};
pub use outcome::{Failure, Outcome, Stop};
pub use policy::empty::EmptyReply;
pub use policy::fit::Stage;
pub use policy::ladder::{Capacity, Ladder, LongPacing, NoCompletion};
pub use policy::limits::Limits;
pub use policy::permit::{Decision, Mode};
pub use policy::repeat::Repeat;
pub use policy::structured::OutputSchema;
pub use policy::truncate::ResultForm;
pub use rules::Violation;
pub use run::{Run, RunOptions, RunState, Settings};
pub use step::{Batch, Dispatch, ModelCall, Purpose, Step};
pub use subagent::{Child, Role, Spawn, Subagents};
pub use tool::{AssembleError, CallContext, Effect, Execute, Guard, Then, Tool, ToolError};
pub use view::{View, view};
